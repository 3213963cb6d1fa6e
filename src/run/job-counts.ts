import { type JobError, mergeErrors } from "../store/job-errors.ts";
import { type RollupCount, sumCounts } from "../store/rollups.ts";
import type { ClaimedRun, JobMinute, Settlement, Store } from "../store/store.ts";
import { type Clock, MINUTE } from "../time.ts";
import { readFailure } from "./failure.ts";
import { Rollups } from "./rollups.ts";
import { CRASHED } from "./states.ts";

/** Most counts that are kept while the database is unavailable: one for each job and minute. */
const MOST_MINUTES = 10_000;

/** Interval between two writes of counts. */
export const FLUSH_EVERY = 1000;

/** Shortest interval between two writes of rollups, which have many rows. */
const ROLLED_UP_EVERY = 10_000;

/** Most rollups that are kept while the database is unavailable. */
const MOST_ROLLUPS = 50_000;

/** Longest message of an error to keep with a job. */
const LONGEST_MESSAGE = 500;

const SUCCESS: JobMinute["last"] = Object.freeze({ ok: true, failed: 0, error: null, errors: [] });

export interface JobCountsParts {
  openStore(): Promise<Pick<Store, "flush">>;
  clock: Clock;
  /** Reports a failed write that no caller awaits. */
  report(error: unknown): void;
}

/** Counts what happens to each job, and writes the sums now and then, so that no settle writes to a job's row. */
export class JobCounts {
  readonly #parts: JobCountsParts;
  #minutes = new Map<string, JobMinute>();
  /** The counts that were last changed: the next run is often one of the same job. */
  #latest: JobMinute | null = null;
  readonly #rollups = new Rollups();
  /** Rollups that could not be written. */
  #unwritten: RollupCount[] = [];
  /** On the monotonic clock: when rollups were last written. */
  #rolledUpAt = 0;
  #flushing: Promise<void> = Promise.resolve();
  #cancelFlush: (() => void) | null = null;
  #isClosed = false;

  constructor(parts: JobCountsParts) {
    this.#parts = parts;
  }

  dispatched(name: string, now: number, count = 1): void {
    const { counts } = this.#minuteOf(name, now);
    counts.dispatched = (counts.dispatched ?? 0) + count;
  }

  crashed(name: string, error: string, now: number): void {
    const minute = this.#minuteOf(name, now);
    minute.counts.crashed = (minute.counts.crashed ?? 0) + 1;
    countFailure(minute, { error, fingerprint: CRASHED }, now);
  }

  /** Counts a run that was ended without a settlement, because its process was gone. */
  ended(name: string, outcome: "failed" | "cancelled", now: number): void {
    const { counts } = this.#minuteOf(name, now);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }

  settled(
    { name: job, queue, runAt, claimedAt }: Pick<ClaimedRun, "name" | "queue" | "runAt" | "claimedAt">,
    {
      outcome,
      duration,
      error,
      fingerprint,
    }: Pick<Settlement, "outcome" | "duration" | "error" | "fingerprint">,
    now: number,
  ): void {
    const minute = this.#minuteOf(job, now);
    this.#rollups.add(
      { job, queue, outcome, waited: Math.max(0, claimedAt - runAt), took: duration },
      minute.minute,
    );
    minute.counts[outcome] = (minute.counts[outcome] ?? 0) + 1;
    minute.busy += duration;
    if (outcome === "completed") {
      minute.lastRun = now;
      minute.last = SUCCESS;
    } else if (outcome === "failed" || outcome === "retried") {
      countFailure(minute, { error, fingerprint }, now);
    }
  }

  /**
   * Writes all counts. Counts that could not be written are part of the next flush. Flushes run one after the other.
   */
  flush(): Promise<void> {
    return this.#flush(true);
  }

  /** Writes the minutes, and the rollups every ten seconds. Meant to be called every second. */
  flushOften(): Promise<void> {
    return this.#flush(this.#parts.clock.monotonic() - this.#rolledUpAt >= ROLLED_UP_EVERY);
  }

