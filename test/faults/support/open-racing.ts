import { mysqlParts } from "../../../src/store/mysql/open.ts";
import { postgresParts } from "../../../src/store/postgres/open.ts";
import { ServerStore } from "../../../src/store/server/store.ts";
import type { Param, ServerDatabase, Transaction } from "../../../src/store/sql/database.ts";
import type { Store } from "../../../src/store/store.ts";
import { sleepReal, systemClock } from "../../../src/time.ts";

const OPTIONS = { clock: systemClock, prefix: "punctual_" };

export type Gates = "closed" | "open";

/**
 * A client that is slow between counting and taking: two of them do it at the same time. With open gates, which nobody
 * locks, they take too much; that is the fault which the races have to find.
 */
function slow(tx: Transaction, gates: Gates): Transaction {
  const { handle, again } = tx;
  const changed = async (text: string) => {
    if (text.startsWith("update punctual_runs") && Math.random() < 0.5) await sleepReal(Math.random() * 20);
    return gates === "open" && text.includes("punctual_gates") ? text.replace(/ for update.*/, "") : text;
  };
  return {
    handle,
    again,
    all: async <Row>(text: string, ...params: Param[]) => tx.all<Row>(await changed(text), ...params),
    run: async (text, ...params) => tx.run(await changed(text), ...params),
  };
}

function slowed(db: ServerDatabase, gates: Gates): ServerDatabase {
  return new Proxy(db, {
    get(target, key) {
      if (key === "transaction") {
        const transaction: ServerDatabase["transaction"] = (work, options) =>
          target.transaction((tx) => work(slow(tx, gates)), options);
        return transaction;
      }
      const value = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

export async function openRacing(url: string, gates: Gates): Promise<Store> {
  const parts = await (url.startsWith("postgres") ? postgresParts(url, OPTIONS) : mysqlParts(url, OPTIONS));
  return new ServerStore({ ...parts, db: slowed(parts.db, gates) });
}
