import { PunctualError } from "../errors.ts";
import type { RunState } from "../run/states.ts";
import type { RunRecord } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { checkFunction, checkInteger, checkKeys } from "../validate/options.ts";
import { type RunsQuery, toQuery } from "./run-query.ts";

/** Options of `retryAll()`, `cancelAll()` and `removeAll()`. */
export interface BulkOptions {
  /** Most runs, the newest first. Default: all. */
  limit?: number | undefined;
  /**
   * Called repeatedly with the number of runs processed, about how many there are, counted up to 10,000, and the result
   * so far.
   */
  progress?: ((done: number, total: number, soFar: BulkReport) => void) | undefined;
  /** Stops before the next runs when it aborts; the result then counts the runs processed until then. */
  signal?: AbortSignal | undefined;
}

/** Result of `retryAll()`, `cancelAll()` or `removeAll()`. */
export interface BulkReport {
  /** Number of runs that were retried, cancelled or deleted. */
  done: number;
  /** Number of the other runs, by their state; `gone`: deleted in the meantime. */
  skipped: Partial<Record<RunState | "gone", number>>;
  /**
   * Whether the search for finished runs was restricted to the last seven days, because the query sets no bound itself.
   */
  bounded: boolean;
}

/** Does something to one run; returns null when done, else the state that prevented it. */
export type RunAction = (run: RunRecord) => Promise<RunState | "gone" | null>;

const PAGE = 500;
/** Runs that are processed concurrently, each in a transaction of its own. */
const CONCURRENT = 8;
/** Counts stop here: an exact larger number is not worth its cost. */
export const MOST_COUNTED = 10_000;

/**
 * Calls `action` for each run that matches a query, from the newest to the oldest. Pages go by descending id, so no run
 * is visited twice. `method` names the caller in errors.
 */
export async function forEachRun(
  store: Store,
  { query, options, method }: { query: RunsQuery | string; options: BulkOptions; method: string },
  action: RunAction,
): Promise<BulkReport> {
  const { where, bounded } = toQuery(query, await store.now(), method);
  checkKeys(options, { limit: true, progress: true, signal: true }, method);
  const progress = options.progress && checkFunction(options.progress, `${method} progress`);
  let left =
    options.limit === undefined
      ? Number.POSITIVE_INFINITY
      : checkInteger(options.limit, `${method} limit`, 1);
  if (!where.some(({ field }) => field !== "finished")) {
    throw new PunctualError(
      "INVALID_OPTION",
      `${method} expected a query that selects runs, got one that matches all. Name a state, a job or a time.`,
    );
  }
  const report: BulkReport = { done: 0, skipped: {}, bounded };
  const total = progress ? Math.min(left, (await store.count(where, MOST_COUNTED)).count) : 0;
  let processed = 0;
  const isStopped = () => options.signal?.aborted === true;
  for (let before: number | null | undefined; before !== null && left > 0 && !isStopped(); ) {
    const limit = Math.min(PAGE, left);
    const page = await store.search({ where, limit, ...(before !== undefined && { before }) });
    for (let from = 0; from < page.runs.length && !isStopped(); from += CONCURRENT) {
      const group = page.runs.slice(from, from + CONCURRENT);
      for (const reason of await Promise.all(group.map(action))) {
        if (reason === null) report.done++;
        else report.skipped[reason] = (report.skipped[reason] ?? 0) + 1;
      }
      processed += group.length;
      progress?.(processed, Math.max(total, processed), report);
    }
    left -= page.runs.length;
    before = page.next;
  }
  return report;
}

/**
 * Converts a store's answer: null if it is `done`, `gone` if the run does not exist, else the state that prevented it.
 */
export function toSkipReason(answer: string | null, done: string): RunState | "gone" | null {
  if (answer === done) return null;
  return answer === null ? "gone" : (answer as RunState);
}
