import { expect, test } from "vitest";
import { steadyOrder } from "../../../dashboard/src/components/steady-order.ts";

test("rows that the reader knows keep their places when their order changes", () => {
  expect(steadyOrder(["a", "b", "c"], ["c", "a", "b"])).toEqual(["a", "b", "c"]);
});

test("rows that are gone leave, and new ones follow in their own order", () => {
  expect(steadyOrder(["a", "b", "c"], ["x", "c", "a", "y"])).toEqual(["a", "c", "x", "y"]);
});

test("the first order is the given one", () => {
  expect(steadyOrder([], [3, 1, 2])).toEqual([3, 1, 2]);
});
