import type { RunsFilter } from "../../../operate/run-query.ts";
import type { Punctual } from "../../../punctual.ts";
import type { RunInfo } from "../../../run/info.ts";

const PAGE = 500;

export interface RunResults {
  runs: RunInfo[];
  /** Start of the next page; null: this is the last. */
  next: number | null;
  /** Whether only the last seven days of finished runs were searched. */
  bounded: boolean;
}

/** Returns up to `limit` runs, newest first. A query reads a bounded number of rows, so this may take several. */
export async function fetchRuns(jobs: Punctual, filter: RunsFilter, limit: number): Promise<RunResults> {
  const found: RunResults = { runs: [], next: null, bounded: false };
  for await (const page of pagesOf(jobs, filter, limit)) {
    found.runs.push(...page.runs);
    found.next = page.next;
    found.bounded ||= page.bounded;
  }
  return found;
}

/** Yields up to `limit` runs, page by page. */
export async function* pagesOf(
  jobs: Punctual,
  filter: RunsFilter,
  limit: number,
): AsyncGenerator<RunResults> {
  let left = limit;
  let before = filter.before;
  while (left > 0) {
    const page = await jobs.runs({
      ...filter,
      ...(before !== undefined && { before }),
      limit: Math.min(left, PAGE),
    });
    yield page;
    left -= page.runs.length;
    if (page.next === null) return;
    before = page.next;
  }
}
