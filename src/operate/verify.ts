import type { InvariantReport } from "../store/invariants.ts";
import type { StoreReads } from "../store/reads.ts";
import { type Clock, type Duration, sleep, toMilliseconds } from "../time.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";

/** Options of `verify()`. */
export interface VerifyOptions {
  /** Most rows to read of each table, the oldest first. Default: 1,000,000. */
  most?: number | undefined;
  /** Time between the two checks, in seconds or as text such as `"2s"`. Default: 2 seconds. */
  wait?: Duration | undefined;
}

/** Result of `verify()`. */
export type VerifyReport = InvariantReport;

const DEFAULT_MOST = 1_000_000;
const DEFAULT_WAIT = 2;

/** Looks twice: rows of different tables are read at different moments, and a change in between breaks no invariant. */
export async function verify(reads: StoreReads, clock: Clock, options: VerifyOptions): Promise<VerifyReport> {
  checkKeys(options, { most: true, wait: true }, "verify()");
  const most = checkInteger(options.most ?? DEFAULT_MOST, "verify() most", 1, Number.MAX_SAFE_INTEGER);
  const wait = toMilliseconds(options.wait ?? DEFAULT_WAIT, "verify() wait");
  const first = await reads.checkInvariants(most);
  if (first.violations.length === 0) return first;
  await sleep(clock, wait);
  const second = await reads.checkInvariants(most);
  const known = new Set(first.violations.map(({ invariant, subject }) => `${invariant} ${subject}`));
  return {
    ...second,
    violations: second.violations.filter(({ invariant, subject }) => known.has(`${invariant} ${subject}`)),
  };
}
