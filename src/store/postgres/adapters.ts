import { PunctualError } from "../../errors.ts";
import { Adapters } from "../server/adapters.ts";
import type { PgClient } from "./driver.ts";
import { translate } from "./errors.ts";
import { isClient, isPool } from "./handle.ts";
import { numbered } from "./placeholders.ts";
import { query } from "./query.ts";

export const adapters: Adapters<PgClient> = new Adapters({
  words: {
    poolRefused:
      "within() expected the client on which your transaction is open, got a Pool: each of its queries may go to another connection. Take a client with pool.connect() and begin there.",
    knexRefused:
      'within() expected a Knex transaction on PostgreSQL with the client "pg", got one on something else.',
  },
  isPool,
  asConnection: (value) => (isClient(value) ? (value as PgClient) : null),
  async send(client, text, params) {
    // A dispatch that nobody waited for must not be carried out after the end.
    if (client.getTransactionStatus?.() === "I") throw noneOpen();
    return (await query(client, text, params, 0)).rows;
  },
  textOf: numbered,
  translate,
});

export function noneOpen(): PunctualError {
  return new PunctualError(
    "NOT_IN_TRANSACTION",
    'within() expected an open transaction on the client, but there is none. Run "begin" first and await the dispatch before "commit", or leave within() out.',
  );
}
