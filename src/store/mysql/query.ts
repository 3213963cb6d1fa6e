import { systemClock } from "../../time.ts";
import type { Param, Transaction } from "../sql/database.ts";
import type { MysqlConnection, MysqlField, MysqlHeader, MysqlQuery, MysqlResult } from "./driver.ts";
import { translate } from "./errors.ts";

/** Longest wait for an answer, in milliseconds. No statement of ours runs this long: the connection is dead. */
const ANSWER_TIMEOUT = 60_000;

/** As a timeout: waits however long the answer takes. A migration may wait for locks and rewrite large tables. */
export const NO_TIMEOUT = 0;

/** Most statements that stay prepared on a connection: the server has one limit for all connections together. */
const MAX_PREPARED = 200;

/** Bits of the server status. */
export const IN_TRANSACTION = 1;
export const AUTOCOMMIT = 2;

const ownErrors = new WeakSet<object>();

/** Whether the error is of a statement or connection of ours, not of the caller's code in a shared transaction. */
export function isOwnError(error: unknown): boolean {
  return typeof error === "object" && error !== null && ownErrors.has(error);
}

/** Marks an error of `work` as our own. */
export async function trackErrors<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (typeof error === "object" && error !== null) markOwn(error);
    throw error;
  }
}

export function markOwn<Thrown extends object>(error: Thrown): Thrown {
  ownErrors.add(error);
  return error;
}

/**
 * Sends one statement and returns the answer. The server prepares statements with parameters: escaping them in the
 * driver is unsafe under the mode NO_BACKSLASH_ESCAPES.
 */
export async function query(
  connection: MysqlConnection,
  text: string,
  params: Param[],
  timeout: number = ANSWER_TIMEOUT,
): Promise<MysqlResult> {
  const statement = toQuery(connection, text, params);
  if (params.length > 0) limitPrepared(connection, text);
  const sent = params.length === 0 ? connection.query(statement) : connection.execute(statement);
  const [result, fields] = await trackErrors(timeout === NO_TIMEOUT ? sent : withTimeout(timeout, sent));
  if (Array.isArray(result)) toNumbers(connection, result as Row[], fields);
  return result;
}

/**
 * Sends several statements without parameters in one packet and returns the answer to each. The server stops at the
 * first one that fails.
 */
export async function querySeveral(connection: MysqlConnection, texts: string[]): Promise<MysqlResult[]> {
  const sent = connection.query(toQuery(connection, texts.join("; "), []));
  const [results, fields] = await trackErrors(withTimeout(ANSWER_TIMEOUT, sent));
  for (const [index, result] of (results as MysqlResult[]).entries()) {
    if (Array.isArray(result))
      toNumbers(connection, result as Row[], (fields as unknown as ResultFields[])[index]);
  }
  return results as MysqlResult[];
}

/** Rejects if the answer takes longer. The timeout of mysql2 does not cover preparing a statement. */
function withTimeout<Answer>(ms: number, answer: Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.after(ms, () => {
      const error = new Error(`No answer within ${ms / 1000} s`);
      reject(Object.assign(error, { code: "PROTOCOL_SEQUENCE_TIMEOUT" }));
    });
    answer.then(resolve, reject).finally(cancel);
  });
}

export function rowsOf<Row>(result: MysqlResult): Row[] {
  return Array.isArray(result) ? (result as Row[]) : [];
}

export function headerOf(result: MysqlResult): MysqlHeader {
  return result as MysqlHeader;
}

/** Sets every option that matters with each statement: a caller's pool may have other defaults. */
function toQuery(connection: MysqlConnection, text: string, params: Param[]): MysqlQuery {
  return {
    sql: text,
    values: toValues(text, params),
    rowsAsArray: false,
    nestTables: false,
    namedPlaceholders: false,
    // mysql2 prefers a function in the connection's configuration to a boolean here.
    typeCast: typeof connection.connection.config?.typeCast === "function" ? defaultCast : true,
  };
}

const defaultCast = (_field: unknown, next: () => unknown): unknown => next();

type Row = Record<string, unknown>;
type ResultFields = MysqlField[] | undefined;

const BIGINT = 8;
const DECIMALS = [0, 246];

/** Converts texts to numbers: mysql2 returns decimals (sums) as text, and large integers with `supportBigNumbers`. */
function toNumbers(connection: MysqlConnection, rows: Row[], fields: ResultFields): void {
  const { supportBigNumbers, decimalNumbers } = connection.connection.config ?? {};
  const isText = (type: number | undefined) =>
    type === BIGINT ? supportBigNumbers : DECIMALS.includes(type ?? -1) && !decimalNumbers;
  for (const { name, columnType } of fields ?? []) {
    if (!isText(columnType)) continue;
    for (const row of rows) if (typeof row[name] === "string") row[name] = Number(row[name]);
  }
}

/**
 * Returns the parameters as mysql2 should send them. Older versions of mysql2 send every number as a float, which MySQL
 * rejects as a limit; both servers accept text there. Other numbers must not be text: `id in (?, ?)` with a text among
 * its values makes MariaDB scan the table.
 */
export function toValues(text: string, params: Param[]): unknown[] {
  const positions = limitPositions(text);
  return params.map((param, index) => {
    if (typeof param === "number") return positions.has(index) ? String(param) : param;
    return typeof param === "bigint" ? Number(param) : param;
  });
}

/** Bound of the cache: lists of parameters differ in length, so the number of different texts has no limit. */
const MAX_CACHED_TEXTS = 2000;

const cachedPositions = new Map<string, Set<number>>();

/** Returns the positions of the parameters that follow the word `limit`. */
function limitPositions(text: string): Set<number> {
  let found = cachedPositions.get(text);
  if (!found) {
    found = new Set();
    let index = 0;
    for (const [placeholder] of text.matchAll(/(?:\blimit\s+)?\?/g)) {
      if (placeholder.length > 1) found.add(index);
      index++;
    }
    if (cachedPositions.size > MAX_CACHED_TEXTS) cachedPositions.clear();
    cachedPositions.set(text, found);
  }
  return found;
}

/** Texts that are prepared on each connection, the least recently used first. */
const prepared = new WeakMap<object, Set<string>>();

/**
 * Closes the least recently used prepared statement if a connection has too many. On a caller's connection the limit of
 * mysql2 itself may be higher than the server allows for all connections.
 */
function limitPrepared(connection: MysqlConnection, text: string): void {
  const core = connection.connection;
  let texts = prepared.get(core);
  if (!texts) {
    texts = new Set();
    prepared.set(core, texts);
  }
  texts.delete(text);
  texts.add(text);
  if (texts.size <= MAX_PREPARED) return;
  const [oldest] = texts;
  texts.delete(oldest!);
  connection.unprepare({ sql: oldest!, nestTables: false, rowsAsArray: false });
}

/** Returns an object that looks like a transaction, but sends each statement by itself and without a timeout. */
export function sqlOn(connection: MysqlConnection): Transaction {
  const send = (text: string, params: Param[]) => query(connection, text, params, NO_TIMEOUT);
  return {
    handle: connection,
    again: false,
    all: async <Row>(text: string, ...params: Param[]) => rowsOf<Row>(await send(text, params)),
    run: async (text, ...params) => void (await send(text, params)),
  };
}

/** Translates errors of our own statements; an error that a caller's code threw stays unchanged. */
export function translateOwn(error: unknown): unknown {
  return isOwnError(error) ? translate(error) : error;
}
