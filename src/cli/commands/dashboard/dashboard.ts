import { spawn } from "node:child_process";
import type { Command } from "commander";
import { systemClock } from "../../../time.ts";
import type { Cli } from "../../cli.ts";
import { integer, names } from "../../input/arguments.ts";
import { Exit, exitCodeOfSignal, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";

/** The program that opens a URL, by platform. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  // Not `start`, whose shell would interpret characters of the URL.
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

interface Options {
  port?: number;
  host?: string;
  open?: boolean;
  readOnly?: boolean;
  tokenEnv?: string;
  allowHost?: string[];
}

export default function dashboard(command: Command, cli: Cli): void {
  command
    .description("Serve the web dashboard on this machine until stopped by SIGINT (Ctrl-C) or SIGTERM.")
    .option("--port <port>", "port, or 0 for any free one (default: 4480)", integer(0, 65_535))
    .option("--host <host>", "address to listen on (default: 127.0.0.1); others need --token-env")
    .option("--open", "open the dashboard in the browser")
    .option("--read-only", "allow no changes")
    .option("--token-env <variable>", "environment variable with the token (default: a random token)")
    .option("--allow-host <names>", "host names under which a proxy passes requests on", names("a host name"))
    .action(async (options: Options) => {
      const { output } = cli;
      await cli.enter();
      const token = readToken(options.tokenEnv);
      const { checkToken, startDashboard } = await import("../../../dashboard/server/standalone.ts");
      // Before job files are loaded, which may take long and have effects.
      checkToken(options.host, token);
      const jobs = await cli.load("warn");
      const started = await startDashboard(jobs, {
        port: options.port,
        host: options.host,
        readOnly: options.readOnly,
        allowedHosts: options.allowHost,
        token,
      });
      const stopped = signal();
      if (output.isJson) output.jsonLine({ v: 1, url: started.url, signInUrl: started.signInUrl });
      else output.print(started.signInUrl);
      output.note(
        `The dashboard is ready${token === undefined ? "" : "; it asks for its token"}. Ctrl-C stops it.`,
      );
      if (options.open) {
        const fault = await openBrowser(started.newSignInUrl());
        if (fault !== null) output.complain(`punctual: The browser cannot be opened: ${plain(fault)}.`);
      }
      await stopped;
      await started.stop();
    });
}

function readToken(variable: string | undefined): string | undefined {
  if (variable === undefined) return undefined;
  const token = process.env[variable];
  if (token !== undefined && token !== "") return token;
  throw new Exit(
    exitCodes.usage,
    `The environment variable ${plain(variable)} (--token-env) is not set. Set it to the token.`,
  );
}

/** Resolves on the first SIGINT or SIGTERM; a second one exits at once. Keeps the process alive until then. */
function signal(): Promise<void> {
  return new Promise((stopped) => {
    const release = systemClock.after(Number.MAX_SAFE_INTEGER, () => {});
    const resolve = () => {
      release();
      stopped();
    };
    for (const name of ["SIGINT", "SIGTERM"] as const) {
      process.once(name, () => {
        resolve();
        process.once(name, () => process.exit(exitCodeOfSignal(name)));
      });
    }
  });
}

/** Opens a URL in the browser of this machine. Returns why it failed, or null. */
function openBrowser(url: string): Promise<string | null> {
  const [program, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  return new Promise((resolve) => {
    const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
    child.once("error", (error) => resolve(error.message));
    child.once("spawn", () => {
      child.unref();
      resolve(null);
    });
  });
}
