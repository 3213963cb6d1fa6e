import { type Clock, type ClockReading, elapsedSince, readClock } from "../../time.ts";
import type { Sql } from "../sql/database.ts";

/** How long a reading of the database's time is used, in milliseconds. */
const MAX_AGE = 10_000;

/**
 * Most that the host's wall clock and monotonic clock may drift apart since a reading, in milliseconds. A larger drift
 * means that the host was suspended (on Linux its monotonic clock then stands still) or that its wall clock was set.
 * The bound is below 250 ms, the margin that a worker keeps of a lease of one second.
 */
const MAX_DRIFT = 100;

/** A reading whose answer took longer is repeated once, in milliseconds: it may be as old as that. */
const SLOW = 250;

/** The database's time, and when its answer arrived here. */
interface TimeSample {
  time: number;
  at: ClockReading;
  took: number;
}

/**
 * The database's time, without a round trip for each use: the last reading plus the time since then on the host's
 * monotonic clock. A reading is older than its answer, so the result is never ahead of the database: no lease ends and
 * no run is due too early. The host's wall clock only decides when to read again.
 */
export class DatabaseTime {
  readonly #clock: Clock;
  readonly #statement: string;
  #reading: TimeSample | null = null;

  /** `statement` selects the time as `now`. */
  constructor(clock: Clock, statement: string) {
    this.#clock = clock;
    this.#statement = statement;
  }

  async now(sql: Sql): Promise<number> {
    if (this.#clock.manual) return this.#clock.now();
    if (this.#reading === null || !this.#isUsable(this.#reading)) this.#reading = await this.#read(sql);
    return this.#advance(this.#reading);
  }

  /** Reads the time from the database, even if the last reading is usable. */
  async read(sql: Sql): Promise<number> {
    if (this.#clock.manual) return this.#clock.now();
    this.#reading = await this.#read(sql);
    return this.#advance(this.#reading);
  }

  /** An SQL expression whose parameter is a result of `now()`: the later of it and the database's time. */
  get later(): string {
    return this.#clock.manual ? "cast(? as bigint)" : `greatest(cast(? as bigint), (${this.#statement}))`;
  }

  /**
   * Takes a time that the database sent with another answer, and returns the later of it and the current result:
   * neither is ahead of the database. This corrects for a pause of the whole machine that neither of its clocks shows.
   */
  observe(time: number): number {
    if (this.#clock.manual) return this.#clock.now();
    const known = this.#reading === null ? Number.NEGATIVE_INFINITY : this.#advance(this.#reading);
    if (time > known) this.#reading = { time, at: readClock(this.#clock), took: 0 };
    return Math.max(time, known);
  }

  /** Returns a time that the database sent, or the time of a test's clock in its place. */
  exactly(time: number): number {
    return this.#clock.manual ? this.#clock.now() : time;
  }

  #advance({ time, at }: TimeSample): number {
    return time + Math.floor(this.#clock.monotonic() - at.monotonic);
  }

  #isUsable({ at }: TimeSample): boolean {
    const { monotonic, wall } = readClock(this.#clock);
    const since = monotonic - at.monotonic;
    return since < MAX_AGE && Math.abs(wall - at.wall - since) <= MAX_DRIFT;
  }

  async #read(sql: Sql): Promise<TimeSample> {
    const first = await this.#readOnce(sql);
    if (first.took <= SLOW) return first;
    const second = await this.#readOnce(sql);
    return second.took < first.took ? second : first;
  }

  async #readOnce(sql: Sql): Promise<TimeSample> {
    const sent = readClock(this.#clock);
    const [row] = await sql.all<{ now: number }>(this.#statement);
    // The clocks are read after the answer: with clocks from before the statement, the result would be ahead of the
    // database.
    return { time: row!.now, at: readClock(this.#clock), took: elapsedSince(sent, this.#clock) };
  }
}
