import type { SqlContext } from "./context.ts";

/** First schemas whose code knows what older code would not count. */
export const RATES_SINCE = 12;
export const NAMED_LIMITS_SINCE = 15;

/**
 * Records that code of a schema before `since` cannot use the tables any more: it would start runs without counting
 * them.
 */
export async function refuseOlderCode(tx: SqlContext, since: number): Promise<void> {
  await tx.run(
    `update ${tx.t.migrations} set compatible_from = ${since} where number = ${since} and compatible_from < ${since}`,
  );
}
