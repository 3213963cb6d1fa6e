import { PunctualError } from "../../errors.ts";
import type { Sql, Transaction } from "../sql/database.ts";

interface Loan {
  tx: Transaction;
  isOver: boolean;
}

/**
 * Connections of ours that `run.transaction(fn)` lends to handlers. A loan is over when `fn` has returned: a statement
 * that the handler sends later would run outside its transaction, perhaps inside another one.
 */
export class Loans {
  readonly #loans = new WeakMap<object, Loan>();

  /** Lends the connection of a transaction to `work`, until `work` has settled. */
  async lend(tx: Transaction, work: (handle: unknown) => unknown): Promise<void> {
    const loan = { tx, isOver: false };
    this.#loans.set(tx.handle as object, loan);
    try {
      await work(tx.handle);
    } finally {
      loan.isOver = true;
    }
  }

  /** Returns the transaction that a handle was lent for, or null if the handle is not one of ours. */
  transactionOf(handle: unknown): Sql | null {
    const loan = Object(handle) === handle ? this.#loans.get(handle as object) : undefined;
    if (!loan) return null;
    const refuseIfOver = () => {
      if (!loan.isOver) return;
      throw new PunctualError(
        "NOT_IN_TRANSACTION",
        "The function of run.transaction(fn) returned before this dispatch was sent. Await every dispatch inside fn.",
      );
    };
    refuseIfOver();
    return {
      async all(text, ...params) {
        refuseIfOver();
        return loan.tx.all(text, ...params);
      },
      async run(text, ...params) {
        refuseIfOver();
        return loan.tx.run(text, ...params);
      },
    };
  }
}

/** Limits how many calls run at a time; the others wait in order. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
