import { useSignal } from "@preact/signals";
import type { SortState } from "./table.tsx";

type Value = string | number | null;

/**
 * Sorts rows that the page has in full. `values` gives the sortable value of each column; `first` is the column and
 * direction to begin with. Rows without a value come last. `order` changes with the column and the direction.
 */
export function useSort<Row>(
  rows: readonly Row[],
  values: Record<string, (row: Row) => Value>,
  first: { key: string; direction: "ascending" | "descending" },
): { sorted: Row[]; order: string; sortOf(key: string): SortState } {
  const current = useSignal(first);
  const { key, direction } = current.value;
  const read = values[key]!;
  const sign = direction === "ascending" ? 1 : -1;
  const sorted = rows.toSorted((a, b) => compare(read(a), read(b), sign));
  return {
    sorted,
    order: key + direction,
    sortOf: (column) => ({
      direction: column === key ? direction : "none",
      toggle: () => {
        const flipped = column === key && direction === "ascending" ? "descending" : "ascending";
        current.value = { key: column, direction: flipped };
      },
    }),
  };
}

function compare(a: Value, b: Value, sign: number): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = typeof a === "string" && typeof b === "string" ? a.localeCompare(b) : Number(a) - Number(b);
  return order * sign;
}
