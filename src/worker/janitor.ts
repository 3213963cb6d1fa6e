import { PunctualError } from "../errors.ts";
import { toFailure } from "../run/failure.ts";
import { FLUSH_EVERY } from "../run/job-counts.ts";
import { defaultRetention } from "../run/retention.ts";
import type { PendingCalls } from "../store/pending-calls.ts";
import { WORKER_DEAD_AFTER } from "../store/store.ts";
import { CRASH_CAP, type CrashParts, recordReaped, workerDied } from "./crashed-runs.ts";
import { reapGone } from "./gone-workers.ts";
import { SYNC_EVERY } from "./job-sync.ts";
import { Lapses } from "./lapses.ts";
import { RENEWING } from "./leases.ts";
import type { WorkerParts } from "./parts.ts";
import { BEAT_EVERY, handlerGone } from "./presence.ts";

/** Interval between two reaps, unless a job has a short lease. */
const REAP_EVERY = 10_000;
const PRUNE_EVERY = 60_000;

/** Callbacks of a batch come within a minute, if the process that ended the last member died before its look. */
const SWEEP_EVERY = 45_000;

/** Interval at which runs are raised that have waited longer than the patience of their queue. */
const RAISE_EVERY = 60_000;

/** Most runs of a queue to raise in one pass: raised runs delay more important ones. */
const RAISED_AT_ONCE = 1000;

/** Interval between two checks for statements without an answer. */
const WATCH_EVERY = 1000;

/** Longest wait before a failed duty is repeated. */
const RETRY_WITHIN = 2000;

/** How long live workers have after an outage to renew their leases and write their outcomes before others reap. */
const REAP_AFTER_OUTAGE = 5000;

/** How long processes that were frozen together with this one have to renew their leases and send a heartbeat. */
const REAP_AFTER_LAPSE = 5000;

/** A worker whose last heartbeat is older than this sends one before it reaps. */
const LATE_BEAT = WORKER_DEAD_AFTER / 2;

/** A statement that has been unanswered for longer than this counts as an outage. */
const UNANSWERED = 4000;

/** Larger than any worker's capacity, so that all runs of a dead worker are reaped together. */
const REAPED_AT_ONCE = 1000;

const BEATING = "sending a heartbeat";
const WAITING = "waiting for an answer";
const REAPING = "reaping expired leases";
const COUNTING = "writing counts";
const SYNCING = "syncing jobs";
const PRUNING = "pruning";
const SWEEPING = "sweeping batches";
const RAISING = "raising runs that have waited long";

/**
 * Duties that may fail while other workers can renew their leases: a frozen worker may have locked the rows of one
 * duty. If they stopped the reaping, its runs would never be reaped.
 */
const FAILING_ALONE = [REAPING, COUNTING, SYNCING, PRUNING, SWEEPING, RAISING];

type JanitorKeys =
  | "id"
  | "store"
  | "clock"
  | "random"
  | "events"
  | "registry"
  | "queueOrders"
  | "executor"
  | "counts"
  | "logbook";

export interface JanitorParts extends Pick<WorkerParts, JanitorKeys> {
  pending: PendingCalls;
  hostname: string;
  beat(): Promise<void>;
  sync(): Promise<void>;
  /** Aborts executions whose leases have expired: from then on their runs may be reaped, also by this process. */
  checkLeases(): void;
  /** Wakes the worker. */
  wake(): void;
}

/** Reaps the runs of dead workers. Returns their number. */
export async function reap(parts: CrashParts & Pick<WorkerParts, "id" | "store">): Promise<number> {
  const { store, id } = parts;
  for (let count = 0; ; ) {
    const reaped = await store.reap(REAPED_AT_ONCE, CRASH_CAP, workerDied, defaultRetention.failed);
    for (const run of reaped) recordReaped(run, workerDied, parts);
    count += reaped.length;
    if (reaped.length >= REAPED_AT_ONCE) continue;
    await store.reapOwnerless(id, handlerGone, defaultRetention.failed);
    return count;
  }
}

/**
 * Does the periodic duties of a worker: sends heartbeats, syncs jobs, writes counts and log lines, reaps and prunes.
 */
export class Janitor {
  readonly #parts: JanitorParts;
  readonly #lapses: Lapses;
  /** When the last answered heartbeat was sent, on the monotonic clock. */
  #beatAt = Number.NEGATIVE_INFINITY;
  /** No reaping before this moment on the monotonic clock. */
  #reapNotBefore = Number.NEGATIVE_INFINITY;
  #cancels = new Set<() => void>();
  #cancelExtraReap: () => void = () => {};
  #stopped = false;
  /** When the last answer before the outage came. */
  #unansweredSince = 0;

  constructor(parts: JanitorParts) {
    this.#parts = parts;
    this.#lapses = new Lapses(parts.clock, () => this.#lapsed());
  }

