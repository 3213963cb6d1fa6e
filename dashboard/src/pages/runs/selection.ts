import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Selection } from "../../components/table.tsx";
import type { RunRow } from "./use-runs.ts";

/** The selected runs: single ones, also of other pages of the list, or all that match the query. */
export interface RunSelection extends Selection<RunRow> {
  ids: ReadonlySet<number>;
  /** Whether every run that matches the query is selected, seen or not. */
  everything: boolean;
  selectEverything(): void;
  clear(): void;
}

/** Keeps the selection while rows change and pages turn. Another query clears it. */
export function useSelection(q: string, rows: readonly RunRow[]): RunSelection {
  const ids = useSignal<ReadonlySet<number>>(new Set());
  const everything = useSignal(false);
  const last = useRef<number | null>(null);

  const clear = () => {
    ids.value = new Set();
    everything.value = false;
    last.current = null;
  };
  useEffect(clear, [q]);

  const choose = (chosen: readonly RunRow[], selected: boolean) => {
    const next = new Set(ids.value);
    for (const { id, deleted } of chosen) {
      if (selected && !deleted) next.add(id);
      else next.delete(id);
    }
    ids.value = next;
    everything.value = false;
  };
  const selectable = rows.filter(({ deleted }) => !deleted);
  const onPage = selectable.filter(({ id }) => ids.value.has(id)).length;
  const all = selectable.length > 0 && onPage === selectable.length;
  return {
    ids: ids.value,
    everything: everything.value,
    state: everything.value || all ? "all" : onPage > 0 ? "some" : "none",
    has: ({ id, deleted }) => !deleted && (everything.value || ids.value.has(id)),
    label: ({ id, job }) => `Select run ${id} of ${job}`,
    toggle: (row, range) => {
      const from = rows.findIndex(({ id }) => id === last.current);
      const to = rows.findIndex(({ id }) => id === row.id);
      const chosen = range && from >= 0 ? rows.slice(Math.min(from, to), Math.max(from, to) + 1) : [row];
      choose(chosen, !ids.value.has(row.id) || (range && from >= 0));
      last.current = row.id;
    },
    toggleAll: () => (everything.value ? clear() : choose(selectable, !all)),
    selectEverything: () => {
      everything.value = true;
    },
    clear,
  };
}
