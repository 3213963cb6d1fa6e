import { PunctualError } from "../../errors.ts";
import type { Param, Sql } from "../sql/database.ts";

/** Part of a database's driver that the adapters need. */
export interface Driver<Connection> {
  /** Error messages for a pool, and for a Knex on another driver. */
  messages: { poolRefused: string; knexRefused: string };
  isPool(value: unknown): boolean;
  /** Returns the value if it is a connection of the driver, else null. */
  asConnection(value: unknown): Connection | null;
  /** Sends a statement on a caller's connection. Timeouts are the caller's to set. */
  send(connection: Connection, text: string, params: Param[]): Promise<unknown[]>;
  /** Returns the text with the placeholders of the server. */
  textOf(text: string): string;
  translate(error: unknown): unknown;
}

/** A transaction of the caller's. */
export interface CallerTransaction<Connection> {
  /** Sends statements through the caller's library. */
  sql: Sql;
  /** The library's connection; null: the library does not expose it. */
  connection: Connection | null;
}

interface Kysely {
  isTransaction: boolean;
  executeQuery(query: unknown): Promise<{ rows: unknown[] }>;
  withoutPlugins?(): Kysely;
}

interface Knex {
  raw: unknown;
  isTransaction?: boolean;
  isCompleted?(): boolean;
  client: { acquireConnection(): Promise<unknown> };
}

interface Prisma {
  $queryRawUnsafe(text: string, ...params: Param[]): Promise<unknown[]>;
  $executeRawUnsafe(text: string, ...params: Param[]): Promise<number>;
  $connect?: unknown;
}

/** Recognises the transaction objects of drivers and query builders, and sends statements through them. */
export class Adapters<Connection> {
  readonly #driver: Driver<Connection>;

  constructor(driver: Driver<Connection>) {
    this.#driver = driver;
  }

  /**
   * Returns null if the object is of none of these libraries. Each library is recognised by the shape of its object:
   * none is loaded here, and the caller may have any version.
   */
  async adapt(tx: unknown): Promise<CallerTransaction<Connection> | null> {
    if ((typeof tx !== "object" && typeof tx !== "function") || tx === null) return null;
    return (
      this.#fromDriver(tx) ??
      this.#fromKysely(tx) ??
      this.#fromDrizzle(tx) ??
      (await this.#fromKnex(tx)) ??
      this.#fromPrisma(tx)
    );
  }

  #fromDriver(handle: object): CallerTransaction<Connection> | null {
    if (this.#driver.isPool(handle)) {
      throw new PunctualError("INVALID_OPTION", this.#driver.messages.poolRefused);
    }
    return this.#onConnection(this.#driver.asConnection(handle));
  }

  #fromKysely(handle: object): CallerTransaction<Connection> | null {
    const given = handle as Kysely;
    if (typeof given.executeQuery !== "function" || typeof given.isTransaction !== "boolean") return null;
    if (!given.isTransaction) throw notInTransaction("Kysely", "db.transaction().execute((tx) => …)");
    // A plugin may rename columns.
    const tx = given.withoutPlugins?.() ?? given;
    const sql = this.#toSql(async (text, params) => {
      const compiled = {
        sql: this.#driver.textOf(text),
        parameters: params,
        query: { kind: "RawNode", sqlFragments: [text], parameters: [] },
        queryId: { queryId: "punctual" },
      };
      return withNumbers((await tx.executeQuery(compiled)).rows);
    });
    return { connection: null, sql };
  }

  #fromDrizzle(handle: object): CallerTransaction<Connection> | null {
    const { session, execute } = handle as { session?: { client?: unknown }; execute?: unknown };
    if (typeof execute !== "function" || typeof session !== "object") return null;
    if (this.#driver.isPool(session?.client)) {
      throw notInTransaction("Drizzle", "db.transaction(async (tx) => …)");
    }
    return this.#onConnection(this.#driver.asConnection(session?.client));
  }

  async #fromKnex(handle: object): Promise<CallerTransaction<Connection> | null> {
    const trx = handle as Knex;
    if (typeof trx.raw !== "function" || typeof trx.client?.acquireConnection !== "function") return null;
    if (!trx.isTransaction) throw notInTransaction("Knex", "knex.transaction(async (trx) => …)");
    if (trx.isCompleted?.()) {
      throw new PunctualError(
        "NOT_IN_TRANSACTION",
        "within() expected an open Knex transaction, got one that has ended. Dispatch before it commits.",
      );
    }
    // In a transaction, Knex returns the same connection each time, and it need not be released. Statements bypass
    // Knex, whose hooks may rename columns.
    const connection = this.#driver.asConnection(await trx.client.acquireConnection());
    if (connection === null) throw new PunctualError("INVALID_OPTION", this.#driver.messages.knexRefused);
    return this.#onConnection(connection);
  }

  #fromPrisma(handle: object): CallerTransaction<Connection> | null {
    const prisma = handle as Prisma;
    if (typeof prisma.$queryRawUnsafe !== "function") return null;
    // Only the client has $connect. From version 7 on, a transaction has $transaction as well.
    if (typeof prisma.$connect === "function") {
      throw notInTransaction("Prisma", "prisma.$transaction(async (tx) => …)");
    }
    const { textOf } = this.#driver;
    const sql = this.#toSql(
      async (text, params) =>
        withNumbers(await unwrapErrors(prisma.$queryRawUnsafe(textOf(text), ...params))),
      (text, params) => unwrapErrors(prisma.$executeRawUnsafe(textOf(text), ...params)),
    );
    return { connection: null, sql };
  }

  #onConnection(connection: Connection | null): CallerTransaction<Connection> | null {
    if (connection === null) return null;
    const sql = this.#toSql((text, params) => this.#driver.send(connection, text, params));
    return { connection, sql };
  }

  #toSql(
    rows: (text: string, params: Param[]) => Promise<unknown[]>,
    run: (text: string, params: Param[]) => Promise<unknown> = rows,
  ): Sql {
    const translated = async <Result>(work: Promise<Result>) => {
      try {
        return await work;
      } catch (error) {
        throw this.#driver.translate(error);
      }
    };
    return {
      all: async <Row>(text: string, ...params: Param[]) => (await translated(rows(text, params))) as Row[],
      run: async (text, ...params) => {
        await translated(run(text, params));
      },
    };
  }
}

