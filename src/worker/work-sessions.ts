import { PunctualError } from "../errors.ts";
import { toMilliseconds } from "../time.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";
import { writeLast } from "./deadline.ts";
import type { JobSync } from "./job-sync.ts";
import { LocalExecutor } from "./local-executor.ts";
import {
  DEFAULT_GRACE,
  FOREVER,
  type ForeverOptions,
  RUN,
  type RunOptions,
  toOptions,
  type WorkerOptions,
} from "./options.ts";
import type { InstanceParts } from "./parts.ts";
import type { Presence } from "./presence.ts";
import { onSignals, stopMessage } from "./signals.ts";
import { type SessionSetup, WorkSession } from "./work-session.ts";

/** The child's end of the channel to its parent: passes on calls that a worker in this process would get. */
interface ParentLink {
  wake(): void;
  definitionsChanged(): void;
}

/** Runs the work sessions of one instance, one at a time. */
export class WorkSessions {
  readonly #parts: InstanceParts;
  readonly #jobSync: JobSync;
  readonly #presence: Presence;
  #current: WorkSession | null = null;
  /** Settles when all sessions that were requested so far have ended. */
  #turn: Promise<unknown> = Promise.resolve();
  /** The session of `forever()` or `supervise()`; null: none. */
  #foreverSession: { name: string; ended: Promise<number> } | null = null;
  #seq = 0;
  /** True: the next session stops as soon as it begins. */
  #isStopping = false;
  #isClosing = false;
  /** Null: this process works for no supervisor. */
  parentLink: ParentLink | null = null;

  /** `jobSync` writes this instance's definitions. */
  constructor(parts: InstanceParts, jobSync: JobSync, presence: Presence) {
    this.#parts = parts;
    this.#jobSync = jobSync;
    this.#presence = presence;
  }

  /** How long `stop()` waits for handlers; when no worker runs, for dispatches. */
  get grace(): number {
    return this.#current?.setup.options.grace ?? toMilliseconds(DEFAULT_GRACE);
  }

  /** Whether a worker works, or is about to. */
  get isWorking(): boolean {
    return this.#foreverSession !== null || this.#current !== null;
  }

  /** Whether a worker of this process claims. */
  get hasWorker(): boolean {
    return this.#current?.worker != null;
  }

  wake(): void {
    (this.#current?.worker ?? this.parentLink)?.wake();
  }

  /** Ends cancelled runs in the worker of this process; another worker learns of them by its next exchange. */
  cancel(ids: number[]): void {
    this.#current?.worker?.cancel(ids);
    this.wake();
  }

  /** Syncs the jobs at the end of the turn; without a worker, when one starts. */
  definitionsChanged(jobSync: JobSync = this.#jobSync): void {
    jobSync.changed();
    this.parentLink?.definitionsChanged();
    if (this.#current?.setup.jobSync === jobSync) this.#current.syncSoon();
  }

  /** Runs the due runs once. Concurrent calls wait for each other. */
  run(options: RunOptions): Promise<number> {
    checkKeys(options, RUN, "run()");
    this.refuseSecond();
    const pass = { budget: checkInteger(options.batch ?? 32, "batch", 1), untilEmpty: true, batch: null };
    const setup = this.#ownSetup({ ...toOptions(options), ...pass }, false);
    const ended = this.#turn.then(() => this.#work(setup));
    this.#turn = ended.catch(() => {});
    return ended;
  }

  forever(options: ForeverOptions): Promise<number> {
    checkKeys(options, FOREVER, "forever()");
    this.refuseSecond();
    return this.keepWorking(this.#ownSetup(toOptions(options), true), options.signals !== false);
  }

  /** Works until it is stopped. Returns how many runs it ran. */
  keepWorking(setup: SessionSetup, signals: boolean): Promise<number> {
    const stopListening = signals ? this.#listen(setup) : () => {};
    const ended = this.#turn
      .then(() => this.#work(setup))
      .finally(() => {
        stopListening();
        this.#foreverSession = null;
        this.#isStopping = this.#isClosing;
      });
    this.#foreverSession = { name: setup.name, ended };
    return ended;
  }

  /** Stops the session under way, as the first signal does. */
  stopWorking(): void {
    this.#isStopping = true;
    this.#current?.stop();
  }

  /** Stops the session under way for good, and makes the last writes of the instance. */
  async stop(): Promise<void> {
    this.#isClosing = true;
    this.stopWorking();
    await Promise.allSettled([this.#foreverSession?.ended, this.#turn]);
    const { counts } = this.#parts;
    counts.close();
    const write = async () => {
      await this.#presence.end();
      await counts.flush();
    };
    await writeLast("writing counts as the instance stops", write, this.#parts);
  }

  refuseSecond(): void {
    if (this.#foreverSession) throw alreadyWorking(this.#foreverSession.name);
  }

  #listen(setup: SessionSetup): () => void {
    return onSignals({
      stop: (signal) => {
        const running = this.#current?.worker?.running ?? 0;
        this.#parts.logger.info(`${signal}: ${stopMessage(running)}`);
        this.stopWorking();
      },
      stopNow: () => this.#current?.worker?.stopNow(),
      exit: () => setup.kill?.(),
    });
  }

  #ownSetup(options: WorkerOptions, isLasting: boolean): SessionSetup {
    return {
      name: "forever()",
      options,
      isLasting,
      isOneProcess: true,
      jobSync: this.#jobSync,
      open: (store) => new LocalExecutor(options.parallel, store, this.#parts),
    };
  }

  async #work(setup: SessionSetup): Promise<number> {
    const session = new WorkSession(setup, {
      ...this.#parts,
      presence: this.#presence,
      nextSeq: () => ++this.#seq,
    });
    this.#current = session;
    if (this.#isStopping) session.stop();
    try {
      return await session.work();
    } finally {
      this.#current = null;
    }
  }
}

export function alreadyWorking(name: string): PunctualError {
  return new PunctualError(
    "WORKER_RUNNING",
    `This instance is working already: ${name} is under way. Call stop() first, or use a second instance.`,
  );
}
