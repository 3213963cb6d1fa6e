import { expect, test } from "vitest";
import { chainToken } from "../../src/run/chains.ts";
import { Chains, CLAIM_WINDOW } from "../../src/worker/chains.ts";
import { claimedRun } from "./support/worker.ts";

/** Runs of one chain. */
function chain(length: number, number = 1) {
  const token = chainToken("token", number);
  return Array.from({ length }, (_, index) => claimedRun(index, { token, limited: true }));
}

test("a claim reads a longer window while the longest chain of the last claim filled the shorter one", () => {
  const chains = new Chains();
  const windowAfter = (...lengths: number[]) => {
    chains.add(
      lengths.flatMap((length, index) => chain(length, index)),
      0,
    );
    chains.takeWaiting(0);
    return chains.window;
  };
  expect(chains.window).toBe(CLAIM_WINDOW);
  expect(windowAfter(CLAIM_WINDOW - 1)).toBe(CLAIM_WINDOW);
  expect(windowAfter(2, CLAIM_WINDOW)).toBeGreaterThan(CLAIM_WINDOW);
  expect(windowAfter()).toBeGreaterThan(CLAIM_WINDOW);
  expect(windowAfter(CLAIM_WINDOW - 1)).toBe(CLAIM_WINDOW);
});
