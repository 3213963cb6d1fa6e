import { PunctualError } from "../errors.ts";
import { selectsRuns } from "../query/selects.ts";
import { activeStates, finishedStates, type RunState } from "../run/states.ts";
import type { RunRecord } from "../store/records.ts";
import type { RunCondition } from "../store/search.ts";
import type { Store } from "../store/store.ts";
import { checkFunction, checkInteger, checkKeys } from "../validate/options.ts";
import { checkId, type RunsQuery, toQuery } from "./run-query.ts";

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

/** Why a run was left as it is: its state; `retried`: by another call meanwhile; `gone`: deleted meanwhile. */
export type SkipReason = RunState | "retried" | "gone";

/** Result of `retryAll()`, `cancelAll()` or `removeAll()`. Each run is counted once. */
export interface BulkReport {
  /** Number of runs that were retried, cancelled or deleted. */
  done: number;
  /** Number of running runs that `cancelAll()` asked to end: their handlers decide when they do. */
  requested: number;
  /** Number of the other runs, by reason. */
  skipped: Partial<Record<SkipReason, number>>;
  /**
   * Whether the search for finished runs was restricted to the last seven days, because the query sets no bound itself.
   */
  bounded: boolean;
}

/** Runs of a bulk operation: all that match a query, or those with these ids. */
export type BulkTarget = RunsQuery | string | readonly number[];

export type BulkAction = "retry" | "cancel" | "delete";

/** States of the runs that each action is for. */
const STATES: Record<BulkAction, readonly RunState[]> = {
  retry: finishedStates,
  cancel: activeStates,
  delete: finishedStates,
};

const METHODS: Record<BulkAction, string> = {
  retry: "retryAll()",
  cancel: "cancelAll()",
  delete: "removeAll()",
};

/** The effect of an operation on one run. */
export type RunEffect = "done" | "requested" | SkipReason;

/** A run as the search of a bulk operation found it. */
export interface FoundRun extends RunRecord {
  /** States that the query allows: the run may have changed since the search. */
  allowed: readonly RunState[];
}

/** Acts on one run. `seen` is null if the caller named the run. */
export type RunVisitor = (id: number, seen: FoundRun | null) => Promise<RunEffect>;

/** Runs that one search returns. */
const PAGE = 500;
/** Runs that are processed concurrently, each in a transaction of its own. */
const CONCURRENT = 8;
/** Counts stop here: an exact larger number is not worth its cost. */
export const MOST_COUNTED = 10_000;

/**
 * Throws INVALID_OPTION for conditions that leave out none of the runs that an action is for: a query that deletes all
 * runs is a mistake. `what` names the caller.
 */
export function checkSelects(
  where: readonly RunCondition[],
  action: BulkAction,
  { now, what }: { now: number; what: string },
): void {
  if (selectsRuns(where, { states: STATES[action], now })) return;
  throw new PunctualError(
    "INVALID_OPTION",
    `${what} expected a query that selects runs, got one that matches all runs to ${action}. Name some states, a job, a queue or a time, such as "job:email after:24h".`,
  );
}

/** A bulk operation as its caller asked for it. */
interface BulkCall {
  action: BulkAction;
  target: BulkTarget;
  options: BulkOptions;
}

/**
 * Calls `act` for each run of the target, in the order of the ids that were named, or from the newest run to the
 * oldest. Pages go by descending id, so no run is visited twice.
 */
export async function forEachRun(
  store: Store,
  { action, target, options }: BulkCall,
  act: RunVisitor,
): Promise<BulkReport> {
  const method = METHODS[action];
  checkKeys(options, { limit: true, progress: true, signal: true }, method);
  const progress = options.progress && checkFunction(options.progress, `${method} progress`);
  const limit =
    options.limit === undefined
      ? Number.POSITIVE_INFINITY
      : checkInteger(options.limit, `${method} limit`, 1);
  const { pages, count, bounded } = isIds(target)
    ? runsByIds(target, limit)
    : await runsByQuery(store, { action, query: target, limit });
  const report: BulkReport = { done: 0, requested: 0, skipped: {}, bounded };
  const total = progress ? Math.min(limit, await count()) : 0;
  let processed = 0;
  const isStopped = () => options.signal?.aborted === true;
  for await (const page of pages()) {
    for (let from = 0; from < page.length && !isStopped(); from += CONCURRENT) {
      const group = page.slice(from, from + CONCURRENT);
      for (const effect of await Promise.all(group.map(({ id, seen }) => act(id, seen)))) {
        if (effect === "done" || effect === "requested") report[effect]++;
        else report.skipped[effect] = (report.skipped[effect] ?? 0) + 1;
      }
      processed += group.length;
      progress?.(processed, Math.max(total, processed), report);
    }
    if (isStopped()) break;
  }
  return report;
}

/** A run of a bulk operation. */
interface TargetRun {
  id: number;
  seen: FoundRun | null;
}

interface TargetRuns {
  pages(): AsyncIterable<TargetRun[]> | Iterable<TargetRun[]>;
  /** Returns about how many there are. */
  count(): Promise<number>;
  bounded: boolean;
}

function isIds(target: BulkTarget): target is readonly number[] {
  return Array.isArray(target);
}

/** Returns runs by their ids, without a search: a search can miss a run that is retried at the same time. */
function runsByIds(ids: readonly number[], limit: number): TargetRuns {
  const runs = [...new Set(ids.map((id) => checkId(id)))].slice(0, limit).map((id) => ({ id, seen: null }));
  return { pages: () => [runs], count: async () => runs.length, bounded: false };
}

async function runsByQuery(
  store: Store,
  { action, query, limit }: { action: BulkAction; query: RunsQuery | string; limit: number },
): Promise<TargetRuns> {
  const now = await store.now();
  const { where, bounded } = toQuery(query, now, METHODS[action]);
  checkSelects(where, action, { now, what: METHODS[action] });
  return {
    pages: () => searchPages(store, where, limit),
    count: async () => (await store.count(where, MOST_COUNTED)).count,
    bounded,
  };
}

async function* searchPages(store: Store, where: RunCondition[], most: number): AsyncGenerator<TargetRun[]> {
  const allowed = statesIn(where);
  let left = most;
  for (let before: number | null | undefined; before !== null && left > 0; ) {
    const limit = Math.min(PAGE, left);
    const page = await store.search({ where, limit, ...(before !== undefined && { before }) });
    yield page.runs.map((run) => ({ id: run.id, seen: { ...run, allowed } }));
    left -= page.runs.length;
    before = page.next;
  }
}

/** Returns the states that the conditions on states allow. */
export function statesIn(where: readonly RunCondition[]): RunState[] {
  return [...activeStates, ...finishedStates].filter((state) =>
    where.every(
      (condition) =>
        condition.field !== "state" || condition.any.includes(state) !== (condition.not === true),
    ),
  );
}
