import { type Clock, yieldToEventLoop } from "../../time.ts";
import type { SqlContext } from "../sql/context.ts";
import type { Sql } from "../sql/database.ts";
import { type FormerNames, readFormerNames } from "../sql/former-names.ts";

/** Age from which the cached names are read again, in milliseconds. */
const MAX_AGE = 1000;

/**
 * Former names of jobs, so that an insert need not read them. Names older than a second are read again in the
 * background. A run that is inserted under a name that has become a former one meanwhile is moved to its job when a
 * worker claims it.
 */
export class FormerNamesCache {
  readonly #sql: SqlContext;
  readonly #clock: Clock;
  #names: FormerNames | null = null;
  #readAt = 0;

  constructor(sql: SqlContext, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /** `sql`: where the first call reads. */
  async read(sql: Sql): Promise<FormerNames> {
    const now = this.#clock.monotonic();
    if (this.#names === null) {
      this.#readAt = now;
      this.#names = await readFormerNames(this.#sql.on(sql));
    } else if (now - this.#readAt >= MAX_AGE) {
      this.#readAt = now;
      void this.#refresh();
    }
    return this.#names;
  }

  async #refresh(): Promise<void> {
    // Lets the insert be sent first.
    await yieldToEventLoop();
    try {
      this.#names = await readFormerNames(this.#sql);
    } catch {
      // A later insert tries again.
    }
  }
}
