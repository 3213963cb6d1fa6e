import { Adapters } from "../server/adapters.ts";
import type { MysqlConnection } from "./driver.ts";
import { translate } from "./errors.ts";
import { asConnection, asPool } from "./handle.ts";
import { HOWEVER_LONG, query, rowsOf } from "./query.ts";

export const adapters: Adapters<MysqlConnection> = new Adapters({
  words: {
    poolRefused:
      "within() expected the connection on which your transaction is open, got a pool: each of its queries may go to another connection. Take one with pool.getConnection() and begin there.",
    knexRefused:
      'within() expected a Knex transaction on MySQL or MariaDB with the client "mysql2", got one on something else.',
  },
  isPool: (value) => asPool(value) !== null,
  asConnection,
  send: async (connection, text, params) => rowsOf(await query(connection, text, params, HOWEVER_LONG)),
  textOf: (text) => text,
  translate,
});
