import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { askVersion } from "./ask-version.ts";
import { childrenOf, tryKill } from "./children.ts";
import { findServer, missing } from "./find.ts";
import { freePort } from "./free-port.ts";
import type { Launch, Report } from "./keeper.ts";
import { label, type Program, type ServerKind, urlOf } from "./server.ts";
import { copyRunning, fillDataDir, serverFolder } from "./template.ts";

const PATIENCE = 60_000;

export interface ServerOptions {
  /** On 127.0.0.1; a free one unless given. */
  port?: number;
  /** Added to the server's command line, after ours. */
  args?: string[];
  /** The port of a running server, of which this one becomes a standby. */
  standbyOf?: number;
  /** Whether commits wait for the disk. Without it they survive the server's process, but not the machine. */
  durable?: boolean;
  /** Used in place of the program that the machine has. */
  program?: Program;
  /** Called with the filled data folder before the server starts. */
  prepare?(dataDir: string): Promise<void>;
}

/** Starts a server with its own data, which ends with this process. */
export async function startServer(kind: ServerKind, options: ServerOptions = {}): Promise<TestServer> {
  const program = options.program ?? findServer(kind);
  if (!program) throw missing(kind);
  const folder = await serverFolder(kind, program);
  const server = new TestServer(kind, program, folder, options.port ?? (await freePort()), options);
  try {
    if (options.standbyOf !== undefined) await copyRunning(program, server.dataDir, options.standbyOf);
    else await fillDataDir(kind, program, server.dataDir);
    await options.prepare?.(server.dataDir);
    await server.start();
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** A server of ours, which a test may kill. */
export class TestServer {
  readonly kind: ServerKind;
  readonly port: number;
  readonly url: string;
  readonly dataDir: string;
  version = "";
  pid = 0;
  readonly #program: Program;
  readonly #launch: Launch;
  readonly #keeper: ChildProcess;
  /** Resolves when the server has ended, with its exit. */
  #ended: Promise<string> = Promise.resolve("not started");
  #running = false;

  constructor(kind: ServerKind, program: Program, folder: string, port: number, options: ServerOptions) {
    this.kind = kind;
    this.port = port;
    this.url = urlOf(kind, port);
    this.dataDir = join(folder, "data");
    this.#program = program;
    const { file, args } = program.serve({ dataDir: this.dataDir, port, durable: options.durable ?? false });
    this.#launch = {
      file,
      args: [...args, ...(options.args ?? [])],
      log: join(folder, "log"),
      abort: program.abort,
      ...(program.runAs && { runAs: program.runAs }),
    };
    this.#keeper = fork(fileURLToPath(new URL("keeper.ts", import.meta.url)), [folder], {
      execArgv: [],
      // Detached from the terminal, whose signals are for the tests.
      detached: true,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    // A test that forgets to stop its server can still end.
    this.#keeper.unref();
    this.#keeper.channel?.unref();
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    this.#keeper.channel?.ref();
    const launched = this.#report();
    this.#keeper.send(this.#launch);
    const report = await launched;
    if (!("pid" in report)) throw new Error(`${this.#launch.file} does not start: ${JSON.stringify(report)}`);
    this.pid = report.pid;
    this.#running = true;
    this.#ended = this.#report().then((end) => {
      this.#running = false;
      return "exited" in end ? end.exited : "failed";
    });
    this.#keeper.channel?.unref();
    await this.#answers();
  }

  get isRunning(): boolean {
    return this.#running;
  }

  /** Leaves an argument out when the server is started again. */
  leaveOut(arg: string): void {
    this.#launch.args = this.#launch.args.filter((other) => other !== arg);
  }

  /** Sends a signal. After one that ends the server, resolves when the server has ended. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    // A server that crashes ends its helpers; those of PostgreSQL would otherwise run for a while.
    const helpers = signal === "SIGKILL" ? childrenOf(this.pid) : [];
    process.kill(this.pid, signal);
    for (const helper of helpers) tryKill(helper, signal);
    if (!["SIGSTOP", "SIGCONT", "SIGHUP", "SIGUSR1", "SIGUSR2"].includes(signal)) await this.#untilEnded();
  }

  /** Starts it again on the same port and data, after an orderly end if it still runs. */
  async restart(): Promise<void> {
    if (this.#running) await this.kill(this.#program.end);
    await this.start();
  }

  /** Ends it, and removes its data. */
  async stop(): Promise<void> {
    if (this.#keeper.exitCode !== null || this.#keeper.signalCode !== null) return;
    this.#keeper.ref();
    const exited = once(this.#keeper, "exit");
    if (this.#keeper.connected) this.#keeper.disconnect();
    await exited;
  }

  async #report(): Promise<Report> {
    const [report] = await once(this.#keeper, "message");
    return report as Report;
  }

  async #untilEnded(): Promise<void> {
    this.#keeper.channel?.ref();
    await this.#ended;
    this.#keeper.channel?.unref();
  }

  async #answers(): Promise<void> {
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      try {
        this.version = await askVersion(this.kind, this.url);
        return;
      } catch (error) {
        if (this.#running && performance.now() < deadline) await sleep(20);
        else throw await this.#broken(error);
      }
    }
  }

  async #broken(cause: unknown): Promise<Error> {
    const how = this.#running ? "does not answer" : `ended at once (${await this.#ended})`;
    const said = (await readFile(this.#launch.log, "utf8").catch(() => "")).split("\n").slice(-20).join("\n");
    return new Error(`The test server of ${label[this.kind]} ${how}. It said:\n${said}`, { cause });
  }
}
