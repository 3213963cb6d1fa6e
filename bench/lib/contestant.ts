import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { root } from "../../scripts/run-tool.ts";
import type { Requests } from "./contestant-process.ts";
import type { Settings } from "./system.ts";

/** Program of a process of its own: the module that opens the system, and its settings. */
export interface Contestant {
  module: string;
  settings: Settings;
}

/** The process of a contestant; it lives no longer than this one. */
export class ContestantProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start({ module, settings }: Contestant, url: string): Promise<ContestantProcess> {
    const args = [module, url, JSON.stringify(settings)];
    const child = fork(join(import.meta.dirname, "contestant-process.ts"), args, {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      env: { ...process.env, NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled") },
    });
    const started = new ContestantProcess(child);
    await started.#answer();
    return started;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async ask<Name extends keyof Requests>(
    ask: Name,
    ...[value]: Parameters<Requests[Name]>
  ): Promise<Awaited<ReturnType<Requests[Name]>>> {
    const answer = this.#answer();
    this.#child.send({ ask, value });
    return (await answer) as Awaited<ReturnType<Requests[Name]>>;
  }

  /** Ends the process, without waiting for what its system has under way. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }

  async #answer(): Promise<unknown> {
    const abandoned = new AbortController();
    const { signal } = abandoned;
    const exit = once(this.#child, "exit", { signal }).then(([code, killer]) => {
      throw new Error(`The process of a contestant ended: ${killer ?? `code ${code}`}.`);
    });
    exit.catch(() => {});
    try {
      const [message] = await Promise.race([once(this.#child, "message", { signal }), exit]);
      if (message.error) throw new Error(message.error);
      return message.answer;
    } finally {
      abandoned.abort();
    }
  }
}

/** Starts a process for the contestant, and ends it after `work`. */
export async function inProcess<Result>(
  contestant: Contestant,
  url: string,
  work: (process: ContestantProcess) => Promise<Result>,
): Promise<Result> {
  const process = await ContestantProcess.start(contestant, url);
  try {
    return await work(process);
  } finally {
    await process.end();
  }
}