interface PrismaError {
  meta?: { driverAdapterError?: { cause?: { originalCode?: string; originalMessage?: string } } };
}

/** Throws the server's own error: from version 7 on, Prisma nests it deeply in its error. */
async function unwrapErrors<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    const cause = (error as PrismaError | null)?.meta?.driverAdapterError?.cause;
    if (cause?.originalCode === undefined) throw error;
    const plain = new Error(cause.originalMessage, { cause: error });
    throw Object.assign(plain, { code: cause.originalCode, errno: Number(cause.originalCode) });
  }
}

function notInTransaction(library: string, how: string): PunctualError {
  return new PunctualError(
    "NOT_IN_TRANSACTION",
    `within() expected a ${library} transaction, got the ${library} instance that begins one. Write ${how} and pass within() the argument of that function.`,
  );
}

/** Every column of ours that is a number, and every alias that a statement gives to a number. */
const NUMBERS = new Set([
  ..."id limited priority run_at state attempts crashes uncounted suspect timeout locked_until started_at cancelled_at".split(
    " ",
  ),
  ..."schedule tick_at unique_scope unique_until parent_id rerun_of expires_at created_at".split(" "),
  ..."finished_at keep_until run_id attempt lim key_lim defined_at paused_at paused_until last_run".split(
    " ",
  ),
  ..."fail_count last_failure seen_at last_tick next_tick resumed_at missed pid parallel settle_seq minute".split(
    " ",
  ),
  ..."dispatched completed retried failed skipped cancelled snoozed released crashed busy".split(" "),
  ..."grain scope measure bucket total muted_at muted_until turn".split(" "),
  ..."batch cancels sealed_at failed_at retried_at added empty_at".split(" "),
  ..."stream seq number applied_at compatible_from nonce now n found position at logged".split(" "),
]);

/** Converts texts and bigints to numbers: a library of the caller's may return large numbers as either. */
export function withNumbers(rows: unknown[]): unknown[] {
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row as object).map(([column, value]) => [column, asNumber(column, value)]),
    ),
  );
}

function asNumber(column: string, value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  return typeof value === "string" && NUMBERS.has(column) ? Number(value) : value;
}

/** Whether a column is in `NUMBERS`. A test compares the list with the schema. */
export function isNumber(column: string): boolean {
  return NUMBERS.has(column);
}

/** The identity of the instance's own database, to compare with that of a caller's transaction. */
export class OwnIdentity<Identity> {
  readonly #read: () => Promise<Identity>;
  #reading: Promise<Identity> | null = null;

  constructor(read: () => Promise<Identity>) {
    this.#read = read;
  }

  /**
   * Returns the identity. Reads it once more if the known one is not the same: install() may have run, or the server
   * may have been restarted, since it was read.
   */
  async compareWith(isSame: (own: Identity) => boolean): Promise<Identity> {
    this.#reading ??= this.#begin();
    if (!isSame(await this.#reading)) this.#reading = this.#begin();
    return this.#reading;
  }

  /** Begins to read. If that fails, the next call reads again. */
  #begin(): Promise<Identity> {
    const reading = this.#read();
    reading.catch(() => {
      this.#reading = null;
    });
    return reading;
  }
}
