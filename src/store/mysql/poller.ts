import type { Clock } from "../../time.ts";
import type { Sql, Tables } from "../sql/database.ts";
import { nextDue, using } from "./dialect.ts";

/**
 * Bounds of the time between two polls, in milliseconds. On average, a run of another process waits half of it. An idle
 * worker sends hardly anything else.
 */
const SHORTEST_INTERVAL = 8;
const LONGEST_INTERVAL = 250;

/**
 * Time between two polls of any worker, in milliseconds, on average: with many workers the bounds grow. A run waits no
 * longer, since one of them polls soon.
 */
const INTERVAL_OF_ALL = 1;

/** The longest interval, however many workers there are: a worker that alone serves a queue must notice its runs. */
const LONGEST_OF_MANY = 1500;

/** Between these bounds, the time between two polls as a fraction of the time since the last change (note 39). */
const FRACTION = 0.05;

/** Longest that exchanges delay a poll, in milliseconds: they may be those of another worker, on other queues. */
const LONGEST_DELAY = 1000;

/** Polls for changes of the runs while there are listeners: these servers have no notifications. */
export class Poller {
  readonly #sql: Sql;
  readonly #poll: string;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #cancel: (() => void) | null = null;
  #interval = SHORTEST_INTERVAL;
  #seen: string | null = null;
  /** Times on the monotonic clock. */
  #changedAt = 0;
  #polledAt = 0;
  #exchangedAt = 0;
  #exchanges = 0;
  /** Least time between two polls that the number of workers asks for. */
  #least = 0;

  constructor(sql: Sql, tables: Tables, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
    this.#poll = pollStatement(tables);
  }

  listen(onChange: () => void): () => void {
    // A new function for each call: the same `onChange` may be passed twice.
    const listener = () => onChange();
    this.#listeners.add(listener);
    if (!this.#cancel) this.#pollLater(this.#interval);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#cancel?.();
      this.#cancel = null;
      this.#seen = null;
    };
  }

  /** Takes the number of live workers: the more there are, the less often each of them polls. */
  crowd(workers: number): void {
    this.#least = Math.min(LONGEST_OF_MANY, workers * INTERVAL_OF_ALL);
  }

  /** Whether the last poll was answered. */
  get isPolling(): boolean {
    return this.#seen !== null;
  }

  /** Called when an exchange is under way. It finds new runs itself, so the next poll can wait. */
  async exchanging(work: Promise<unknown>): Promise<void> {
    this.#exchanges++;
    await work.catch(() => {});
    this.#exchanges--;
    this.#exchangedAt = this.#clock.monotonic();
  }

  /** Returns how long exchanges delay the next poll. */
  #putOff(now: number): number {
    if (now - this.#polledAt >= LONGEST_DELAY) return 0;
    return this.#exchanges > 0 ? this.#interval : this.#exchangedAt + this.#interval - now;
  }

  #pollLater(ms: number): void {
    const cancel = this.#clock.after(ms, () => this.#pollOnce(cancel), { background: true });
    this.#cancel = cancel;
  }

  async #pollOnce(mine: () => void): Promise<void> {
    const now = this.#clock.monotonic();
    const putOff = this.#putOff(now);
    if (putOff > 0) return this.#pollLater(putOff);
    this.#polledAt = now;
    const changed = await this.#hasChanged();
    // All listeners left during the poll; new ones may have started another.
    if (this.#cancel !== mine) return;
    if (changed) this.#changedAt = now;
    const wanted = FRACTION * (now - this.#changedAt);
    const longest = Math.max(LONGEST_INTERVAL, this.#least);
    this.#interval = Math.min(longest, Math.max(SHORTEST_INTERVAL, this.#least, wanted));
    if (changed) for (const listener of this.#listeners) listener();
    this.#pollLater(this.#interval);
  }

  async #hasChanged(): Promise<boolean> {
    try {
      const before = this.#seen;
      const [row] = await this.#sql.all<{ seen: string }>(this.#poll);
      this.#seen = row?.seen ?? null;
      // The first poll counts as a change; otherwise earlier inserts would be missed.
      return this.#seen !== before;
    } catch {
      // The worker's next exchange fails in the same way and reports the error.
      this.#seen = null;
      return false;
    }
  }
}

/**
 * A `select` of the newest run, the last ready ones and the next due time, as one text. It costs four index lookups,
 * however many runs there are. The last ready runs, not the first: before these are the entries of claimed runs that
 * the server has not purged yet.
 */
export function pollStatement(t: Tables): string {
  const last = (limited: 0 | 1) =>
    `(select id from ${t.runs}${using(t.runs, "ready")} where state = 1 and limited = ${limited} and owner is null
       order by queue desc, priority desc, run_at desc, id desc limit 1)`;
  return `select concat_ws(',', coalesce((select max(id) from ${t.runs}), 0), coalesce(${last(0)}, 0), coalesce(${last(1)}, 0),
    coalesce((${nextDue(t)}), 0)) as seen`;
}
