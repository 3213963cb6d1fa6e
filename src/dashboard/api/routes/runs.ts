import type { RunState } from "../../../run/states.ts";
import { stateCodes } from "../../../run/states.ts";
import type { Route } from "../../server/route.ts";
import type { RunSummary, StateCounts } from "../contract.ts";
import { defineRead } from "../define-route.ts";
import { cursor, digits, idList, text } from "../request-values.ts";
import { toRunsQuery } from "../run-search.ts";
import type { Services } from "../services.ts";
import { toCount, toSummary } from "../views/run-summary.ts";

const MOST_ROWS = 200;
const DEFAULT_ROWS = 50;

/** Ids of one query: a term takes at most 100 values. */
const IDS_OF_QUERY = 100;

const STATES = Object.keys(stateCodes) as RunState[];

export function runsRoutes(services: Services): Route[] {
  const { reports } = services;
  return [
    defineRead(
      services,
      "GET /runs",
      { q: text, before: cursor, limit: digits(1, MOST_ROWS, DEFAULT_ROWS), zone: text },
      async ({ query: { q = "", before, limit, zone: timezone } }) => {
        const query = toRunsQuery(services, q, timezone);
        const { runs, next, bounded } = await reports.storedRuns({ ...query, before, limit });
        const context = await services.summaryContext();
        // Later pages repeat the count of the first one: it is the most expensive part.
        const count = before === undefined ? toCount(await reports.count(query)) : null;
        return { items: runs.map((run) => toSummary(run, context)), next, bounded, count };
      },
    ),
    defineRead(
      services,
      "GET /runs/changes",
      {
        q: text,
        ids: idList(MOST_ROWS),
        newest: digits(0, Number.MAX_SAFE_INTEGER, undefined),
        zone: text,
      },
      async ({ query: { q = "", ids, newest, zone: timezone } }) => {
        const query = toRunsQuery(services, `${q} id:>${newest ?? 0}`, timezone);
        const runs = await runsOf(services, ids);
        if (newest === undefined) return { runs, added: { value: 0, capped: false } };
        return { runs, added: toCount(await reports.count(query)) };
      },
    ),
    defineRead(
      services,
      "GET /runs/states",
      { q: text, zone: text },
      async ({ query: { q = "", zone: timezone } }) => {
        const counts: Partial<StateCounts> = {};
        const terms = [
          ...STATES.map((state) => [state, `state:${state}`] as const),
          ["retrying", "is:retrying"] as const,
          ["late", "is:late"] as const,
        ];
        // One after the other, so that one page never holds nine connections.
        for (const [name, term] of terms)
          counts[name] = toCount(await reports.count(toRunsQuery(services, `${q} ${term}`, timezone)));
        return counts as StateCounts;
      },
    ),
  ];
}

async function runsOf(services: Services, ids: readonly number[]): Promise<RunSummary[]> {
  const found: RunSummary[] = [];
  const context = await services.summaryContext();
  for (let from = 0; from < ids.length; from += IDS_OF_QUERY) {
    const group = ids.slice(from, from + IDS_OF_QUERY);
    const { runs } = await services.reports.storedRuns({
      where: `id:${group.join(",")}`,
      limit: IDS_OF_QUERY,
    });
    for (const run of runs) found.push(toSummary(run, context));
  }
  return found;
}
