import { systemClock } from "../../time.ts";
import type { Param, Transaction } from "../sql/database.ts";
import type { MysqlConnection, MysqlField, MysqlHeader, MysqlQuery, MysqlResult } from "./driver.ts";

/** A connection that has not answered for this long is taken for dead: no statement of ours runs so long. */
const ANSWER_WITHIN = 60_000;

/** Installing waits for whoever uses the tables, and may have much to rewrite. */
export const HOWEVER_LONG = 0;

/** So many prepared statements of ours stay on a connection; the server has a bound for all connections together. */
export const PREPARED = 200;

/** Flags of the server's state. */
export const IN_TRANSACTION = 1;
export const AUTOCOMMIT = 2;

const faults = new WeakSet<object>();

/** Whether this error came from a statement or a connection of ours, not from what a caller did beside it. */
export function isOurs(error: unknown): boolean {
  return typeof error === "object" && error !== null && faults.has(error);
}

/** Remembers the errors of a connection as ours. */
export async function ours<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (typeof error === "object" && error !== null) faults.add(error);
    throw error;
  }
}

/** A statement with parameters is prepared by the server: what the driver escapes by itself is unsafe under some modes. */
export async function query(
  connection: MysqlConnection,
  text: string,
  params: Param[],
  within: number = ANSWER_WITHIN,
): Promise<MysqlResult> {
  const statement = toQuery(connection, text, params);
  if (params.length > 0) forgetOldest(connection, text);
  const sent = params.length === 0 ? connection.query(statement) : connection.execute(statement);
  const [result, fields] = await ours(within === HOWEVER_LONG ? sent : answeredWithin(within, sent));
  if (Array.isArray(result)) toNumbers(connection, result as Row[], fields);
  return result;
}

/** Several statements in one packet, none of them with parameters, and the answer to each. The first that fails is the last. */
export async function querySeveral(connection: MysqlConnection, texts: string[]): Promise<MysqlResult[]> {
  const sent = connection.query(toQuery(connection, texts.join("; "), []));
  const [results, fields] = await ours(answeredWithin(ANSWER_WITHIN, sent));
  for (const [index, result] of (results as MysqlResult[]).entries()) {
    if (Array.isArray(result)) toNumbers(connection, result as Row[], (fields as unknown as Fields[])[index]);
  }
  return results as MysqlResult[];
}

/** The driver's own timeout does not cover the preparing of a statement. */
function answeredWithin<Answer>(ms: number, answer: Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.after(ms, () => {
      const error = new Error(`No answer for ${ms / 1000} s`);
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

/** All of it said with each statement: a pool of the caller's may have been set up otherwise. */
function toQuery(connection: MysqlConnection, text: string, params: Param[]): MysqlQuery {
  return {
    sql: text,
    values: toValues(text, params),
    rowsAsArray: false,
    nestTables: false,
    namedPlaceholders: false,
    // Only a function is heard over one of theirs.
    typeCast: typeof connection.connection.config?.typeCast === "function" ? asItIs : true,
  };
}

const asItIs = (_field: unknown, next: () => unknown): unknown => next();

type Row = Record<string, unknown>;
type Fields = MysqlField[] | undefined;

const BIGINT = 8;
const DECIMALS = [0, 246];

/** Sums are decimals, and these come as text unless the connection was set up otherwise; so do big numbers of some. */
function toNumbers(connection: MysqlConnection, rows: Row[], fields: Fields): void {
  const { supportBigNumbers, decimalNumbers } = connection.connection.config ?? {};
  const isText = (type: number | undefined) =>
    type === BIGINT ? supportBigNumbers : DECIMALS.includes(type ?? -1) && !decimalNumbers;
  for (const { name, columnType } of fields ?? []) {
    if (!isText(columnType)) continue;
    for (const row of rows) if (typeof row[name] === "string") row[name] = Number(row[name]);
  }
}

/**
 * Older versions of mysql2 send every number as a float, which MySQL refuses as a limit. As text it is taken there by
 * both servers; elsewhere not: MariaDB reads through the table for `id in (?, ?)` with a text among them.
 */
export function toValues(text: string, params: Param[]): unknown[] {
  const limits = limitsIn(text);
  return params.map((param, index) => {
    if (typeof param === "number") return limits.has(index) ? String(param) : param;
    return typeof param === "bigint" ? Number(param) : param;
  });
}

const known = new Map<string, Set<number>>();

function limitsIn(text: string): Set<number> {
  let found = known.get(text);
  if (!found) {
    found = new Set();
    let index = 0;
    for (const [mark] of text.matchAll(/(?:\blimit\s+)?\?/g)) {
      if (mark.length > 1) found.add(index);
      index++;
    }
    if (known.size > 2000) known.clear();
    known.set(text, found);
  }
  return found;
}

const prepared = new WeakMap<object, Set<string>>();

/** The driver's own bound for a connection of the caller's may be beyond the server's for all of them. */
function forgetOldest(connection: MysqlConnection, text: string): void {
  const core = connection.connection;
  let texts = prepared.get(core);
  if (!texts) {
    texts = new Set();
    prepared.set(core, texts);
  }
  texts.delete(text);
  texts.add(text);
  if (texts.size <= PREPARED) return;
  const [oldest] = texts;
  texts.delete(oldest!);
  connection.unprepare({ sql: oldest!, nestTables: false, rowsAsArray: false });
}

/** Statements that are no transaction together, however long each takes. */
export function sqlOn(connection: MysqlConnection): Transaction {
  const send = (text: string, params: Param[]) => query(connection, text, params, HOWEVER_LONG);
  return {
    handle: connection,
    again: false,
    all: async <Row>(text: string, ...params: Param[]) => rowsOf<Row>(await send(text, params)),
    run: async (text, ...params) => void (await send(text, params)),
  };
}
