import { deserialize, serialize } from "node:v8";
import { type ErrorCode, PunctualError } from "../errors.ts";
import { type Description, describeJobs } from "../job/description.ts";
import type { QueueLimit, QueueOrders } from "../job/queue-orders.ts";
import type { Registry } from "../job/registry.ts";
import type { Settings } from "../job/settings.ts";
import { toFailure } from "../run/failure.ts";
import { encodeLogData } from "../run/log-data.ts";
import { digest } from "../schedule/schedule.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import { type Clock, sleep } from "../time.ts";
import { ABORT_GRACE, abortReasons } from "../worker/attempt-ends.ts";
import { LocalExecution } from "../worker/local-execution.ts";
import { completeWith } from "../worker/local-executor.ts";
import type { ExecutionParts, HandlerBatches } from "../worker/parts.ts";
import { ChildQueue } from "./child-queue.ts";
import { Mailbox, type ToChild, type ToParent, toMessages, toSent, withoutHandler } from "./messages.ts";

export interface ChildRunnerParts {
  /** Opens the child's own connection on first use. */
  openStore(): Promise<Store>;
  clock: Clock;
  registry: Registry;
  queueLimits: ReadonlyMap<string, QueueLimit>;
  namedLimits: ReadonlyMap<string, QueueLimit>;
  queueOrders: QueueOrders;
  defaults: Settings;
  /** Most runs at once in this child. */
  slots: number;
  random(): number;
  engine: object;
  batches: HandlerBatches;
  maxResult: number;
  /** Writes the dispatches and counts of this process. */
  flush(): Promise<void>;
}

