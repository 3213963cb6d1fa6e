import { PunctualError } from "../../errors.ts";
import type { Sql } from "../sql/database.ts";

/**
 * Our own connections, while a handler writes on them. What a handler sends there and does not wait for would be
 * carried out after the end of its transaction, perhaps in somebody else's.
 */
export class Lent {
  readonly #open = new WeakMap<object, { ended: boolean }>();

  async during(handle: unknown, work: () => Promise<void>): Promise<void> {
    const loan = { ended: false };
    this.#open.set(handle as object, loan);
    try {
      await work();
    } finally {
      loan.ended = true;
    }
  }

  /** To be asked for before the first statement: the connection may be lent anew by the next. */
  guardOf(handle: unknown): (sql: Sql) => Sql {
    const loan = Object(handle) === handle ? this.#open.get(handle as object) : undefined;
    if (!loan) return (sql) => sql;
    const refuseEnded = () => {
      if (!loan.ended) return;
      throw new PunctualError(
        "NOT_IN_TRANSACTION",
        "run.transaction(fn) was over before this dispatch was sent. Await every dispatch inside fn.",
      );
    };
    refuseEnded();
    return (sql) => ({
      async all(text, ...params) {
        refuseEnded();
        return sql.all(text, ...params);
      },
      async run(text, ...params) {
        refuseEnded();
        return sql.run(text, ...params);
      },
    });
  }
}
