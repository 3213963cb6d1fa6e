import { PunctualError } from "../../errors.ts";
import { inTime, systemClock, yieldToEventLoop } from "../../time.ts";
import type { ReadLimits } from "../reads.ts";
import type { Database, Param, Sql } from "./database.ts";

/** Reads under a deadline that all its statements share. The server cancels a statement that is under way by then. */
export class TimeLimitedSql implements Sql {
  readonly #db: Database;
  readonly #limits: ReadLimits;
  readonly #deadline: number;

  constructor(db: Database, limits: ReadLimits) {
    this.#db = db;
    this.#limits = limits;
    this.#deadline = systemClock.monotonic() + limits.timeout;
  }

  async all<Row>(text: string, ...params: Param[]): Promise<Row[]> {
    // SQLite answers synchronously: timers and signals get their turn between two statements.
    await yieldToEventLoop();
    this.#limits.signal?.throwIfAborted();
    const left = Math.ceil(this.#deadline - systemClock.monotonic());
    if (left <= 0) throw this.#timedOut();
    const answer = this.#db.readWithin<Row>(left, text, ...params).catch((error) => {
      throw this.#db.isCancelled(error) ? queryTimedOut(this.#limits.timeout, error) : error;
    });
    return inTime(answer, left, this.#limits.signal, () => this.#timedOut());
  }

  async run(text: string, ...params: Param[]): Promise<void> {
    await this.all(text, ...params);
  }

  /** The error of the database if it is away: then the query is not to blame. */
  #timedOut(): unknown {
    return this.#db.fault() ?? queryTimedOut(this.#limits.timeout);
  }
}

export function queryTimedOut(ms: number, cause?: unknown): PunctualError {
  return new PunctualError(
    "QUERY_TIMED_OUT",
    `The database did not answer within ${ms / 1000} s, and the query was cancelled. Narrow it: a shorter time (after:24h), one job or one state; or allow more time.`,
    cause === undefined ? {} : { cause },
  );
}
