import { mysqlParts } from "../../../src/store/mysql/open.ts";
import { postgresParts } from "../../../src/store/postgres/open.ts";
import { ServerStore } from "../../../src/store/server/store.ts";
import type { Param, ServerDatabase, Transaction } from "../../../src/store/sql/database.ts";
import type { Store } from "../../../src/store/store.ts";
import { type Clock, systemClock } from "../../../src/time.ts";

/** Called once, before the next statement of a transaction that matches. */
export interface Interruption {
  before: RegExp;
  act(): Promise<unknown>;
}

function interrupted(tx: Transaction, left: Interruption[]): Transaction {
  const { handle, again } = tx;
  // One statement after the other, so that the interruption comes after all statements before it.
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(text: string, send: () => Promise<Result>): Promise<Result> => {
    const sent = turn.then(async () => {
      if (left[0]?.before.test(text)) await left.shift()!.act();
      return send();
    });
    turn = sent.catch(() => {});
    return sent;
  };
  return {
    handle,
    again,
    all: <Row>(text: string, ...params: Param[]) => inTurn(text, () => tx.all<Row>(text, ...params)),
    run: (text, ...params) => inTurn(text, () => tx.run(text, ...params)),
  };
}

/** A store whose transactions are interrupted, in the order given; interruptions left in the list did not happen. */
export async function openInterrupted(
  url: string,
  left: Interruption[],
  clock: Clock = systemClock,
): Promise<Store> {
  const options = { clock, prefix: "punctual_" };
  const parts = await (url.startsWith("postgres") ? postgresParts(url, options) : mysqlParts(url, options));
  const db = new Proxy<ServerDatabase>(parts.db, {
    get(target, key) {
      if (key === "transaction") {
        const transaction: ServerDatabase["transaction"] = (work, options) =>
          target.transaction((tx) => work(interrupted(tx, left)), options);
        return transaction;
      }
      const value = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return new ServerStore({ ...parts, db });
}