  #flush(withRollups: boolean): Promise<void> {
    const flushed = this.#flushing.then(() => this.#write(withRollups));
    this.#flushing = flushed.catch(() => {});
    return flushed;
  }

  /** Flushes within a second, for a process that only dispatches: it has no worker whose janitor flushes. */
  flushSoon(): void {
    if (this.#cancelFlush) return;
    const flush = async () => {
      this.#cancelFlush = null;
      try {
        await this.flush();
      } catch (error) {
        if (!this.#isClosed) this.#parts.report(error);
      }
    };
    this.#cancelFlush = this.#parts.clock.after(FLUSH_EVERY, flush, { background: true });
  }

  /** Cancels the flush that `flushSoon()` has scheduled. */
  close(): void {
    this.#isClosed = true;
    this.#cancelFlush?.();
  }

  async #write(withRollups: boolean): Promise<void> {
    const taken = this.#minutes;
    const rollups = withRollups ? this.#takeRollups() : [];
    if (taken.size === 0 && rollups.length === 0) return;
    this.#minutes = new Map();
    this.#latest = null;
    try {
      const store = await this.#parts.openStore();
      await store.flush([...taken.values()], rollups);
    } catch (error) {
      this.#putBack(taken);
      if (withRollups) this.#unwritten = rollups.slice(-MOST_ROLLUPS);
      throw error;
    }
  }

  #takeRollups(): RollupCount[] {
    const unwritten = this.#unwritten;
    this.#unwritten = [];
    this.#rolledUpAt = this.#parts.clock.monotonic();
    const counted = this.#rollups.take();
    return unwritten.length > 0 ? sumCounts([...unwritten, ...counted]) : counted;
  }

  #putBack(earlier: Map<string, JobMinute>): void {
    const later = this.#minutes;
    this.#minutes = earlier;
    this.#latest = null;
    for (const [key, minute] of later) {
      const known = earlier.get(key);
      earlier.set(key, known ? sumOf(known, minute) : minute);
    }
    // The map is in order of time: the oldest counts are dropped.
    for (const key of [...earlier.keys()].slice(0, -MOST_MINUTES)) earlier.delete(key);
  }

  #minuteOf(name: string, now: number): JobMinute {
    const minute = Math.floor(now / MINUTE);
    if (this.#latest?.name === name && this.#latest.minute === minute) return this.#latest;
    const key = `${minute} ${name}`;
    let counted = this.#minutes.get(key);
    if (!counted) {
      counted = { name, minute, counts: {}, busy: 0, lastRun: null, lastFailure: null, last: null };
      this.#minutes.set(key, counted);
    }
    this.#latest = counted;
    return counted;
  }
}

function sumOf(earlier: JobMinute, later: JobMinute): JobMinute {
  const { counts } = earlier;
  for (const [outcome, count] of Object.entries(later.counts) as [keyof JobMinute["counts"], number][]) {
    counts[outcome] = (counts[outcome] ?? 0) + count;
  }
  const failed = later.last && !later.last.ok ? (earlier.last?.failed ?? 0) + later.last.failed : 0;
  return {
    ...earlier,
    busy: earlier.busy + later.busy,
    lastRun: later.lastRun ?? earlier.lastRun,
    lastFailure: later.lastFailure ?? earlier.lastFailure,
    // A success resets the count of failures in a row.
    last: !later.last
      ? earlier.last
      : later.last.ok
        ? later.last
        : {
            ...later.last,
            ok: earlier.last?.ok ?? false,
            failed,
            errors: mergeErrors(earlier.last?.errors ?? [], later.last.errors),
          },
  };
}

function countFailure(
  minute: JobMinute,
  { error, fingerprint }: Pick<Settlement, "error" | "fingerprint">,
  now: number,
): void {
  const { last } = minute;
  minute.lastFailure = now;
  minute.last = {
    ok: last?.ok ?? false,
    failed: (last?.failed ?? 0) + 1,
    error,
    errors: withError(last?.errors ?? [], { error, fingerprint }, now),
  };
}

/** Adds an error to those of a job. Reads the text only of an error that is new: a job may fail often. */
function withError(
  known: JobError[],
  { error, fingerprint }: Pick<Settlement, "error" | "fingerprint">,
  now: number,
): JobError[] {
  if (fingerprint === null) return known;
  const same = known.find((one) => one.fingerprint === fingerprint);
  const message =
    same?.message ?? (readFailure(error)?.message ?? "").slice(0, LONGEST_MESSAGE).toWellFormed();
  return mergeErrors(known, [{ fingerprint, message, at: now }]);
}
