import type { Param } from "../sql/database.ts";
import type { PgClient, PgResult } from "./driver.ts";
import { isStale, translate } from "./errors.ts";
import { numbered } from "./placeholders.ts";
import type { PreparedNames } from "./prepared.ts";

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
