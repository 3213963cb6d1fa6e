import { formatValue, PunctualError } from "../../errors.ts";
import { Adapters, OwnIdentity } from "../server/adapters.ts";
import { first, type Sql, type Tables } from "../sql/database.ts";
import { isClient, isPool, type PgClient } from "./driver.ts";
import { translate } from "./errors.ts";
import { NO_TIMEOUT, numbered, query } from "./query.ts";

export const adapters: Adapters<PgClient> = new Adapters({
  messages: {
    poolRefused:
      "within() expected the client on which your transaction is open, got a Pool: a pool may run each query on another connection. Take a client with pool.connect() and begin the transaction there.",
    knexRefused:
      'within() expected a Knex transaction on PostgreSQL with the client "pg", got one with another client.',
  },
  isPool,
  asConnection: (value) => (isClient(value) ? (value as PgClient) : null),
  async send(client, text, params) {
    // A dispatch that was not awaited may come after the commit; its insert must not be executed by itself.
    if (client.getTransactionStatus?.() === "I") throw noTransaction();
    return (await query(client, text, params, { timeout: NO_TIMEOUT })).rows;
  },
  textOf: numbered,
  translate,
});

/** Server and database of a connection, read as text, so that the caller's type parsers cannot change them. */
interface DatabaseIdentity {
  /** When the server was started: tells two servers apart. */
  server: string;
  database: string;
  name: string;
  /** The oid of the table of runs that the connection's search path finds; null: none. */
  runs: string | null;
}

async function readIdentity(sql: Sql, t: Tables): Promise<DatabaseIdentity> {
  const identity = await first(
    sql.all<DatabaseIdentity>(
      `select cast(extract(epoch from pg_postmaster_start_time()) as text) as server,
              cast(d.oid as text) as database, cast(d.datname as text) as name,
              cast(cast(to_regclass(cast(? as text)) as oid) as text) as runs
         from pg_database d where d.datname = current_database()`,
      t.runs,
    ),
  );
  return identity!;
}

/** Checks the transactions that callers pass to within(): the runs must be inserted into the instance's own tables. */
export class CallerTransactions {
  readonly #t: Tables;
  /** Clients that were checked: a connection never changes its database. */
  readonly #checked = new WeakSet<object>();
  readonly #ownIdentity: OwnIdentity<DatabaseIdentity>;

  constructor(own: Sql, tables: Tables) {
    this.#t = tables;
    this.#ownIdentity = new OwnIdentity(() => readIdentity(own, tables));
  }

  /**
   * Returns an Sql on the caller's transaction: a `Client` with an open one, or the transaction object of Kysely,
   * Drizzle, Knex or Prisma. Throws if it is not on the instance's own database.
   */
  async enter(tx: unknown): Promise<Sql> {
    const entered = await adapters.adapt(tx);
    if (!entered) {
      throw new PunctualError(
        "INVALID_OPTION",
        "within() expected your open transaction on PostgreSQL: a client of pg, or the transaction object of Kysely, Drizzle (node-postgres), Knex or Prisma; " +
          `got ${formatValue(tx)}.`,
      );
    }
    const { sql, connection: client } = entered;
    if (client) await checkInTransaction(client, sql, this.#t);
    if (!client || !this.#checked.has(client)) await this.#checkDatabase(sql);
    if (client) this.#checked.add(client);
    return sql;
  }

  async #checkDatabase(sql: Sql): Promise<void> {
    const theirs = await readIdentity(sql, this.#t);
    const isSame = (own: DatabaseIdentity) =>
      own.server === theirs.server && own.database === theirs.database;
    const own = await this.#ownIdentity.compareWith(isSame);
    if (!isSame(own)) {
      throw new PunctualError(
        "WRONG_DATABASE",
        `within() expected a transaction on the instance's own database ${formatValue(own.name)}, got one on ${formatValue(theirs.name)} ${own.server === theirs.server ? "of the same server" : "of another server"}: workers would not find the runs there. Begin the transaction on the instance's database.`,
      );
    }
    if (theirs.runs === null) {
      throw new PunctualError(
        "NOT_INSTALLED",
        `The transaction passed to within() finds no table ${this.#t.runs}. Call install() before you begin the transaction; if the tables are installed, set the same search_path there or set schema=<name> in Punctual's URL.`,
      );
    }
    if (own.runs !== null && theirs.runs !== own.runs) {
      throw new PunctualError(
        "WRONG_DATABASE",
        `within() expected a transaction that finds the instance's own table ${this.#t.runs}, got one that finds another table of that name. Set the same search_path there, or set schema=<name> in Punctual's URL.`,
      );
    }
  }
}

const NO_ACTIVE_TRANSACTION = "25P01";

async function checkInTransaction(client: PgClient, sql: Sql, t: Tables): Promise<void> {
  const status = client.getTransactionStatus?.();
  if (status === "T") return;
  if (status === "E") {
    throw new PunctualError(
      "NOT_IN_TRANSACTION",
      "within() expected an open transaction, got one in which a statement has failed: PostgreSQL accepts no more statements in it. Roll it back and begin a new one.",
    );
  }
  // Older versions of pg have no getTransactionStatus().
  if (!status && (await canLock(sql, t))) return;
  throw noTransaction();
}

/** Whether `lock table` succeeds: PostgreSQL rejects it outside a transaction. The lock is weaker than the insert's. */
async function canLock(sql: Sql, t: Tables): Promise<boolean> {
  try {
    await sql.run(`lock table ${t.runs} in access share mode`);
    return true;
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: unknown };
    if (code === NO_ACTIVE_TRANSACTION) return false;
    throw error;
  }
}

function noTransaction(): PunctualError {
  return new PunctualError(
    "NOT_IN_TRANSACTION",
    'within() expected an open transaction on the client, but none is open. Run "begin" first and await the dispatch before "commit", or leave within() out.',
  );
}
