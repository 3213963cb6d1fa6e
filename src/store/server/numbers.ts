/** Every column of ours that is a number, and the names that statements give to numbers. */
const NUMBERS = new Set([
  ..."id limited priority run_at state attempts crashes timeout locked_until started_at cancelled_at".split(
    " ",
  ),
  ..."schedule tick_at unique_scope unique_until parent_id expires_at created_at".split(" "),
  ..."finished_at keep_until run_id attempt lim key_lim defined_at paused_at paused_until last_run".split(
    " ",
  ),
  ..."fail_count last_failure seen_at last_tick next_tick resumed_at missed pid parallel settle_seq minute".split(
    " ",
  ),
  ..."dispatched completed retried failed skipped cancelled snoozed released crashed busy".split(" "),
  ..."seq number applied_at compatible_from nonce now n found position at logged".split(" "),
]);

/** Rows as they come through somebody else's library, which may make text or a bigint of a large number. */
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

/** For a test that compares with the schema. */
export function isNumber(column: string): boolean {
  return NUMBERS.has(column);
}
