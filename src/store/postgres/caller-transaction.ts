import { PunctualError, show } from "../../errors.ts";
import { Adapters } from "../server/adapters.ts";
import { first, type Sql, type Tables } from "../sql/database.ts";
import { isClient, isPool, type PgClient } from "./driver.ts";
import { translate } from "./errors.ts";
import { numbered, query } from "./query.ts";

interface Place {
  /** As text, so that nobody's parsers have a say. */
  server: string;
  database: string;
  name: string;
  runs: string | null;
}

/** Lets through transactions on our own database, and refuses what would put the runs anywhere else. */
export class Callers {
  readonly #own: Sql;
  readonly #t: Tables;
  /** A connection stays where it is. */
  readonly #known = new WeakSet<object>();
  #home: Promise<Place> | null = null;

  constructor(own: Sql, tables: Tables) {
    this.#own = own;
    this.#t = tables;
  }

  /** A `Client` with an open transaction, or the transaction object of Kysely, Drizzle, Knex or Prisma. */
  async enter(tx: unknown): Promise<Sql> {
    const entered = await adapters.adapt(tx);
    if (!entered) {
      throw new PunctualError(
        "INVALID_OPTION",
        "within() expected your open transaction on PostgreSQL: a client of pg, or what Kysely, Drizzle (node-postgres), Knex or Prisma give to the function of a transaction; " +
          `got ${show(tx)}.`,
      );
    }
    const { sql, connection: client } = entered;
    if (client) await refuseUnlessInTransaction(client, sql, this.#t);
    if (!client || !this.#known.has(client)) await this.#refuseElsewhere(sql);
    if (client) this.#known.add(client);
    return sql;
  }

  /** What failed is asked again the next time. */
  #askHome(): Promise<Place> {
    const asking = placeOf(this.#own, this.#t);
    asking.catch(() => {
      this.#home = null;
    });
    return asking;
  }

  async #refuseElsewhere(sql: Sql): Promise<void> {
    const theirs = await placeOf(sql, this.#t);
    this.#home ??= this.#askHome();
    const isHome = (home: Place) => home.server === theirs.server && home.database === theirs.database;
    // Asked once more before it is refused: the server may have been started anew since.
    if (!isHome(await this.#home)) this.#home = this.#askHome();
    const home = await this.#home;
    if (!isHome(home)) {
      throw new PunctualError(
        "WRONG_DATABASE",
        `within() expected a transaction on the instance's own database ${show(home.name)}, got one on ${show(theirs.name)} ${home.server === theirs.server ? "of the same server" : "of another server"}: the runs would not be found there.`,
      );
    }
    if (theirs.runs === null) {
      throw new PunctualError(
        "NOT_INSTALLED",
        `The transaction given to within() sees no table ${this.#t.runs}. Call install() before you begin it, and have the same search_path there or name a schema in Punctual's URL.`,
      );
    }
    if (home.runs !== null && theirs.runs !== home.runs) {
      throw new PunctualError(
        "WRONG_DATABASE",
        `within() expected a transaction that sees the instance's own ${this.#t.runs}, got one that sees another table of that name. Have the same search_path there, or name a schema in Punctual's URL.`,
      );
    }
  }
}

/** The start of a server tells it from every other; the number of the table, which of several of one name is meant. */
async function placeOf(sql: Sql, t: Tables): Promise<Place> {
  const place = await first(
    sql.all<Place>(
      `select cast(extract(epoch from pg_postmaster_start_time()) as text) as server,
              cast(d.oid as text) as database, cast(d.datname as text) as name,
              cast(cast(to_regclass(cast(? as text)) as oid) as text) as runs
         from pg_database d where d.datname = current_database()`,
      t.runs,
    ),
  );
  return place!;
}

const NO_TRANSACTION = "25P01";

async function refuseUnlessInTransaction(client: PgClient, sql: Sql, t: Tables): Promise<void> {
  const status = client.getTransactionStatus?.();
  if (status === "T") return;
  if (status === "E") {
    throw new PunctualError(
      "NOT_IN_TRANSACTION",
      "within() expected an open transaction, but a statement in this one has failed and PostgreSQL takes no more of them. Roll it back and begin anew.",
    );
  }
  // An older pg does not know; this statement is refused outside a transaction, and inside it asks for less than the insert.
  if (!status && (await canLock(sql, t))) return;
  throw noneOpen();
}

async function canLock(sql: Sql, t: Tables): Promise<boolean> {
  try {
    await sql.run(`lock table ${t.runs} in access share mode`);
    return true;
  } catch (error) {
    if (((error as Error).cause as { code?: unknown } | undefined)?.code === NO_TRANSACTION) return false;
    throw error;
  }
}

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
