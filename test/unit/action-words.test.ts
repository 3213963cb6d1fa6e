import { expect, test } from "vitest";
import { detailsInWords } from "../../src/operate/action-words.ts";
import type { JsonValue } from "../../src/run/payload.ts";

test.each<[JsonValue | undefined, string]>([
  [undefined, ""],
  [null, ""],
  ["by hand", "by hand"],
  [[1, 2], "[1,2]"],
  [{ effect: "cancelled", force: false }, "effect cancelled"],
  [{ effect: "cancelled", force: true }, "effect cancelled, force"],
  [{ run: 12, edited: true }, "run 12, edited"],
  [{ reason: "the provider is down", for: "1h" }, "reason the provider is down, for 1h"],
  [{ operation: "b6", state: "running", total: 20 }, "running, 20 runs matched"],
  [{ operation: "b6", state: "finished", done: 20, skipped: {}, error: null }, "finished, 20 done"],
  [
    { operation: "b6", state: "stopped", done: 0, requested: 3, skipped: { failed: 2, gone: 1 } },
    "stopped, 0 done, 3 asked to stop, 3 skipped (2 failed, 1 gone)",
  ],
  [{ cancelled: 4, skipped: { "already running": 1 } }, "4 cancelled, 1 skipped (already running)"],
  [{ tags: ["a"], more: { n: 1 } }, 'tags ["a"], more {"n":1}'],
])("%j is %j", (details, words) => {
  expect(detailsInWords(details)).toBe(words);
});
