import { PunctualError } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import type { Registry } from "../job/registry.ts";
import { failureText, toFailure } from "../run/failure.ts";
import type { JobCounts } from "../run/job-counts.ts";
import { defaultRetention } from "../run/retention.ts";
import type { Pending } from "../store/pending.ts";
import { type Store, WORKER_DEAD_AFTER } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { CRASH_CAP, type CrashParts, crashed, tellReaped } from "./crashed-runs.ts";
import type { Executor } from "./executor.ts";
import { Lapses } from "./lapses.ts";
import { RENEWING } from "./leases.ts";
import type { Logbook } from "./logbook.ts";

export const FLUSH_EVERY = 1000;
const REAP_EVERY = 10_000;
export const BEAT_EVERY = 5000;
export const SYNC_EVERY = 30_000;
const PRUNE_EVERY = 60_000;
/** How soon a duty is tried again that failed. */
const RETRY_WITHIN = 2000;
/** How long live workers have after an outage to renew their leases and write their outcomes before others reap. */
const REAP_AFTER_OUTAGE = 5000;
const BEATING = "showing that this worker lives";
const WATCH_EVERY = 1000;
const WAITING = "waiting for an answer";
/** A statement that takes longer is not slow: the database does not answer. */
const UNANSWERED = 4000;
const REAPING = "taking back expired leases";
/** More than one worker can hold: all that a dead one held are judged together. */
const REAPED_AT_ONCE = 1000;

export const handlerGone: string = failureText(
  toFailure(
    new PunctualError(
      "HANDLER_GONE",
      "The handler is gone: the process that dispatched this function has ended.",
    ),
  ),
);

export interface JanitorParts {
  id: string;
  store: Store;
  clock: Clock;
  events: Emitter;
  registry: Registry;
  executor: Executor;
  counts: JobCounts;
  logbook: Logbook;
  beat(): Promise<void>;
  sync(): Promise<void>;
  /** Aborts executions whose leases are over: their runs may be reaped from now on, by this process too. */
  checkLeases(): void;
  /** Something may be due. */
  wake(): void;
  pending: Pending;
}

/** After a lapse: processes that were frozen together with this one have this long to renew their leases and to beat. */
const REAP_AFTER_LAPSE = 5000;

/** A worker whose last heartbeat is older sends one before it reaps. */
const LATE_BEAT = WORKER_DEAD_AFTER / 2;

/** Takes back what dead workers held; gives how many runs these were. */
export async function reap(parts: CrashParts & { id: string }): Promise<number> {
  const { store, id } = parts;
  for (let count = 0; ; ) {
    const reaped = await store.reap(REAPED_AT_ONCE, CRASH_CAP, crashed, defaultRetention.failed);
    for (const run of reaped) tellReaped(run, crashed, parts);
    count += reaped.length;
    if (reaped.length >= REAPED_AT_ONCE) continue;
    await store.reapOwnerless(id, handlerGone, defaultRetention.failed);
    return count;
  }
}

/** The duties beside the work: takes back what dead workers held, writes counts and lines, shows that this worker lives, prunes. */
export class Janitor {
  readonly #parts: JanitorParts;
  readonly #lapses: Lapses;
  /** When the last heartbeat was sent that was answered, on the monotonic clock. */
  #beatAt = Number.NEGATIVE_INFINITY;
  /** On the monotonic clock. */
  #reapAfter = Number.NEGATIVE_INFINITY;
  #cancels = new Set<() => void>();
  #flushing: Promise<void> = Promise.resolve();
  #stopped = false;
  /** When the last answer came before the database stopped answering. */
  #unansweredSince = 0;

  constructor(parts: JanitorParts) {
    this.#parts = parts;
    this.#lapses = new Lapses(parts.clock, () => this.#lapsed());
  }

