import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Count, Problem, RunSummary } from "../../../../src/dashboard/api/contract.ts";
import { request, toProblem } from "../../api/client.ts";
import { paused, refreshes, version } from "../../live/live.ts";
import { isTraversal } from "../../router/router.ts";
import type { RunsView } from "./runs-page.tsx";

/** A row of the list. It stays in its place when the run is deleted, or no longer matches the query. */
export interface RunRow extends RunSummary {
  deleted?: boolean;
}

export interface RunsListState {
  rows: readonly RunRow[];
  next: number | null;
  bounded: boolean;
  count: Count | null;
  /** Runs that came since the list was read, and wait until the reader asks for them. */
  added: Count;
  problem: Problem | null;
  loading: boolean;
  /** Reads the rows that are shown again, in place. */
  refresh(): void;
  /** Reads the list from the start, with the new runs. */
  reload(): void;
}

interface State extends Omit<RunsListState, "loading" | "refresh" | "reload"> {
  key: string;
}

const NONE: Count = { value: 0, capped: false };
const EMPTY: State = {
  key: "",
  rows: [],
  next: null,
  bounded: false,
  count: null,
  added: NONE,
  problem: null,
};

/** Lists that were left, by their view: the back button shows them again at once, where the reader was. */
const left = new Map<string, State>();
const MOST_LEFT = 8;

function remember(state: State): void {
  if (state.key === "" || state.rows.length === 0) return;
  left.delete(state.key);
  left.set(state.key, state);
  if (left.size > MOST_LEFT) left.delete(left.keys().next().value!);
}

/** Reads a page of runs once, then only the changes of its rows: the list does not move under the reader. */
export function useRuns(view: RunsView): RunsListState {
  const { q, before, limit, zone } = view;
  const key = JSON.stringify(view);
  const state = useSignal<State>((isTraversal() && left.get(key)) || EMPTY);
  const reads = useSignal(0);
  const update = useRef<() => void>(() => {});

  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    let busy = false;
    let again = false;

    const set = (part: Partial<State>) => {
      if (!signal.aborted) state.value = { ...state.peek(), ...part };
    };
    const readPage = async () => {
      try {
        const page = await request(
          "GET /runs",
          { query: { q, limit, zone, ...(before ? { before } : {}) } },
          signal,
        );
        const { items, next, bounded, count } = page;
        set({
          key,
          rows: items,
          next,
          bounded,
          count: count ?? state.peek().count,
          added: NONE,
          problem: null,
        });
      } catch (error) {
        const kept = state.peek().key === key ? {} : { ...EMPTY, key };
        set({ ...kept, problem: toProblem(error) });
      }
    };
    const readChanges = async () => {
      const { rows } = state.peek();
      const newest = before === null ? rows[0]?.id : undefined;
      const input = { q, zone, ids: rows.map(({ id }) => id).join(","), ...(newest ? { newest } : {}) };
      try {
        const { runs, added } = await request("GET /runs/changes", { query: input }, signal);
        set({ rows: merge(rows, runs), added: newest ? added : NONE, problem: null });
      } catch (error) {
        set({ problem: toProblem(error) });
      }
    };
    /** Reads, one request at a time. Changes that arrive meanwhile lead to one more read. */
    const read = async () => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      const { key: readKey, rows, problem } = state.peek();
      // Nothing can move in an empty list, so that it fills by itself.
      await (readKey !== key || rows.length === 0 || (problem && rows.length === 0)
        ? readPage()
        : readChanges());
      busy = false;
      if (again && !signal.aborted) {
        again = false;
        read();
      }
    };

    update.current = read;
    const known = isTraversal() && reads.peek() === 0 ? left.get(key) : undefined;
    if (known) {
      state.value = known;
      read();
    } else readPage();
    let first = true;
    const onChange = () => {
      if (!first && !paused.peek() && !document.hidden) read();
    };
    const stops = [version.subscribe(onChange), refreshes.subscribe(onChange)];
    first = false;
    return () => {
      abort.abort();
      remember(state.peek());
      for (const stop of stops) stop();
    };
  }, [key, reads.value]);

  const current = state.value.key === key ? state.value : { ...EMPTY, problem: null };
  return {
    ...current,
    loading: state.value.key !== key,
    refresh: () => update.current(),
    reload: () => {
      reads.value += 1;
    },
  };
}

/** Returns the rows with their runs as they are now, in the same order. */
function merge(rows: readonly RunRow[], runs: readonly RunSummary[]): RunRow[] {
  const found = new Map(runs.map((run) => [run.id, run]));
  return rows.map((row) => found.get(row.id) ?? { ...row, deleted: true });
}
