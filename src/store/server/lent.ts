import { PunctualError } from "../../errors.ts";
import type { Sql, Transaction } from "../sql/database.ts";

interface Loan {
  tx: Transaction;
  ended: boolean;
}

/**
 * Our own connections, while a handler writes on them. What a handler sends there and does not wait for would be
 * carried out after the end of its transaction, perhaps in somebody else's.
 */
export class Lent {
  readonly #open = new WeakMap<object, Loan>();

  async during(tx: Transaction, work: (handle: unknown) => unknown): Promise<void> {
    const loan = { tx, ended: false };
    this.#open.set(tx.handle as object, loan);
    try {
      await work(tx.handle);
    } finally {
      loan.ended = true;
    }
  }

  /** The transaction that this handle was lent for; null: it is not one of ours. */
  transactionOf(handle: unknown): Sql | null {
    const loan = Object(handle) === handle ? this.#open.get(handle as object) : undefined;
    if (!loan) return null;
    const refuseEnded = () => {
      if (!loan.ended) return;
      throw new PunctualError(
        "NOT_IN_TRANSACTION",
        "run.transaction(fn) was over before this dispatch was sent. Await every dispatch inside fn.",
      );
    };
    refuseEnded();
    return {
      async all(text, ...params) {
        refuseEnded();
        return loan.tx.all(text, ...params);
      },
      async run(text, ...params) {
        refuseEnded();
        return loan.tx.run(text, ...params);
      },
    };
  }
}
