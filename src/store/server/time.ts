import type { Clock } from "../../time.ts";
import type { Sql } from "../sql/database.ts";

/** How long one reading of the database's time is carried on by the local monotonic clock. */
const TRUSTED = 10_000;

/**
 * The database's time without asking for it each time: the last reading, carried on. A reading is older than its
 * answer, so this is never ahead of the database: no lease ends and no run is due before its time. However wrong this
 * host's wall clock is, it has no part in it.
 */
export class DatabaseTime {
  readonly #clock: Clock;
  readonly #read: string;
  #reading: { time: number; at: number } | null = null;

  /** `read` is the statement that asks for it, as `now`. */
  constructor(clock: Clock, read: string) {
    this.#clock = clock;
    this.#read = read;
  }

  async now(sql: Sql): Promise<number> {
    if (this.#clock.manual) return this.#clock.now();
    const since = this.#reading === null ? TRUSTED : this.#clock.monotonic() - this.#reading.at;
    if (since < TRUSTED) return this.#reading!.time + Math.floor(since);
    const [row] = await sql.all<{ now: number }>(this.#read);
    const time = row!.now;
    this.#reading = { time, at: this.#clock.monotonic() };
    return time;
  }
}