/** The end of the channel in the child process: executes the runs that the parent assigns, until it is told to exit. */
export class ChildRunner {
  readonly #parts: ChildRunnerParts;
  readonly #mailbox = new Mailbox<ToParent>(
    (envelope) => process.connected && process.send!(envelope, () => {}),
  );
  readonly #executions = new Map<number, LocalExecution>();
  readonly #queue: ChildQueue;
  /** The last tickets that were read, begun and reported as read. */
  #read = 0;
  #begun = 0;
  #reported = 0;
  #isStarting = false;
  #willStart = false;
  #allReturned: (() => void) | null = null;
  readonly #crashHooks = new Set<Promise<unknown>>();
  readonly #ended = Promise.withResolvers<void>();
  #willDescribe = false;
  #hasEnded = false;
  #ran = 0;

  constructor(parts: ChildRunnerParts) {
    this.#parts = parts;
    this.#queue = new ChildQueue(parts.clock, (ticket) => this.#drop(ticket, "SHUTDOWN"));
  }

  /** Whether it takes runs: a second one in the same process would get the same messages. */
  get isRunning(): boolean {
    return !this.#hasEnded;
  }

  wake(): void {
    this.#mailbox.post({ type: "wake" });
  }

  /** Describes the jobs again at the end of the turn: the parent must know a job before it claims a run of it. */
  definitionsChanged(): void {
    if (this.#willDescribe) return;
    this.#willDescribe = true;
    queueMicrotask(() => {
      this.#willDescribe = false;
      try {
        this.#describe();
      } catch (error) {
        this.#report(error, "describing jobs that were defined while working");
      }
    });
  }

  /** Asks the parent to replace this child. */
  retire(reason: string): void {
    this.#mailbox.post({ type: "retire", reason });
  }

  stop(): Promise<void> {
    this.retire("stop() was called in it");
    return this.#ended.promise;
  }

  /** Resolves when the parent has told it to exit. Returns how many runs it ran. */
  async run(): Promise<number> {
    const definitionsDigest = digest(JSON.stringify(this.#description()));
    const { promise: exiting, resolve: exit } = Promise.withResolvers<void>();
    const listeners = {
      message: (received: unknown) => {
        const messages = toMessages<ToChild>(received);
        this.#take(messages);
        for (const message of messages) {
          if (message.type === "abort") {
            this.#abort(message.ticket, new PunctualError(message.code, message.message));
          } else if (message.type === "crashed") {
            this.#callCrashHooks(message.ticket, message.run, message.message);
          } else if (message.type === "ping") {
            this.#mailbox.post({ type: "pong", memory: process.memoryUsage.rss() });
          } else if (message.type === "describe") {
            this.#describe();
          } else if (message.type === "exit") exit();
        }
      },
      disconnect: () => void this.#orphaned(),
      SIGTERM: () => this.retire("it got SIGTERM"),
      // Ctrl-C and a closed terminal signal the whole process group: the parent decides what to do.
      SIGINT: () => {},
      SIGHUP: () => {},
    };
    for (const [event, listener] of Object.entries(listeners)) process.on(event, listener);
    if (!process.connected) await this.#orphaned();
    this.#mailbox.post({ type: "ready", digest: definitionsDigest });
    await exiting;
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
    return describeJobs(this.#parts, this.#parts.defaults);
  }

  #describe(): void {
    const description = this.#description();
    this.#mailbox.post({ type: "described", description, digest: digest(JSON.stringify(description)) });
  }

  #report(error: unknown, during: string): void {
    this.#mailbox.post({ type: "fault", failure: toFailure(error), during });
  }

  #take(messages: ToChild[]): void {
    const given = messages.filter((message) => message.type === "run");
    if (given.length === 0) return;
    this.#read = given.at(-1)!.ticket;
    this.#queue.add(given);
    this.#startQueued();
  }

  /** Starts queued runs in the free slots. A synchronous handler frees its slot at once, for a further group. */
  #startQueued(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    for (;;) {
      const group = this.#queue.take(this.#parts.slots - this.#executions.size);
      if (group.length === 0 && this.#reported === this.#read) break;
      this.#begun = group.at(-1)?.ticket ?? this.#begun;
      this.#reported = this.#read;
      // Sent before the handlers start: one of them may end this process.
      this.#mailbox.send({ type: "began", upTo: this.#begun, read: this.#read });
      for (const { ticket, run } of group) this.#execute(ticket, run);
    }
    this.#isStarting = false;
  }

  /** Starts queued runs when all microtasks of this turn have run: one report covers all slots that they free. */
  #startSoon(): void {
    if (this.#isStarting || this.#willStart) return;
    this.#willStart = true;
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#willStart = false;
        this.#startQueued();
      }),
    );
  }

  #abort(ticket: number, reason: PunctualError): void {
    const execution = this.#executions.get(ticket);
    if (execution) execution.abort(reason);
    else this.#drop(ticket, reason.code);
  }

  /** Ends an attempt whose handler has not begun. */
  #drop(ticket: number, code: ErrorCode): void {
    if (!this.#queue.remove(ticket)) return;
    const result = withoutHandler(code);
    this.#mailbox.post({ type: "done", ticket, result, duration: 0, returned: true });
  }

  #execute(ticket: number, run: ClaimedRun): void {
    const job = this.#parts.registry.definition(run.name);
    if (!job) {
      const result = { outcome: "unknown" } as const;
      this.#mailbox.post({ type: "done", ticket, result, duration: 0, returned: true });
      return;
    }
    this.#ran++;
    let isReturnSent = false;
    const execution = new LocalExecution(run, job, this.#partsFor(ticket, run), {
      began: () => {},
      started: () => {},
      ended: (one, result) => {
        // Before the result is posted, so that the report of the next start takes this result along.
        this.#startSoon();
        isReturnSent = execution.hasReturned;
        const { duration } = one;
        this.#mailbox.post({
          type: "done",
          ticket,
          result: toSent(result),
          duration,
          returned: isReturnSent,
        });
      },
      returned: () => {
        this.#executions.delete(ticket);
        if (this.#executions.size === 0) this.#allReturned?.();
        if (!isReturnSent) this.#mailbox.post({ type: "returned", ticket });
        this.#startSoon();
      },
    });
    this.#executions.set(ticket, execution);
    execution.start();
  }

  #callCrashHooks(ticket: number, run: ClaimedRun, message: string): void {
    const job = this.#parts.registry.definition(run.name);
    const error = new PunctualError("RUN_CRASHED", message);
    const called = job
      ? new LocalExecution(run, job, this.#partsFor(ticket, run), null).callCrashHooks(error)
      : Promise.resolve();
    this.#crashHooks.add(called);
    void called.then(() => {
      this.#crashHooks.delete(called);
      this.#mailbox.post({ type: "returned", ticket });
    });
  }

  #partsFor(ticket: number, run: ClaimedRun): ExecutionParts {
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
        // Counted in this copy of the run too: `completeWith` writes whether the run has log lines.
        run.logged++;
        this.#mailbox.post({ type: "logged", ticket, message, data: sendable(data) });
      },
      completeWith: async (of, work, keep) => completeWith(await this.#parts.openStore(), of, { work, keep }),
    };
  }

  /** Aborts all handlers and exits: only the parent renews the leases, so other workers will execute these runs. */
  async #orphaned(): Promise<never> {
    const executions = [...this.#executions.values()];
    for (const execution of executions) execution.abort(abortReasons.leaseLost());
    const all = new Promise<void>((resolve) => {
      this.#allReturned = resolve;
      if (executions.length === 0) resolve();
    });
    const { clock, registry } = this.#parts;
    // A third of each lease is left, unless two renewals failed. After that another worker may start the run.
    const left = executions.map(({ run }) => registry.definition(run.name)!.settings.lease / 3);
    await Promise.race([all, sleep(clock, Math.min(ABORT_GRACE, ...left))]);
    process.exit(1);
  }
}

/** Returns data as it is if the channel can carry it, otherwise as the logbook would store it. */
function sendable(data: unknown): unknown {
  try {
    // The channel carries less than structuredClone() accepts, and other data would end this process.
    return deserialize(serialize(structuredClone(data)));
  } catch {
    return JSON.parse(encodeLogData(data)!);
  }
}
