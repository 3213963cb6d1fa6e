import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { eventually } from "../../support/eventually.ts";

const root = resolve(import.meta.dirname, "../../..");

export interface Ended {
  /** Null: ended by a signal. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Its standard input; default: empty. */
  input?: string;
  /** A program other than `punctual`, such as one that mounts it. */
  program?: string;
}

/** A folder with these files, deleted after the test. There `punctual` means the sources; commander is installed. */
export function project(files: Record<string, string> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "punctual-cli-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const punctual = join(folder, "node_modules/punctual");
  mkdirSync(punctual, { recursive: true });
  symlinkSync(join(root, "src"), join(punctual, "src"), "dir");
  for (const name of ["commander", "zod"])
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name), "dir");
  const exports = {
    ".": "./src/index.ts",
    "./cron": "./src/schedule/cron.ts",
    "./cli": "./src/cli/index.ts",
    "./dashboard": "./src/dashboard/index.ts",
    "./testing": "./src/testing/index.ts",
  };
  write(punctual, { "package.json": JSON.stringify({ name: "punctual", type: "module", exports }) });
  write(folder, { "package.json": '{ "type": "module" }\n', ...files });
  return folder;
}

/** Writes files below a folder, with the folders they need. */
export function write(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

/** A running `punctual`. */
export class Running {
  readonly child: ChildProcess;
  stdout = "";
  stderr = "";
  readonly ended: Promise<Ended>;

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.ended = new Promise((ended) => {
      child.on("close", (code, signal) => {
        ended({ code, signal, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  /** Waits until the condition holds. */
  sees(look: () => boolean): Promise<unknown> {
    return eventually(() => `what was written:\n${this.stdout}${this.stderr}`, look);
  }

  /** Waits until it has printed this, to standard output or standard error. */
  shows(what: string | RegExp): Promise<unknown> {
    const written = () => `${this.stdout}${this.stderr}`;
    return eventually(
      () => `${what} in what was written:\n${written()}`,
      () => (typeof what === "string" ? written().includes(what) : what.test(written())),
    );
  }
}

/** Starts the real program from its sources, in its own process, which is killed after the test. */
export function start(args: string[], options: RunOptions = {}): Running {
  const {
    PUNCTUAL_DATABASE_URL: _,
    NODE_OPTIONS: __,
    NO_COLOR: ___,
    FORCE_COLOR: ____,
    ...inherited
  } = process.env;
  const program = options.program ?? join(root, "src/cli/main.ts");
  const child = spawn(process.execPath, [program, ...args], {
    cwd: options.cwd ?? project(),
    env: { ...inherited, LC_ALL: "C.UTF-8", ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin!.on("error", () => {});
  child.stdin!.end(options.input ?? "");
  const running = new Running(child);
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await running.ended;
  });
  return running;
}

/** Runs it until it exits. */
export function run(args: string[], options: RunOptions = {}): Promise<Ended> {
  return start(args, options).ended;
}
