import { PunctualError } from "../errors.ts";
import type { RunQuery } from "../query/parse.ts";
import type { RunState } from "../run/states.ts";
import type { RunRecord } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { checkFunction, checkInteger, checkKeys } from "../validate/options.ts";

/** How `retryAll()`, `cancelAll()` and `removeAll()` go through what a query finds. */
export interface BulkOptions {
  /** At most so many, the newest. */
  limit?: number | undefined;
  /** Called now and then with how many were gone through, of about how many; counted up to 10,000. */
  progress?: ((done: number, total: number) => void) | undefined;
}

/** What became of all runs that a query found. */
export interface BulkReport {
  done: number;
  /** Those it could not be done to, by the state they were in; `gone`: deleted meanwhile. */
  skipped: Partial<Record<RunState | "gone", number>>;
  /** The query does not say how far back, so finished runs were those of seven days. */
  bounded: boolean;
}

/** What became of one run: null when it was done, else the state that forbids it. */
export type Act = (run: RunRecord) => Promise<RunState | "gone" | null>;

const PAGE = 500;
/** At once: each is a transaction of its own, about a run of its own. */
const AT_ONCE = 8;
/** Beyond this, "more than so many" says as much. */
export const MOST_COUNTED = 10_000;

/** Goes through what a query finds, from the newest to the oldest: ids only fall, so none is met twice. */
export async function toEach(
  store: Store,
  { where, bounded }: RunQuery,
  act: Act,
  options: BulkOptions,
  what: string,
): Promise<BulkReport> {
  checkKeys(options, ["limit", "progress"], what);
  const progress = options.progress && checkFunction(options.progress, `${what} progress`);
  let left =
    options.limit === undefined ? Number.POSITIVE_INFINITY : checkInteger(options.limit, `${what} limit`, 1);
  if (!where.some(({ field }) => field !== "finished")) {
    throw new PunctualError(
      "INVALID_OPTION",
      `${what} expected a query that says which runs, got one that means all. Name a state, a job or a time.`,
    );
  }
  const report: BulkReport = { done: 0, skipped: {}, bounded };
  const total = progress ? Math.min(left, (await store.count(where, MOST_COUNTED)).count) : 0;
  let gone = 0;
  for (let before: number | null | undefined; before !== null && left > 0; ) {
    const limit = Math.min(PAGE, left);
    const page = await store.search({ where, limit, ...(before !== undefined && { before }) });
    for (let from = 0; from < page.runs.length; from += AT_ONCE) {
      const group = page.runs.slice(from, from + AT_ONCE);
      for (const reason of await Promise.all(group.map(act))) {
        if (reason === null) report.done++;
        else report.skipped[reason] = (report.skipped[reason] ?? 0) + 1;
      }
      gone += group.length;
      progress?.(gone, Math.max(total, gone));
    }
    left -= page.runs.length;
    before = page.next;
  }
  return report;
}

/** Why it was not done; null: it was. */
export function toReason(answer: string | null, done: string): RunState | "gone" | null {
  if (answer === done) return null;
  return answer === null ? "gone" : (answer as RunState);
}
