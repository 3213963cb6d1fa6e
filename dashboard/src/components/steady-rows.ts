import { useRef } from "preact/hooks";

/**
 * Returns rows in the order in which the reader saw them first: known rows stay where they are, new ones follow. A
 * change of `signature`, such as a click on a column, applies the order of `rows`.
 */
export function useSteadyRows<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string | number,
  signature: string,
): Row[] {
  const order = useRef({ signature: "", keys: [] as (string | number)[] });
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  const known =
    order.current.signature === signature ? order.current.keys.filter((key) => byKey.has(key)) : [];
  const seen = new Set(known);
  const keys = [...known, ...[...byKey.keys()].filter((key) => !seen.has(key))];
  order.current = { signature, keys };
  return keys.map((key) => byKey.get(key)!);
}
