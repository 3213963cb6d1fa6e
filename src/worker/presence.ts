import { PunctualError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { failureText, toFailure } from "../run/failure.ts";
import { defaultRetention } from "../run/retention.ts";
import type { WorkerActivity, WorkerRequest } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { FactsReader } from "./facts.ts";
import type { JobSync } from "./job-sync.ts";
import type { WorkerOptions } from "./options.ts";
import type { InstanceParts } from "./parts.ts";
import { processMark } from "./process-mark.ts";
import type { SessionSetup } from "./work-session.ts";

/** Interval between two heartbeats. */
export const BEAT_EVERY = 5000;

/** The failure of an ad hoc run whose process has ended. */
export const handlerGone: string = failureText(
  toFailure(
    new PunctualError(
      "HANDLER_GONE",
      "The handler is gone: the process that dispatched this function has ended.",
    ),
  ),
);

const NO_WORKER = { parallel: 0, queues: null, exceptQueues: [], weights: null, schedules: false };

/** Returns the options of a worker that others see; null: of a process without a worker. */
export function publicOptions(options: WorkerOptions | null): Omit<Events["worker.started"], "worker"> {
  const { parallel, queues, exceptQueues, weights, schedules } = options ?? NO_WORKER;
  return { parallel, queues, exceptQueues, weights, schedules };
}

/**
 * The row of this instance among the workers in the database. A worker's janitor keeps it alive; without a worker, this
 * class does so while the instance has ad hoc functions, which no other process can run.
 */
export class Presence {
  readonly #parts: InstanceParts;
  readonly #jobSync: JobSync;
  readonly #facts: FactsReader;
  readonly #mark: string | null = processMark();
  #firstBeat: Promise<void> | null = null;
  #cancel: (() => void) | null = null;
  /** The work session under way: the row describes its worker. */
  session: Pick<SessionSetup, "options" | "jobSync" | "isOneProcess"> | null = null;
  /** The activity of the session's worker. */
  activity: WorkerActivity = "working";
  /** Whether a worker's janitor sends the heartbeats. */
  hasJanitor = false;

  /** `jobSync`: of the instance's own definitions, for the time without a session. */
  constructor(parts: InstanceParts, jobSync: JobSync, facts: FactsReader) {
    this.#parts = parts;
    this.#jobSync = jobSync;
    this.#facts = facts;
  }

  /** Sends one heartbeat. Returns what an operator has asked of the worker. */
  async beat(): Promise<WorkerRequest | null> {
    const { id, hostname, openStore } = this.#parts;
    const store = await openStore();
    const { jobSync, options, isOneProcess } = this.session ?? {
      jobSync: this.#jobSync,
      options: null,
      isOneProcess: false,
    };
    const startedAt = await jobSync.startedAt(store);
    const facts =
      options === null ? null : await this.#facts.read(isOneProcess ? this.#mark : null, this.activity);
    return store.beat({ id, host: hostname, pid: process.pid, ...publicOptions(options), startedAt, facts });
  }

  /** Sends heartbeats for as long as the instance has ad hoc functions. Resolves after the first one. */
  start(): Promise<void> {
    this.#firstBeat ??= this.beat()
      .then(() => this.#beatLater())
      .catch((error) => {
        this.#firstBeat = null;
        throw error;
      });
    return this.#firstBeat;
  }

  /** Removes the row when a worker ends. If the instance has ad hoc functions, only releases the jobs of the worker. */
  async leave(store: Store): Promise<void> {
    const { registry, id } = this.#parts;
    if (registry.hasAdHoc()) return store.releaseJobs(id);
    this.#stop();
    await store.leave(id);
  }

  /** Removes the row when the instance stops, and fails its ad hoc runs: no other process can run them. */
  async end(): Promise<void> {
    const { id, openStore } = this.#parts;
    if (this.#firstBeat !== null) {
      const store = await openStore();
      await store.disown(id, handlerGone, defaultRetention.failed);
      await store.leave(id);
    }
    this.#stop();
  }

  #stop(): void {
    this.#firstBeat = null;
    this.#cancel?.();
  }

  #beatLater(): void {
    const { clock, events, registry } = this.#parts;
    const next = async () => {
      if (!registry.hasAdHoc()) {
        this.#firstBeat = null;
        return;
      }
      try {
        if (!this.hasJanitor) await this.beat();
      } catch (error) {
        events.report(error, "sending a heartbeat");
      }
      this.#beatLater();
    };
    this.#cancel = clock.after(BEAT_EVERY, next, { background: true });
  }
}
