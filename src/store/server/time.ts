import { type Clock, type ClockReading, elapsedSince, readClock } from "../../time.ts";
import type { Sql } from "../sql/database.ts";

/** How long one reading of the database's time is carried on by the local monotonic clock. */
const TRUSTED = 10_000;

/**
 * The wall clock and the monotonic clock of this host may part by this much while a reading is carried on. More means
 * that the host was suspended, when the monotonic clock stands still on Linux, or that its wall clock was set. Less than
 * what a worker keeps in hand of a lease of a second (250 ms).
 */
const GAP = 100;

/** An answer that took longer than this is asked for once more: the reading may be as old as that. */
const SLOW = 250;

/** The database's time, and when its answer came. */
interface Reading {
  time: number;
  at: ClockReading;
  took: number;
}

/**
 * The database's time without asking for it each time: the last reading, carried on. A reading is older than its
 * answer, so this is never ahead of the database: no lease ends and no run is due before its time. However wrong this
 * host's wall clock is, it only decides when to ask again.
 */
export class DatabaseTime {
  readonly #clock: Clock;
  readonly #read: string;
  #reading: Reading | null = null;

  /** `read` is the statement that asks for it, as `now`. */
  constructor(clock: Clock, read: string) {
    this.#clock = clock;
    this.#read = read;
  }

  async now(sql: Sql): Promise<number> {
    if (this.#clock.manual) return this.#clock.now();
    if (this.#reading === null || !this.#isGood(this.#reading)) this.#reading = await this.#ask(sql);
    return this.#carry(this.#reading);
  }

  /** Asks the database, whatever is known. */
  async read(sql: Sql): Promise<number> {
    if (this.#clock.manual) return this.#clock.now();
    this.#reading = await this.#ask(sql);
    return this.#carry(this.#reading);
  }

  /**
   * Takes a time that came with another answer, and returns the best that is known: as neither is ahead of the database,
   * that is the later one. It shows a pause of the whole machine after which both clocks go on as if nothing had been.
   */
  heard(time: number): number {
    if (this.#clock.manual) return this.#clock.now();
    const carried = this.#reading === null ? Number.NEGATIVE_INFINITY : this.#carry(this.#reading);
    if (time > carried) this.#reading = { time, at: readClock(this.#clock), took: 0 };
    return Math.max(time, carried);
  }

  #carry({ time, at }: Reading): number {
    return time + Math.floor(this.#clock.monotonic() - at.monotonic);
  }

  #isGood({ at }: Reading): boolean {
    const { monotonic, wall } = readClock(this.#clock);
    const since = monotonic - at.monotonic;
    return since < TRUSTED && Math.abs(wall - at.wall - since) <= GAP;
  }

  async #ask(sql: Sql): Promise<Reading> {
    const first = await this.#askOnce(sql);
    if (first.took <= SLOW) return first;
    const second = await this.#askOnce(sql);
    return second.took < first.took ? second : first;
  }

  async #askOnce(sql: Sql): Promise<Reading> {
    const asked = readClock(this.#clock);
    const [row] = await sql.all<{ now: number }>(this.#read);
    // Dated when the answer has come: dated before the question, it would be ahead of the database.
    return { time: row!.now, at: readClock(this.#clock), took: elapsedSince(asked, this.#clock) };
  }
}
