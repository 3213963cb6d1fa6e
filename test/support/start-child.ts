import { type ChildProcess, spawn } from "node:child_process";
import { eventually } from "./eventually.ts";

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process that a test started. */
export class Child {
  readonly name: string;
  readonly pid: number;
  /** Resolves once it has ended and all its output has arrived. */
  readonly gone: Promise<Exit>;
  readonly #process: ChildProcess;
  #stdout = "";
  #stderr = "";

  constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.pid = child.pid!;
    this.#process = child;
    child.stdout!.setEncoding("utf8").on("data", (text) => (this.#stdout += text));
    child.stderr!.setEncoding("utf8").on("data", (text) => (this.#stderr += text));
    this.gone = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal })));
    // The process has just died.
    child.on("error", () => {});
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  get isAlive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** How it ended. */
  async exit(): Promise<Exit> {
    let ended: Exit | undefined;
    void this.gone.then((exit) => (ended = exit));
    return eventually(`${this.name} to end`, () => ended);
  }

  send(message: object): void {
    if (this.isAlive) this.#process.send(message);
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isAlive) process.kill(this.pid, signal);
  }
}

export interface StartOptions {
  /** The Node to start it with. Default: the one that runs the tests. */
  node?: string;
  /** Whether the test can send it messages. */
  ipc?: boolean;
  cwd?: string;
  /** Added to the environment of the test. */
  env?: NodeJS.ProcessEnv;
}

/** Starts a script in its own process. */
export function startChild(script: string, args: string[], options: StartOptions = {}): Child {
  const child = spawn(options.node ?? process.execPath, [script, ...args], {
    stdio: options.ipc ? ["ignore", "pipe", "pipe", "ipc"] : ["ignore", "pipe", "pipe"],
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...(options.env && { env: { ...process.env, ...options.env } }),
  });
  return new Child(script, child);
}

/** The output of Node for an uncaught error. */
export const STACK_TRACE: RegExp = /^\s+at .+:\d+:\d+/m;
