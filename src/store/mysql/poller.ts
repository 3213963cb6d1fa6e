import type { Clock } from "../../time.ts";
import type { Sql, Tables } from "../sql/database.ts";
import { using } from "./dialect.ts";

/** Time between two polls while the runs change, in milliseconds. */
const SHORTEST_INTERVAL = 20;

/**
 * Time between two polls while nothing changes, in milliseconds. A run of another process waits half of it on average;
 * a poll takes about 0.4 ms of this process's time.
 */
const LONGEST_INTERVAL = 55;

/** Growth of the interval after a poll that found no change. */
const GROWTH = 1.3;

/** Polls for changes of the runs while there are listeners: these servers have no notifications. */
export class Poller {
  readonly #sql: Sql;
  readonly #poll: string;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #cancel: (() => void) | null = null;
  #interval = SHORTEST_INTERVAL;
  #seen: string | null = null;

  constructor(sql: Sql, tables: Tables, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
    this.#poll = pollStatement(tables);
  }

  listen(onChange: () => void): () => void {
    // A new function for each call: the same `onChange` may be passed twice.
    const listener = () => onChange();
    this.#listeners.add(listener);
    if (!this.#cancel) this.#pollLater();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#cancel?.();
      this.#cancel = null;
      this.#seen = null;
    };
  }

  #pollLater(): void {
    const cancel = this.#clock.after(this.#interval, () => this.#pollOnce(cancel), { background: true });
    this.#cancel = cancel;
  }

  async #pollOnce(mine: () => void): Promise<void> {
    const changed = await this.#hasChanged();
    // All listeners left during the poll; new ones may have started another.
    if (this.#cancel !== mine) return;
    this.#interval = changed ? SHORTEST_INTERVAL : Math.min(LONGEST_INTERVAL, this.#interval * GROWTH);
    if (changed) for (const listener of this.#listeners) listener();
    this.#pollLater();
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
 * A `select` of the newest run, the first ready ones and the next due time, as one text. It costs four index lookups,
 * however many runs there are.
 */
export function pollStatement(t: Tables): string {
  const first = (limited: 0 | 1) =>
    `(select id from ${t.runs}${using(t.runs, "ready")} where state = 1 and limited = ${limited} and owner is null
       order by queue, priority, run_at, id limit 1)`;
  return `select concat_ws(',', coalesce((select max(id) from ${t.runs}), 0), coalesce(${first(0)}, 0), coalesce(${first(1)}, 0),
    coalesce((select min(run_at) from ${t.runs}${using(t.runs, "scheduled")} where state = 0), 0)) as seen`;
}
