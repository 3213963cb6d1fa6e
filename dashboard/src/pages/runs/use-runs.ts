import type { RunSummary, RunsResponse } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { type LiveList, type LiveRow, useLiveList } from "../../api/live-list.ts";
import type { RunsView } from "./runs-page.tsx";

export type RunRow = LiveRow<RunSummary>;

export interface RunsListState
  extends LiveList<RunSummary, RunsResponse>,
    Pick<RunsResponse, "next" | "bounded" | "count"> {}

/** The list of runs that a view shows. */
export function useRuns(view: RunsView): RunsListState {
  const { q, before, limit, zone } = view;
  const list = useLiveList<RunSummary, RunsResponse>({
    key: `runs ${JSON.stringify(view)}`,
    fromNewest: before === null,
    async page(signal, last) {
      const query = { q, limit, zone, ...(before ? { before } : {}) };
      const page = await request("GET /runs", { query }, signal);
      // Later pages have the count of the first one.
      return { ...page, count: page.count ?? last?.count ?? null };
    },
    async changes(ids, newest, signal) {
      const query = { q, zone, ids, ...newest };
      const { runs, added } = await request("GET /runs/changes", { query }, signal);
      return { rows: runs, added };
    },
  });
  const { next = null, bounded = false, count = null } = list.page ?? {};
  return { ...list, next, bounded, count };
}
