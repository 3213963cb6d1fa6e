import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Count, Page, Problem } from "../../../src/dashboard/api/contract.ts";
import { paused, refreshes, version } from "../live/live.ts";
import { isTraversal } from "../router/router.ts";
import { toProblem } from "./client.ts";

/** A row of a list. It stays in its place when it is deleted, or no longer belongs to the list. */
export type LiveRow<Row> = Row & { deleted?: boolean };

/** How to read a list whose newest rows come first. */
export interface ListSource<Row extends { id: number }, Response extends Page<Row>> {
  /** Identifies the contents; another key is another list. */
  key: string;
  /** Whether the page begins with the newest row: only then newer rows are counted. */
  fromNewest: boolean;
  /** Milliseconds between two reads of changes that the overview's version does not show. */
  every?: number;
  /** `before`: the page that the list had last, perhaps with another key. */
  page(signal: AbortSignal, before: Response | null): Promise<Response>;
  /** The rows of `ids` as they are now, and how many are newer than `newest`. */
  changes(
    ids: string,
    newest: { newest?: number },
    signal: AbortSignal,
  ): Promise<{ rows: Row[]; added: Count }>;
}

export interface LiveList<Row, Response> {
  rows: readonly LiveRow<Row>[];
  /** The page as it was read. */
  page: Response | null;
  /** Rows that came since the list was read, and wait until the reader asks for them. */
  added: Count;
  problem: Problem | null;
  loading: boolean;
  /** Reads the rows that are shown again, in place. */
  refresh(): void;
  /** Reads the list from the start, with the new rows. */
  reload(): void;
}

interface State<Row, Response> extends Pick<LiveList<Row, Response>, "rows" | "page" | "added" | "problem"> {
  key: string;
}

const NONE: Count = { value: 0, capped: false };
const EMPTY: State<never, never> = { key: "", rows: [], page: null, added: NONE, problem: null };

/** Lists that were left, by their key: the back button shows them again at once, where the reader was. */
const left = new Map<string, State<unknown, unknown>>();
const MOST_LEFT = 8;

function remember(state: State<unknown, unknown>): void {
  if (state.key === "" || state.rows.length === 0) return;
  left.delete(state.key);
  left.set(state.key, state);
  if (left.size > MOST_LEFT) left.delete(left.keys().next().value!);
}

/** Reads a page of rows once, then only the changes of its rows: the list does not move under the reader. */
export function useLiveList<Row extends { id: number }, Response extends Page<Row>>(
  source: ListSource<Row, Response>,
): LiveList<Row, Response> {
  const { key, fromNewest, every } = source;
  const leftState = () => (isTraversal() ? (left.get(key) as State<Row, Response> | undefined) : undefined);
  const state = useSignal<State<Row, Response>>(leftState() ?? EMPTY);
  const reads = useSignal(0);
  const update = useRef<() => void>(() => {});

  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    const known = reads.peek() === 0 ? leftState() : undefined;
    let pageIsDue = known === undefined;
    let busy = false;
    let again = false;

    const set = (part: Partial<State<Row, Response>>) => {
      if (!signal.aborted) state.value = { ...state.peek(), ...part };
    };
    const readPage = async () => {
      try {
        const page = await source.page(signal, state.peek().page);
        set({ key, page, rows: page.items, added: NONE, problem: null });
        pageIsDue = false;
      } catch (error) {
        const kept = state.peek().key === key ? {} : { ...EMPTY, key };
        set({ ...kept, problem: toProblem(error) });
      }
    };
    const readChanges = async () => {
      const { rows } = state.peek();
      const newest = fromNewest && rows[0] ? { newest: rows[0].id } : {};
      const ids = rows.map(({ id }) => id).join(",");
      try {
        const { rows: found, added } = await source.changes(ids, newest, signal);
        set({ rows: merge(rows, found), added: fromNewest ? added : NONE, problem: null });
      } catch (error) {
        set({ problem: toProblem(error) });
      }
    };
    /**
     * Reads, one request at a time: changes of the rows before would undo a page that arrived earlier. Changes that
     * arrive meanwhile lead to one more read.
     */
    const read = async () => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      // Nothing can move in an empty list, so that it fills by itself.
      await (pageIsDue || state.peek().rows.length === 0 ? readPage() : readChanges());
      busy = false;
      if (again && !signal.aborted) {
        again = false;
        read();
      }
    };

    update.current = read;
    if (known) state.value = known;
    read();
    let first = true;
    const onChange = () => {
      if (!first && !paused.peek() && !document.hidden) read();
    };
    const stops = [version.subscribe(onChange), refreshes.subscribe(onChange)];
    first = false;
    const timer = every === undefined ? undefined : setInterval(onChange, every);
    return () => {
      abort.abort();
      clearInterval(timer);
      remember(state.peek());
      for (const stop of stops) stop();
    };
  }, [key, reads.value]);

  const { rows, page, added, problem } = state.value.key === key ? state.value : EMPTY;
  return {
    rows,
    page,
    added,
    problem,
    loading: state.value.key !== key,
    refresh: () => update.current(),
    reload: () => {
      reads.value += 1;
    },
  };
}

/** Returns the rows as they are now, in the same order. */
function merge<Row extends { id: number }>(
  rows: readonly LiveRow<Row>[],
  found: readonly Row[],
): LiveRow<Row>[] {
  const byId = new Map(found.map((row) => [row.id, row]));
  return rows.map((row) => byId.get(row.id) ?? { ...row, deleted: true });
}
