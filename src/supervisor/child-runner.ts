import { deserialize, serialize } from "node:v8";
import { PunctualError } from "../errors.ts";
import { type Description, describeJobs } from "../job/description.ts";
import type { Registry } from "../job/registry.ts";
import type { Settings } from "../job/settings.ts";
import { toFailure } from "../run/failure.ts";
import { encodeLogData } from "../run/log-data.ts";
import { digest } from "../schedule/schedule.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import { type Clock, sleep } from "../time.ts";
import { abortReasons } from "../worker/attempt-ends.ts";
import { ABORT_GRACE, type ExecuteParts, LocalExecution } from "../worker/execute.ts";
import { completeWith } from "../worker/in-process.ts";
import { Mailbox, type ToChild, type ToParent, toMessages } from "./messages.ts";
import { toSent } from "./results.ts";

export interface ChildRunnerParts {
  /** Opens a connection of the child's own, on first use. */
  openStore(): Promise<Store>;
  clock: Clock;
  registry: Registry;
  queueLimits: ReadonlyMap<string, number>;
  defaults: Settings;
  random(): number;
  instance: object;
  /** Everything that handlers have asked for is in the database. */
  flush(): Promise<void>;
}

/** The other end of the channel: a child that executes what its parent gives it, until it is told to end. */
export class ChildRunner {
  readonly #parts: ChildRunnerParts;
  readonly #mailbox = new Mailbox<ToParent>(
    (envelope) => process.connected && process.send!(envelope, () => {}),
  );
  readonly #executions = new Map<number, LocalExecution>();
  readonly #crashHooks = new Set<Promise<unknown>>();
  readonly #ended = Promise.withResolvers<void>();
  #isChanged = false;
  #hasEnded = false;
  #ran = 0;

  constructor(parts: ChildRunnerParts) {
    this.#parts = parts;
  }

  /** Another beside it would be given the same runs. */
  get isRunning(): boolean {
    return !this.#hasEnded;
  }

  wake(): void {
    this.#mailbox.post({ type: "wake" });
  }

  /** Something was defined since it began to serve: the parent has to know before it claims a run of it. */
  definitionsChanged(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    // When the definition's calls are complete.
    queueMicrotask(() => {
      this.#isChanged = false;
      try {
        this.#describe();
      } catch (error) {
        this.#report(error, "showing jobs that were defined while working");
      }
    });
  }

  /** Its parent finds another place for what it does not give it any more. */
  retire(reason: string): void {
    this.#mailbox.post({ type: "retire", reason });
  }

  stop(): Promise<void> {
    this.retire("stop() was called in it");
    return this.#ended.promise;
  }

  /** Gives how many runs it ran. */
  async run(): Promise<number> {
    const mark = digest(JSON.stringify(this.#description()));
    const { promise: told, resolve: end } = Promise.withResolvers<void>();
    const listeners = {
      message: (received: unknown) => {
        const messages = toMessages<ToChild>(received);
        this.#begin(messages);
        for (const message of messages) {
          if (message.type === "abort") {
            const reason = new PunctualError(message.code, message.message);
            this.#executions.get(message.ticket)?.abort(reason);
          } else if (message.type === "crashed") {
            this.#callCrashHooks(message.ticket, message.run, message.message);
          } else if (message.type === "ping") {
            this.#mailbox.post({ type: "pong", memory: process.memoryUsage.rss() });
          } else if (message.type === "describe") {
            this.#describe();
          } else if (message.type === "exit") end();
        }
      },
      disconnect: () => void this.#orphaned(),
      SIGTERM: () => this.retire("it got SIGTERM"),
      // Ctrl-C and the end of a terminal reach the whole group: the parent says what is to be done.
      SIGINT: () => {},
      SIGHUP: () => {},
    };
    for (const [event, listener] of Object.entries(listeners)) process.on(event, listener);
    if (!process.connected) await this.#orphaned();
    this.#mailbox.post({ type: "ready", digest: mark });
    await told;
    await Promise.all(this.#crashHooks);
    await this.#parts.flush();
    this.#mailbox.flush();
    for (const [event, listener] of Object.entries(listeners)) process.off(event, listener);
    if (process.connected) process.disconnect();
    this.#hasEnded = true;
    this.#ended.resolve();
    return this.#ran;
  }

  #description(): Description {
    return describeJobs(this.#parts.registry, this.#parts.queueLimits, this.#parts.defaults);
  }

  #describe(): void {
    const description = this.#description();
    this.#mailbox.post({ type: "described", description, digest: digest(JSON.stringify(description)) });
  }

  #report(error: unknown, during: string): void {
    this.#mailbox.post({ type: "fault", failure: toFailure(error), during });
  }

  #begin(messages: ToChild[]): void {
    const given = messages.filter((message) => message.type === "run");
    const last = given.at(-1);
    if (!last) return;
    // On its way before anything can happen to this process.
    this.#mailbox.post({ type: "began", upTo: last.ticket });
    this.#mailbox.flush();
    for (const { ticket, run } of given) this.#execute(ticket, run);
  }

  #execute(ticket: number, run: ClaimedRun): void {
    const job = this.#parts.registry.definition(run.name);
    if (!job) {
      const result = { outcome: "unknown" } as const;
      this.#mailbox.post({ type: "done", ticket, result, duration: 0, returned: true });
      return;
    }
    this.#ran++;
    const execution = new LocalExecution(run, job, this.#partsFor(ticket, run));
    this.#executions.set(ticket, execution);
    void execution.result.then((result) => {
      const { duration, hasReturned: returned } = execution;
      this.#mailbox.post({ type: "done", ticket, result: toSent(result), duration, returned });
      if (returned) this.#executions.delete(ticket);
      else {
        void execution.returned.then(() => {
          this.#executions.delete(ticket);
          this.#mailbox.post({ type: "returned", ticket });
        });
      }
    });
  }

  #callCrashHooks(ticket: number, run: ClaimedRun, message: string): void {
    const job = this.#parts.registry.definition(run.name);
    const error = new PunctualError("RUN_CRASHED", message);
    const called = job
      ? new LocalExecution(run, job, this.#partsFor(ticket, run), error).result
      : Promise.resolve();
    this.#crashHooks.add(called);
    void called.then(() => {
      this.#crashHooks.delete(called);
      this.#mailbox.post({ type: "returned", ticket });
    });
  }

  #partsFor(ticket: number, run: ClaimedRun): ExecuteParts {
    return {
      ...this.#parts,
      store: {
        progress: async (_, progress) => {
          this.#mailbox.post({ type: "progress", ticket, progress });
          return true;
        },
        slowHook: async (_, slow) => {
          this.#mailbox.post({ type: "slow-hook", ticket, slow });
          return true;
        },
      },
      events: { report: (error, during) => this.#report(error, during) },
      log: (_, message, data) => {
        // Of this copy of the run: its own transaction has to know that there are lines.
        run.logged++;
        this.#mailbox.post({ type: "logged", ticket, message, data: sendable(data) });
      },
      completeWith: async (...of) => completeWith(await this.#parts.openStore(), ...of),
    };
  }

  /** The parent is gone: its leases end with it, and others run what was under way. Nothing of it is written here. */
  async #orphaned(): Promise<never> {
    const executions = [...this.#executions.values()];
    for (const execution of executions) execution.abort(abortReasons.leaseLost());
    const all = Promise.all(executions.map(({ returned }) => returned));
    const { clock, registry } = this.#parts;
    // Of a lease so much is left at least, unless a renewal had failed twice: after it another may begin the run.
    const left = executions.map(({ run }) => registry.definition(run.name)!.settings.lease / 3);
    await Promise.race([all, sleep(clock, Math.min(ABORT_GRACE, ...left))]);
    process.exit(1);
  }
}

/** What cannot go to another process goes as it would be kept. */
function sendable(data: unknown): unknown {
  try {
    // The channel takes less than structuredClone(), and what it does not take would end this process.
    return deserialize(serialize(structuredClone(data)));
  } catch {
    return JSON.parse(encodeLogData(data)!);
  }
}
