import { PunctualError } from "../../errors.ts";
import { withNumbers } from "../server/numbers.ts";
import type { Param, Sql } from "../sql/database.ts";
import type { PgClient } from "./driver.ts";
import { isClient, isPool } from "./handle.ts";
import { numbered } from "./placeholders.ts";
import { query } from "./query.ts";

/** A transaction of the caller's, as statements go through it. */
export interface Entered {
  sql: Sql;
  /** The connection below, where it can be reached. */
  client: PgClient | null;
}

/** Turns a handle into statements; null: it is none of this kind. */
type Adapter = (handle: object) => Entered | Promise<Entered> | null;

/** Each is told by its shape: none of these packages is loaded here, and the caller's may be of any version. */
const ADAPTERS: Adapter[] = [fromPg, fromKysely, fromDrizzle, fromKnex, fromPrisma];

export async function adapt(tx: unknown): Promise<Entered | null> {
  if ((typeof tx !== "object" && typeof tx !== "function") || tx === null) return null;
  for (const adapter of ADAPTERS) {
    const entered = await adapter(tx);
    if (entered) return entered;
  }
  return null;
}

/** Statements go straight to the connection. It is the caller's: how long they wait is theirs to say. */
function onClient(client: PgClient): Entered {
  const rows = async (text: string, params: Param[]) => {
    // A dispatch that nobody waited for must not be carried out after the end.
    if (client.getTransactionStatus?.() === "I") throw noneOpen();
    return (await query(client, text, params, 0)).rows;
  };
  return { client, sql: toSql(rows) };
}

export function noneOpen(): PunctualError {
  return new PunctualError(
    "NOT_IN_TRANSACTION",
    'within() expected an open transaction on the client, but there is none. Run "begin" first and await the dispatch before "commit", or leave within() out.',
  );
}

function toSql(rows: (text: string, params: Param[]) => Promise<unknown[]>): Sql {
  return {
    all: async <Row>(text: string, ...params: Param[]) => (await rows(text, params)) as Row[],
    run: async (text, ...params) => {
      await rows(text, params);
    },
  };
}

function fromPg(handle: object): Entered | null {
  if (isPool(handle)) {
    throw new PunctualError(
      "INVALID_OPTION",
      "within() expected the client on which your transaction is open, got a Pool: each of its queries may go to another connection. Take a client with pool.connect() and begin there.",
    );
  }
  return isClient(handle) ? onClient(handle as PgClient) : null;
}

interface Kysely {
  isTransaction: boolean;
  executeQuery(query: unknown): Promise<{ rows: unknown[] }>;
  withoutPlugins?(): Kysely;
}

function fromKysely(handle: object): Entered | null {
  const given = handle as Kysely;
  if (typeof given.executeQuery !== "function" || typeof given.isTransaction !== "boolean") return null;
  if (!given.isTransaction) throw notInTransaction("Kysely", "db.transaction().execute((tx) => …)");
  // A plugin may give columns other names.
  const tx = given.withoutPlugins?.() ?? given;
  const sql = toSql(async (text, params) => {
    const compiled = {
      sql: numbered(text),
      parameters: params,
      query: { kind: "RawNode", sqlFragments: [text], parameters: [] },
      queryId: { queryId: "punctual" },
    };
    return withNumbers((await tx.executeQuery(compiled)).rows);
  });
  return { client: null, sql };
}

function fromDrizzle(handle: object): Entered | null {
  const { session, execute } = handle as { session?: { client?: unknown }; execute?: unknown };
  if (typeof execute !== "function" || typeof session !== "object") return null;
  if (isPool(session?.client)) throw notInTransaction("Drizzle", "db.transaction(async (tx) => …)");
  return isClient(session?.client) ? onClient(session!.client as PgClient) : null;
}

interface Knex {
  raw: unknown;
  isTransaction?: boolean;
  isCompleted?(): boolean;
  client: { acquireConnection(): Promise<unknown> };
}

async function knexClient(trx: Knex): Promise<Entered> {
  if (trx.isCompleted?.()) {
    throw new PunctualError(
      "NOT_IN_TRANSACTION",
      "within() expected an open transaction of Knex, got one that has ended. Dispatch before it commits.",
    );
  }
  // Always the same one inside a transaction, and not to be given back. Below Knex, so that nothing renames columns.
  const connection = await trx.client.acquireConnection();
  if (isClient(connection)) return onClient(connection as PgClient);
  throw new PunctualError(
    "INVALID_OPTION",
    'within() expected a Knex transaction on PostgreSQL with the client "pg", got one on something else.',
  );
}

function fromKnex(handle: object): Promise<Entered> | null {
  const knex = handle as Knex;
  if (typeof knex.raw !== "function" || typeof knex.client?.acquireConnection !== "function") return null;
  if (!knex.isTransaction) throw notInTransaction("Knex", "knex.transaction(async (trx) => …)");
  return knexClient(knex);
}

interface Prisma {
  $queryRawUnsafe(text: string, ...params: Param[]): Promise<unknown[]>;
  $transaction?: unknown;
}

function fromPrisma(handle: object): Entered | null {
  const prisma = handle as Prisma;
  if (typeof prisma.$queryRawUnsafe !== "function") return null;
  if (typeof prisma.$transaction === "function") {
    throw notInTransaction("Prisma", "prisma.$transaction(async (tx) => …)");
  }
  const sql = toSql(async (text, params) =>
    withNumbers(await prisma.$queryRawUnsafe(numbered(text), ...params)),
  );
  return { client: null, sql };
}

function notInTransaction(library: string, how: string): PunctualError {
  return new PunctualError(
    "NOT_IN_TRANSACTION",
    `within() expected the transaction of ${library}, got the instance that begins one. Write ${how} and give within() what the function gets.`,
  );
}