  start(): void {
    const { sync, logbook } = this.#parts;
    this.#lapses.start();
    this.#every(WATCH_EVERY, "watching the database", async () => this.#watch());
    this.#every(FLUSH_EVERY, "writing counts", () => this.flush());
    // Never rejects: the logbook reports its own faults.
    this.#every(FLUSH_EVERY, "flushing the logbook", () => logbook.flush());
    this.#every(this.#reapInterval(), REAPING, () => this.#reapInTurn());
    this.#every(BEAT_EVERY, BEATING, () => this.beat());
    this.#every(SYNC_EVERY, "showing this worker's jobs", sync);
    this.#every(PRUNE_EVERY, "pruning", () => this.#prune());
  }

  stop(): void {
    this.#stopped = true;
    this.#lapses.stop();
    for (const cancel of this.#cancels) cancel();
  }

  /** One after the other, so that who stops waits for what is being written. */
  flush(): Promise<void> {
    const flushed = this.#flushing.then(() => this.#flush());
    this.#flushing = flushed.catch(() => {});
    return flushed;
  }

  async #flush(): Promise<void> {
    await this.#parts.counts.flushTo(() => this.#parts.store);
  }

  async beat(): Promise<void> {
    const at = this.#parts.clock.monotonic();
    await this.#parts.beat();
    this.#beatAt = at;
  }

  async reap(): Promise<void> {
    // Others could renew their leases as little as this process.
    const { outage } = this.#parts.events;
    if (outage.wasWithin(REAP_AFTER_OUTAGE, REAPING)) return;
    if (outage.failedWithin(REAP_AFTER_OUTAGE, RENEWING, BEATING)) return;
    await reap(this.#parts);
  }

  async #reapInTurn(): Promise<void> {
    const { clock, checkLeases } = this.#parts;
    this.#lapses.check();
    checkLeases();
    if (clock.monotonic() < this.#reapAfter) return;
    if (clock.monotonic() - this.#beatAt >= LATE_BEAT) await this.beat();
    await this.reap();
  }

  #lapsed(): void {
    const { clock, events, checkLeases, wake } = this.#parts;
    checkLeases();
    wake();
    this.#reapAfter = clock.monotonic() + REAP_AFTER_LAPSE;
    this.#beatAt = Number.NEGATIVE_INFINITY;
    this.beat().catch((error) => events.failed(error, BEATING));
  }

  /** Reports an outage after UNANSWERED: the store itself retries a statement for 30 s before it fails. */
  #watch(): void {
    const { events, pending } = this.#parts;
    const { unansweredFor, answeredAt, fault } = pending;
    // A statement may have been sent again meanwhile, so only an answer ends the outage.
    if (answeredAt > this.#unansweredSince) events.succeeded(WAITING);
    if (unansweredFor < UNANSWERED) return;
    this.#unansweredSince = answeredAt;
    const why = fault === null ? "" : ` ${toFailure(fault).message}`;
    const message = `There has been no answer for ${UNANSWERED / 1000} s.${why}`;
    const error = new PunctualError("DATABASE_UNAVAILABLE", message, { cause: fault });
    events.outage.failed(WAITING, error, unansweredFor);
  }

  async #prune(): Promise<void> {
    await this.#parts.store.prune({
      finishedFor: null,
      jobsUnseenFor: null,
      orphansOlderThan: null,
      batch: 1000,
    });
  }

  /** Short leases are for those who want a run back soon. */
  #reapInterval(): number {
    let shortest = REAP_EVERY;
    for (const { settings } of this.#parts.registry.definitions())
      shortest = Math.min(shortest, settings.lease / 2);
    return Math.max(500, shortest);
  }

  #every(interval: number, what: string, duty: () => Promise<void>): void {
    const { clock, events } = this.#parts;
    // Not all workers that were started together at the same moment.
    const next = (wait: number) => clock.after(wait * (0.9 + Math.random() * 0.2), go, { background: true });
    let cancel: () => void;
    const go = async () => {
      this.#cancels.delete(cancel);
      let wait = interval;
      try {
        await duty();
        events.succeeded(what);
      } catch (error) {
        wait = Math.min(interval, RETRY_WITHIN);
        if (!this.#stopped) events.failed(error, what);
      }
      if (this.#stopped) return;
      cancel = next(wait);
      this.#cancels.add(cancel);
    };
    cancel = next(interval);
    this.#cancels.add(cancel);
  }
}
