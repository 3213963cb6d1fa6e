import { formatValue, PunctualError } from "../../errors.ts";
import { Adapters, type CallerTransaction, OwnIdentity } from "../server/adapters.ts";
import { first, type Sql, type Tables } from "../sql/database.ts";
import { queryAsText } from "./cluster.ts";
import { asConnection, asPool, type MysqlConnection } from "./driver.ts";
import { isMissingTable, isServerError, translate } from "./errors.ts";
import { AUTOCOMMIT, headerOf, IN_TRANSACTION, NO_TIMEOUT, query, rowsOf } from "./query.ts";

const adaptersBy = (send: typeof query): Adapters<MysqlConnection> =>
  new Adapters({
    messages: {
      poolRefused:
        "within() expected the connection on which your transaction is open, got a pool: a pool may run each query on another connection. Take a connection with pool.getConnection() and begin the transaction there.",
      knexRefused:
        'within() expected a Knex transaction on MySQL or MariaDB with the client "mysql2", got one with another client.',
    },
    isPool: (value) => asPool(value) !== null,
    asConnection,
    send: async (connection, text, params) => rowsOf(await send(connection, text, params, NO_TIMEOUT)),
    textOf: (text) => text,
    translate,
  });

export const adapters: Adapters<MysqlConnection> = adaptersBy(query);
const clusterAdapters = adaptersBy(queryAsText);

/** Identity of the database that a connection uses. */
interface DatabaseIdentity {
  db: string | null;
  /** A random text that install() stored with the tables, and that is replicated with them; null: no tables. */
  mark: string | null;
}

/** Checks the transactions that callers pass to within(): the runs must be inserted into the instance's own tables. */
export class CallerTransactions {
  readonly #own: Sql & { isMultiWriter: boolean };
  readonly #t: Tables;
  readonly #ownIdentity: OwnIdentity<DatabaseIdentity>;

  constructor(own: Sql & { isMultiWriter: boolean }, tables: Tables) {
    this.#own = own;
    this.#t = tables;
    this.#ownIdentity = new OwnIdentity(() => readIdentity(own, tables));
  }

  /**
   * Returns an Sql on the caller's transaction: a connection with an open one, or the transaction object of Kysely,
   * Drizzle, Knex or Prisma. Throws if it is not on the instance's own database.
   */
  async enter(tx: unknown): Promise<Sql> {
    const entered = await (this.#own.isMultiWriter ? clusterAdapters : adapters).adapt(tx);
    if (!entered) {
      throw new PunctualError(
        "INVALID_OPTION",
        "within() expected your open transaction on MySQL or MariaDB: a connection of mysql2, or the transaction object of Kysely, Drizzle (mysql2), Knex or Prisma; " +
          `got ${formatValue(tx)}.`,
      );
    }
    if (entered.connection) await checkInTransaction(entered.connection);
    await checkSession(entered);
    await this.#checkDatabase(entered.sql);
    return entered.sql;
  }

  /** Checks every time: `use` may have changed the connection's database. */
  async #checkDatabase(sql: Sql): Promise<void> {
    const theirs = await readIdentity(sql, this.#t);
    const own = await this.#ownIdentity.compareWith((known) => isSame(known, theirs));
    const hasSameName = own.db?.toLowerCase() === theirs.db?.toLowerCase();
    if (hasSameName && theirs.mark === null) {
      throw new PunctualError(
        "NOT_INSTALLED",
        `The transaction passed to within() finds no table ${this.#t.runs}. Call install() before you begin the transaction.`,
      );
    }
    if (isSame(own, theirs)) return;
    throw new PunctualError(
      "WRONG_DATABASE",
      `within() expected a transaction on the instance's own database ${formatValue(own.db)}, got one on ${hasSameName ? "a database of the same name on another server" : formatValue(theirs.db)}: workers would not find the runs there. Begin the transaction on the instance's database.`,
    );
  }
}

function isSame(one: DatabaseIdentity, other: DatabaseIdentity): boolean {
  return one.mark === other.mark && one.db?.toLowerCase() === other.db?.toLowerCase();
}

async function readIdentity(sql: Sql, t: Tables): Promise<DatabaseIdentity> {
  const session = await first(sql.all<{ db: string | null }>("select database() as db"));
  const db = session?.db ?? null;
  try {
    const row = await first(sql.all<{ mark: string }>(`select mark from ${t.ids} where id = 2`));
    return { db, mark: row?.mark ?? null };
  } catch (error) {
    if (isMissingTable(error)) return { db, mark: null };
    throw error;
  }
}

async function checkInTransaction(connection: MysqlConnection): Promise<void> {
  // The statement does nothing; its answer contains the server status.
  const { serverStatus } = headerOf(await query(connection, "do 0", [], NO_TIMEOUT));
  if (serverStatus & IN_TRANSACTION || !(serverStatus & AUTOCOMMIT)) return;
  throw new PunctualError(
    "NOT_IN_TRANSACTION",
    "within() expected an open transaction on the connection, but none is open. Call beginTransaction() first, or leave within() out.",
  );
}

/** Throws for a session in which texts would be stored changed. */
async function checkSession({ sql, connection }: CallerTransaction<MysqlConnection>): Promise<void> {
  const text = "select @@character_set_client as charset, @@sql_mode as modes";
  const session = await first(sql.all<{ charset: string; modes: string }>(text)).catch((error) => {
    if (isServerError(error)) throw error;
    throw new PunctualError(
      "WRONG_DATABASE",
      "within() expected a transaction on MySQL or MariaDB, got one on another database: it rejected a statement of MySQL.",
      { cause: error },
    );
  });
  if (session?.charset !== "utf8mb4") {
    throw new PunctualError(
      "INVALID_OPTION",
      `within() expected a connection with the character set utf8mb4, got ${session?.charset}, which cannot store every character. Set the option charset of mysql2 to "utf8mb4".`,
    );
  }
  // Query builders inline parameters into the statement, and escape them with backslashes.
  if (!connection && session.modes.split(",").includes("NO_BACKSLASH_ESCAPES")) {
    throw new PunctualError(
      "INVALID_OPTION",
      "within() expected a connection without the SQL mode NO_BACKSLASH_ESCAPES, under which texts would be stored changed. Remove the mode from sql_mode, or begin the transaction on a connection of mysql2 itself.",
    );
  }
}
