import type { Clock } from "../../time.ts";
import type { SqlContext } from "../sql/context.ts";
import type { Sql } from "../sql/database.ts";
import { type FormerNames, readFormerNames } from "../sql/former-names.ts";

/** How long a reading is used before the next one is asked for. */
const REMEMBERED = 1000;

/**
 * Former names for those who insert, without a round trip for each insert: a reading older than a second is renewed
 * beside the insert. What is inserted under a former name meanwhile, the worker that claims it moves to its job.
 */
export class RememberedNames {
  readonly #sql: SqlContext;
  readonly #clock: Clock;
  #names: FormerNames | null = null;
  #readAt = 0;

  constructor(sql: SqlContext, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /** `sql` answers if nothing was read before. */
  async read(sql: Sql): Promise<FormerNames> {
    const now = this.#clock.monotonic();
    if (this.#names === null) {
      this.#readAt = now;
      this.#names = await readFormerNames(this.#sql.on(sql));
    } else if (now - this.#readAt >= REMEMBERED) {
      this.#readAt = now;
      readFormerNames(this.#sql).then(
        (names) => {
          this.#names = names;
        },
        // The next insert asks again.
        () => {},
      );
    }
    return this.#names;
  }
}
