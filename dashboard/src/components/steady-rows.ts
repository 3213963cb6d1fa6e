import { useRef } from "preact/hooks";
import { steadyOrder } from "./steady-order.ts";

/**
 * Returns rows in the order in which the reader saw them first, so that live updates do not move them. A change of
 * `signature`, such as a click on a column, applies the order of `rows`.
 */
export function useSteadyRows<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string | number,
  signature: string,
): Row[] {
  const order = useRef({ signature: "", keys: [] as (string | number)[] });
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  const before = order.current.signature === signature ? order.current.keys : [];
  const keys = steadyOrder(before, [...byKey.keys()]);
  order.current = { signature, keys };
  return keys.map((key) => byKey.get(key)!);
}
