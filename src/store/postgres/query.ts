import { createHash } from "node:crypto";
import type { Param } from "../sql/database.ts";
import { TextCache } from "../sql/text-cache.ts";
import type { PgClient, PgResult, PgStream } from "./driver.ts";
import { isStalePlan, translate } from "./errors.ts";

const BOOL = 16;
/** int8, int2, int4, oid, float4, float8, numeric. Every number that Punctual stores is a safe integer. */
const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700]);

const asText = (text: string): unknown => text;

/** Type parsers, passed with each query: a caller's pool may have others, which return an int8 as text, say. */
const types = {
  getTypeParser(oid: number): (text: string) => unknown {
    if (NUMBERS.has(oid)) return Number;
    return oid === BOOL ? (text) => text === "t" : asText;
  },
};

/** Longest wait for an answer, in milliseconds. No statement of ours runs this long: the connection is dead. */
const ANSWER_TIMEOUT = 60_000;

/** As `QueryOptions.timeout`: waits for the answer however long it takes. */
export const NO_TIMEOUT = 0;

export interface QueryOptions {
  /** Longest wait for the answer, in milliseconds. Default: one minute. */
  timeout?: number | undefined;
  /** Names under which statements that are sent often are prepared; absent: the statement is not prepared. */
  names?: StatementNames | undefined;
}

/** Sends one statement, with `?` for its parameters, and returns the answer. Throws a translated error. */
export async function query(
  client: PgClient,
  text: string,
  params: Param[],
  { timeout = ANSWER_TIMEOUT, names }: QueryOptions = {},
): Promise<PgResult> {
  const name = names?.nameOf(text);
  try {
    return await client.query({
      text: params.length > 0 ? numbered(text) : text,
      ...(name !== undefined && { name }),
      ...(params.length > 0 && { values: params }),
      types,
      query_timeout: timeout,
    });
  } catch (error) {
    if (isStalePlan(error)) names?.renew(text);
    throw translate(error);
  }
}

const gathering = new WeakSet<PgStream>();

/**
 * Lets the statements that a turn sends on a pipelined connection leave in one packet: each write is a system call,
 * which wakes the server's process for a part of the transaction (note 38). A single statement leaves sooner without
 * it.
 */
export function gather({ pipeline, connection }: PgClient): void {
  const stream = connection?.stream;
  if (!pipeline || !stream?.cork || gathering.has(stream)) return;
  gathering.add(stream);
  stream.cork();
  process.nextTick(() => {
    gathering.delete(stream);
    stream.uncork?.();
  });
}

const BACKSLASH = "\\";

/** Returns a value as SQL text, for `execute`, which takes no parameters. No name or JSON text of ours has a NUL. */
export function literal(value: Param): string {
  if (typeof value !== "string") return String(value);
  const quoted = `'${value.replaceAll("'", "''")}'`;
  // In E'' a backslash is doubled, whatever the session's standard_conforming_strings is.
  return value.includes(BACKSLASH) ? `E${quoted.replaceAll(BACKSLASH, BACKSLASH + BACKSLASH)}` : quoted;
}

/** A placeholder, or a token in which `?` is no placeholder: a literal, a quoted name, a comment, a dollar quote. */
const QUOTED_OR_PLACEHOLDER =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([a-z_]*)\$[\s\S]*?\$\1\$|\?/gi;

const numberedTexts = new TextCache();

/** Returns the text with `$1`, `$2`, … instead of `?`: PostgreSQL only knows the numbered form. */
export function numbered(text: string): string {
  return numberedTexts.get(text, () => {
    let count = 0;
    return text.replace(QUOTED_OR_PLACEHOLDER, (token) => (token === "?" ? `$${++count}` : token));
  });
}

/** Most statements that stay prepared on a connection: pg never deallocates one. */
const MAX_PREPARED = 200;

/** A text is prepared when it is sent for the third time: one with a long parameter list may never be sent again. */
const PREPARE_AT = 3;

/**
 * Names under which statements stay prepared. Planning takes most of the time of a small statement; a prepared
 * statement is planned once. The name is a hash of the text: behind a pooler that moves us between sessions, a name can
 * never mean another statement.
 */
export class StatementNames {
  /** For each text its name, or how often it was sent before it got one. */
  readonly #texts = new Map<string, number | string>();
  readonly #versions = new Map<string, number>();
  #named = 0;
  #isOff = false;
  #canExecute = true;

  nameOf(text: string): string | undefined {
    if (this.#isOff) return undefined;
    const known = this.#texts.get(text) ?? 0;
    if (typeof known === "string") return known;
    if (known + 1 < PREPARE_AT || this.#named >= MAX_PREPARED) {
      if (this.#texts.size < 10 * MAX_PREPARED) this.#texts.set(text, known + 1);
      return undefined;
    }
    this.#named++;
    return this.#name(text, 0);
  }

  /**
   * Returns the SQL statement that executes a text which is prepared on this connection. Undefined: it is not, or a
   * pooler gives statements other names than ours.
   */
  execution(client: PgClient, text: string, params: Param[]): string | undefined {
    const name = this.#canExecute ? this.nameOf(text) : undefined;
    if (name === undefined || client.connection?.parsedStatements?.[name] === undefined) return undefined;
    return `execute ${name} (${params.map(literal).join(", ")})`;
  }

  stopExecuting(): void {
    this.#canExecute = false;
  }

  /** Gives the statement a new name, so that each session prepares it again. */
  renew(text: string): void {
    if (typeof this.#texts.get(text) === "string") this.#name(text, (this.#versions.get(text) ?? 0) + 1);
  }

  /** Stops preparing: a pooler runs each transaction in another session, which has none of our statements. */
  stop(): void {
    this.#isOff = true;
  }

  #name(text: string, version: number): string {
    const hash = createHash("sha256").update(version === 0 ? text : `${version} ${text}`);
    const name = `punctual_${hash.digest("hex").slice(0, 32)}`;
    this.#texts.set(text, name);
    if (version > 0) this.#versions.set(text, version);
    return name;
  }
}
