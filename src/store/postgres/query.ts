import { createHash } from "node:crypto";
import type { Param } from "../sql/database.ts";
import type { PgClient, PgResult } from "./driver.ts";
import { isStale, translate } from "./errors.ts";

const BOOL = 16;
/** int8, int2, int4, oid, float4, float8, numeric. None of ours is beyond what a number holds exactly. */
const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700]);

const asText = (text: string): unknown => text;

/**
 * Given with each query, for the parsers of a caller's pool are the caller's: whatever they make of an int8, here it is
 * a number.
 */
const types = {
  getTypeParser(oid: number): (text: string) => unknown {
    if (NUMBERS.has(oid)) return Number;
    return oid === BOOL ? (text) => text === "t" : asText;
  },
};

/** An answer that takes longer does not come any more: the other end is gone without a word. */
const LONGEST_ANSWER = 60_000;

export async function query(
  client: PgClient,
  text: string,
  params: Param[],
  limit: number = LONGEST_ANSWER,
  prepared?: PreparedNames,
): Promise<PgResult> {
  const name = prepared?.nameOf(text);
  try {
    return await client.query({
      text: params.length > 0 ? numbered(text) : text,
      ...(name !== undefined && { name }),
      ...(params.length > 0 && { values: params }),
      types,
      query_timeout: limit,
    });
  } catch (error) {
    if (isStale(error)) prepared?.renew(text);
    throw translate(error);
  }
}

/** What a `?` may stand in without being a parameter: literals, quoted names, comments, dollar quotes. */
const QUOTED_OR_MARK =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([a-z_]*)\$[\s\S]*?\$\1\$|\?/gi;

/** Lists of parameters differ in length, so there is no end of texts. */
const MOST_REMEMBERED = 1000;

const remembered = new Map<string, string>();

/** `?` as `$1`, `$2`, …: the shared statements are written with the one, PostgreSQL reads the other. */
export function numbered(text: string): string {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  let count = 0;
  const result = text.replace(QUOTED_OR_MARK, (found) => (found === "?" ? `$${++count}` : found));
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  remembered.set(text, result);
  return result;
}

/** So many statements stay prepared on a connection at most: the driver never gives one up. */
const MOST = 200;

/** How often a text has to come before it is worth it: lists of parameters differ in length, so there is no end of texts. */
const OFTEN = 3;

/**
 * Names for statements that come again and again. Planning costs most of a small statement's time, and a prepared one
 * is planned once. The name is made from the text: behind a pooler that mixes up sessions, a name can only ever mean
 * the statement it was made from.
 */
export class PreparedNames {
  readonly #seen = new Map<string, number | string>();
  readonly #renewed = new Map<string, number>();
  #count = 0;
  #off = false;

  nameOf(text: string): string | undefined {
    if (this.#off) return undefined;
    const seen = this.#seen.get(text) ?? 0;
    if (typeof seen === "string") return seen;
    if (seen + 1 < OFTEN || this.#count >= MOST) {
      if (this.#seen.size < 10 * MOST) this.#seen.set(text, seen + 1);
      return undefined;
    }
    this.#count++;
    return this.#make(text, 0);
  }

  /** Gives the statement another name, under which each session prepares it again. */
  renew(text: string): void {
    if (typeof this.#seen.get(text) === "string") this.#make(text, (this.#renewed.get(text) ?? 0) + 1);
  }

  #make(text: string, version: number): string {
    const hash = createHash("sha256").update(version === 0 ? text : `${version} ${text}`);
    const name = `punctual_${hash.digest("hex").slice(0, 32)}`;
    this.#seen.set(text, name);
    if (version > 0) this.#renewed.set(text, version);
    return name;
  }

  /** A pooler gives each transaction to another session, which knows nothing of the names. */
  stop(): void {
    this.#off = true;
  }
}