  start(): void {
    const { sync, counts, logbook } = this.#parts;
    this.#lapses.start();
    this.#every(WATCH_EVERY, "watching the database", async () => this.#watch());
    this.#every(FLUSH_EVERY, COUNTING, () => counts.flushOften());
    // Never rejects: the logbook reports its own errors.
    this.#every(FLUSH_EVERY, "flushing the logbook", () => logbook.flush());
    this.#every(this.#reapInterval(), REAPING, () => this.#reapInTurn());
    this.#every(BEAT_EVERY, BEATING, () => this.beat());
    this.#every(SYNC_EVERY, SYNCING, sync);
    this.#every(PRUNE_EVERY, PRUNING, () => this.#prune());
    this.#every(SWEEP_EVERY, SWEEPING, () => this.#parts.store.batches.sweep());
    this.#every(RAISE_EVERY, RAISING, () => this.#raise());
  }

  stop(): void {
    this.#stopped = true;
    this.#lapses.stop();
    this.#cancelExtraReap();
    for (const cancel of this.#cancels) cancel();
  }

  async beat(): Promise<void> {
    const at = this.#parts.clock.monotonic();
    await this.#parts.beat();
    this.#beatAt = at;
  }

  /** Reaps, unless an outage ended a moment ago: during it the other workers could not renew their leases. */
  async reap(): Promise<void> {
    const { outage } = this.#parts.events;
    if (outage.wasWithin(REAP_AFTER_OUTAGE, ...FAILING_ALONE)) return;
    if (outage.failedWithin(REAP_AFTER_OUTAGE, RENEWING, BEATING)) return;
    const { reaped, again } = await reapGone(this.#parts);
    if (again !== null) this.#reapAfter(again);
    if (reaped + (await reap(this.#parts)) > 0) this.#parts.wake();
  }

  /** Reaps once between two regular reaps. */
  #reapAfter(wait: number): void {
    const { clock, events } = this.#parts;
    this.#cancelExtraReap();
    if (this.#stopped) return;
    const reap = () => this.#reapInTurn().catch((error) => events.failed(error, REAPING));
    this.#cancelExtraReap = clock.after(wait, () => void reap(), { background: true });
  }

  async #reapInTurn(): Promise<void> {
    const { clock, checkLeases } = this.#parts;
    this.#lapses.check();
    checkLeases();
    if (clock.monotonic() < this.#reapNotBefore) return;
    if (clock.monotonic() - this.#beatAt >= LATE_BEAT) await this.beat();
    await this.reap();
  }

  /** Called when this process runs again after a lapse. */
  #lapsed(): void {
    const { clock, events, checkLeases, wake } = this.#parts;
    checkLeases();
    wake();
    this.#reapNotBefore = clock.monotonic() + REAP_AFTER_LAPSE;
    this.#beatAt = Number.NEGATIVE_INFINITY;
    this.beat().catch((error) => events.failed(error, BEATING));
  }

  /** Reports an outage after `UNANSWERED`: the store itself retries a statement for 30 s before it fails. */
  #watch(): void {
    const { events, pending } = this.#parts;
    const { unansweredFor, answeredAt, fault } = pending;
    // The store may have sent the statement again, so only an answer ends the outage.
    if (answeredAt > this.#unansweredSince) events.succeeded(WAITING);
    if (unansweredFor < UNANSWERED) return;
    this.#unansweredSince = answeredAt;
    const why = fault === null ? "" : ` ${toFailure(fault).message}`;
    const message = `The database has not answered for ${UNANSWERED / 1000} s.${why}`;
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

  /** Raises the priority of runs that have waited longer than the patience of their queue. */
  async #raise(): Promise<void> {
    const { store, queueOrders } = this.#parts;
    for (const { queue, patience } of queueOrders.patient) await store.raise(queue, patience, RAISED_AT_ONCE);
  }

  /** Returns half of the shortest lease, at most `REAP_EVERY`: a lost run then waits at most half a lease longer. */
  #reapInterval(): number {
    let shortest = REAP_EVERY;
    for (const { settings } of this.#parts.registry.definitions())
      shortest = Math.min(shortest, settings.lease / 2);
    return Math.max(500, shortest);
  }

  #every(interval: number, name: string, duty: () => Promise<void>): void {
    const { clock, events, random } = this.#parts;
    // Jitter: workers that were started together must not all do a duty at the same moment.
    const next = (wait: number) => clock.after(wait * (0.9 + random() * 0.2), go, { background: true });
    let cancel: () => void;
    const go = async () => {
      this.#cancels.delete(cancel);
      let wait = interval;
      try {
        await duty();
        events.succeeded(name);
      } catch (error) {
        wait = Math.min(interval, RETRY_WITHIN);
        if (!this.#stopped) events.failed(error, name);
      }
      if (this.#stopped) return;
      cancel = next(wait);
      this.#cancels.add(cancel);
    };
    cancel = next(interval);
    this.#cancels.add(cancel);
  }
}
