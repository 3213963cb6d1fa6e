import type { Clock } from "../../time.ts";
import type { Sql, Tables } from "../sql/database.ts";
import { using } from "./dialect.ts";

/** While things happen. */
const SOONEST = 20;

/** While nothing does: a run of another process waits half of this, and a look takes about 0.4 ms of this one's time. */
const LATEST = 55;

const SLOWER = 1.3;

/** These servers cannot call, so they are asked, by whoever watches. */
export class Poller {
  readonly #sql: Sql;
  readonly #text: string;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #cancel: (() => void) | null = null;
  #interval = SOONEST;
  #seen: string | null = null;

  constructor(sql: Sql, tables: Tables, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
    this.#text = lookFor(tables);
  }

  listen(onChange: () => void): () => void {
    // One function may watch twice.
    const listener = () => onChange();
    this.#listeners.add(listener);
    if (!this.#cancel) this.#next();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#cancel?.();
      this.#cancel = null;
      this.#seen = null;
    };
  }

  #next(): void {
    const cancel = this.#clock.after(this.#interval, () => this.#look(cancel), { background: true });
    this.#cancel = cancel;
  }

  /** The next look comes after this one. */
  async #look(mine: () => void): Promise<void> {
    const changed = await this.#hasChanged();
    // Everybody left meanwhile, and maybe others came.
    if (this.#cancel !== mine) return;
    this.#interval = changed ? SOONEST : Math.min(LATEST, this.#interval * SLOWER);
    if (changed) for (const listener of this.#listeners) listener();
    this.#next();
  }

  async #hasChanged(): Promise<boolean> {
    try {
      const before = this.#seen;
      const [row] = await this.#sql.all<{ seen: string }>(this.#text);
      this.#seen = row?.seen ?? null;
      // Also the first look: what came just before it would never be told of.
      return this.#seen !== before;
    } catch {
      // The worker's next exchange meets the same fault and reports it.
      this.#seen = null;
      return false;
    }
  }
}

/** The newest run, the first that are ready, the next that will be due: four steps into indexes, however many runs there are. */
export function lookFor(t: Tables): string {
  const first = (limited: 0 | 1) =>
    `(select id from ${t.runs}${using(t.runs, "ready")} where state = 1 and limited = ${limited} and owner is null
       order by queue, priority, run_at, id limit 1)`;
  return `select concat_ws(',', coalesce((select max(id) from ${t.runs}), 0), coalesce(${first(0)}, 0), coalesce(${first(1)}, 0),
    coalesce((select min(run_at) from ${t.runs}${using(t.runs, "scheduled")} where state = 0), 0)) as seen`;
}
