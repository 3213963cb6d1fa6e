import { PunctualError } from "../../errors.ts";
import type { Param, Sql } from "../sql/database.ts";
import { withNumbers } from "./numbers.ts";

/** What the adapters must know of a database's driver. */
export interface Driver<Connection> {
  /** For the sentence that refuses a pool, and the one that refuses another driver below Knex. */
  words: { poolRefused: string; knexRefused: string };
  isPool(value: unknown): boolean;
  /** A connection of the driver; null: it is none. */
  asConnection(value: unknown): Connection | null;
  /** Straight to the connection. It is the caller's: how long statements wait is theirs to say. */
  send(connection: Connection, text: string, params: Param[]): Promise<unknown[]>;
  /** A text with the placeholders that the server reads. */
  textOf(text: string): string;
  translate(error: unknown): unknown;
}

/** A transaction of the caller's, as statements go through it. */
export interface Entered<Connection> {
  sql: Sql;
  /** The connection below, where it can be reached. */
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

/** Turns transactions of drivers and query builders into statements. */
export class Adapters<Connection> {
  readonly #driver: Driver<Connection>;

  constructor(driver: Driver<Connection>) {
    this.#driver = driver;
  }

  /** Each is told by its shape: none of these packages is loaded here, and the caller's may be of any version. Null: none of them. */
  async adapt(tx: unknown): Promise<Entered<Connection> | null> {
    if ((typeof tx !== "object" && typeof tx !== "function") || tx === null) return null;
    return (
      this.#fromDriver(tx) ??
      this.#fromKysely(tx) ??
      this.#fromDrizzle(tx) ??
      (await this.#fromKnex(tx)) ??
      this.#fromPrisma(tx)
    );
  }

  #fromDriver(handle: object): Entered<Connection> | null {
    if (this.#driver.isPool(handle)) {
      throw new PunctualError("INVALID_OPTION", this.#driver.words.poolRefused);
    }
    return this.#onConnection(this.#driver.asConnection(handle));
  }

  #fromKysely(handle: object): Entered<Connection> | null {
    const given = handle as Kysely;
    if (typeof given.executeQuery !== "function" || typeof given.isTransaction !== "boolean") return null;
    if (!given.isTransaction) throw notInTransaction("Kysely", "db.transaction().execute((tx) => …)");
    // A plugin may give columns other names.
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

  #fromDrizzle(handle: object): Entered<Connection> | null {
    const { session, execute } = handle as { session?: { client?: unknown }; execute?: unknown };
    if (typeof execute !== "function" || typeof session !== "object") return null;
    if (this.#driver.isPool(session?.client)) {
      throw notInTransaction("Drizzle", "db.transaction(async (tx) => …)");
    }
    return this.#onConnection(this.#driver.asConnection(session?.client));
  }

  async #fromKnex(handle: object): Promise<Entered<Connection> | null> {
    const trx = handle as Knex;
    if (typeof trx.raw !== "function" || typeof trx.client?.acquireConnection !== "function") return null;
    if (!trx.isTransaction) throw notInTransaction("Knex", "knex.transaction(async (trx) => …)");
    if (trx.isCompleted?.()) {
      throw new PunctualError(
        "NOT_IN_TRANSACTION",
        "within() expected an open transaction of Knex, got one that has ended. Dispatch before it commits.",
      );
    }
    // Always the same one inside a transaction, and not to be given back. Below Knex, so that nothing renames columns.
    const connection = this.#driver.asConnection(await trx.client.acquireConnection());
    if (connection === null) throw new PunctualError("INVALID_OPTION", this.#driver.words.knexRefused);
    return this.#onConnection(connection);
  }

  #fromPrisma(handle: object): Entered<Connection> | null {
    const prisma = handle as Prisma;
    if (typeof prisma.$queryRawUnsafe !== "function") return null;
    // The transaction begins others since version 7, and connects in none.
    if (typeof prisma.$connect === "function") {
      throw notInTransaction("Prisma", "prisma.$transaction(async (tx) => …)");
    }
    const { textOf } = this.#driver;
    const sql = this.#toSql(
      async (text, params) => withNumbers(await plainly(prisma.$queryRawUnsafe(textOf(text), ...params))),
      (text, params) => plainly(prisma.$executeRawUnsafe(textOf(text), ...params)),
    );
    return { connection: null, sql };
  }

  #onConnection(connection: Connection | null): Entered<Connection> | null {
    if (connection === null) return null;
    const sql = this.#toSql((text, params) => this.#driver.send(connection, text, params));
    return { connection, sql };
  }

  #toSql(
    rows: (text: string, params: Param[]) => Promise<unknown[]>,
    run: (text: string, params: Param[]) => Promise<unknown> = rows,
  ): Sql {
    const inOurWords = async <Result>(work: Promise<Result>) => {
      try {
        return await work;
      } catch (error) {
        throw this.#driver.translate(error);
      }
    };
    return {
      all: async <Row>(text: string, ...params: Param[]) => (await inOurWords(rows(text, params))) as Row[],
      run: async (text, ...params) => {
        await inOurWords(run(text, params));
      },
    };
  }
}

interface PrismaError {
  meta?: { driverAdapterError?: { cause?: { originalCode?: string; originalMessage?: string } } };
}

/** What the server said is deep inside of what Prisma throws, from version 7 on. */
async function plainly<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    const said = (error as PrismaError | null)?.meta?.driverAdapterError?.cause;
    if (said?.originalCode === undefined) throw error;
    const plain = new Error(said.originalMessage, { cause: error });
    throw Object.assign(plain, { code: said.originalCode, errno: Number(said.originalCode) });
  }
}

function notInTransaction(library: string, how: string): PunctualError {
  return new PunctualError(
    "NOT_IN_TRANSACTION",
    `within() expected the transaction of ${library}, got the instance that begins one. Write ${how} and give within() what the function gets.`,
  );
}
