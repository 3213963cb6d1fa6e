import { PunctualError, show } from "../../errors.ts";
import { Adapters, type Entered } from "../server/adapters.ts";
import { first, type Sql, type Tables } from "../sql/database.ts";
import { asConnection, asPool, type MysqlConnection } from "./driver.ts";
import { isMissingTable, isServerError, translate } from "./errors.ts";
import { AUTOCOMMIT, HOWEVER_LONG, headerOf, IN_TRANSACTION, query, rowsOf } from "./query.ts";

interface Place {
  db: string | null;
  /** Of the tables, made when they were installed: it goes with them wherever they are replicated to. Null: there are none. */
  mark: string | null;
}

/** Lets through transactions on our own database, and refuses what would put the runs anywhere else. */
export class Callers {
  readonly #own: Sql;
  readonly #t: Tables;
  #home: Promise<Place> | null = null;

  constructor(own: Sql, tables: Tables) {
    this.#own = own;
    this.#t = tables;
  }

  /** A connection with an open transaction, or the transaction object of Kysely, Drizzle, Knex or Prisma. */
  async enter(tx: unknown): Promise<Sql> {
    const entered = await adapters.adapt(tx);
    if (!entered) {
      throw new PunctualError(
        "INVALID_OPTION",
        "within() expected your open transaction on MySQL or MariaDB: a connection of mysql2, or what Kysely, Drizzle (mysql2), Knex or Prisma give to the function of a transaction; " +
          `got ${show(tx)}.`,
      );
    }
    if (entered.connection) await refuseUnlessInTransaction(entered.connection);
    await refuseUnsafe(entered);
    await this.#refuseElsewhere(entered.sql);
    return entered.sql;
  }

  /** What failed is asked again the next time. */
  #askHome(): Promise<Place> {
    const asking = placeOf(this.#own, this.#t);
    asking.catch(() => {
      this.#home = null;
    });
    return asking;
  }

  /** Each time: a connection may choose another database whenever it likes. */
  async #refuseElsewhere(sql: Sql): Promise<void> {
    const theirs = await placeOf(sql, this.#t);
    this.#home ??= this.#askHome();
    // Asked once more before it is refused: it may have been installed since.
    if (!isSame(await this.#home, theirs)) this.#home = this.#askHome();
    const home = await this.#home;
    const named = home.db?.toLowerCase() === theirs.db?.toLowerCase();
    if (named && theirs.mark === null) {
      throw new PunctualError(
        "NOT_INSTALLED",
        `The transaction given to within() sees no table ${this.#t.runs}. Call install() before you begin it.`,
      );
    }
    if (isSame(home, theirs)) return;
    throw new PunctualError(
      "WRONG_DATABASE",
      `within() expected a transaction on the instance's own database ${show(home.db)}, got one on ${named ? "a database of the same name on another server" : show(theirs.db)}: the runs would not be found there.`,
    );
  }
}

function isSame(home: Place, theirs: Place): boolean {
  return home.mark === theirs.mark && home.db?.toLowerCase() === theirs.db?.toLowerCase();
}

async function placeOf(sql: Sql, t: Tables): Promise<Place> {
  const named = await first(sql.all<{ db: string | null }>("select database() as db"));
  const db = named?.db ?? null;
  try {
    const row = await first(sql.all<{ mark: string }>(`select mark from ${t.ids} where id = 2`));
    return { db, mark: row?.mark ?? null };
  } catch (error) {
    if (isMissingTable(error)) return { db, mark: null };
    throw error;
  }
}

async function refuseUnlessInTransaction(connection: MysqlConnection): Promise<void> {
  // It does nothing; what the server answers has its state.
  const { serverStatus } = headerOf(await query(connection, "do 0", [], HOWEVER_LONG));
  if (serverStatus & IN_TRANSACTION || !(serverStatus & AUTOCOMMIT)) return;
  throw new PunctualError(
    "NOT_IN_TRANSACTION",
    "within() expected an open transaction on the connection, but there is none. Begin one with beginTransaction() first, or leave within() out.",
  );
}

/** Where texts would not arrive as they were sent. */
async function refuseUnsafe({ sql, connection }: Entered<MysqlConnection>): Promise<void> {
  const text = "select @@character_set_client as charset, @@sql_mode as modes";
  const session = await first(sql.all<{ charset: string; modes: string }>(text)).catch((error) => {
    if (isServerError(error)) throw error;
    throw new PunctualError(
      "WRONG_DATABASE",
      "within() expected a transaction on MySQL or MariaDB, but the one given does not understand its SQL.",
      { cause: error },
    );
  });
  if (session?.charset !== "utf8mb4") {
    throw new PunctualError(
      "INVALID_OPTION",
      `within() expected a connection with the character set utf8mb4, got ${session?.charset}: texts would lose characters. Set the option charset of mysql2 to "utf8mb4".`,
    );
  }
  // The libraries put the parameters into the statement by themselves, and escape them as other modes want it.
  if (!connection && session.modes.split(",").includes("NO_BACKSLASH_ESCAPES")) {
    throw new PunctualError(
      "INVALID_OPTION",
      "within() expected a connection without the mode NO_BACKSLASH_ESCAPES: texts would arrive changed. Take the mode out of sql_mode, or begin the transaction on a connection of mysql2 itself.",
    );
  }
}

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
