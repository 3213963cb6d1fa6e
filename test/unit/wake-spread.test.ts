import { describe, expect, test } from "vitest";
import { WakeSpread } from "../../src/store/postgres/wake-spread.ts";

/** Whether a worker looks at once, for each value that chance can have. */
function woken(workers: number, runs: number | null): number {
  let count = 0;
  for (let n = 0; n < workers; n++) {
    const spread = new WakeSpread(
      () => count++,
      () => n / workers,
    );
    spread.workers = workers;
    spread.notified(runs);
    spread.stop();
  }
  return count;
}

describe("a notification", () => {
  test("wakes every worker of a small fleet at once", () => {
    expect(woken(1, 1)).toBe(1);
    expect(woken(8, 0)).toBe(8);
  });

  test("wakes three of many workers at once, and one more for each run", () => {
    expect(woken(9, 1)).toBe(4);
    expect(woken(500, 0)).toBe(3);
    expect(woken(500, 1)).toBe(4);
    expect(woken(500, 97)).toBe(100);
    expect(woken(500, 10_000)).toBe(500);
  });

  test("wakes every worker at once if it announces something else than runs", () => {
    expect(woken(500, null)).toBe(500);
  });

  test("wakes the others later, once for all notifications until then", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let count = 0;
    const spread = new WakeSpread(
      () => {
        count++;
        resolve();
      },
      () => 0.02,
    );
    spread.workers = 500;
    spread.notified(1);
    spread.notified(1);
    expect(count).toBe(0);
    await promise;
    expect(count).toBe(1);
  });

  test("wakes no worker once it has stopped, and one look does for a delayed one", async () => {
    let count = 0;
    const chances = [0.5, 0, 0.001, 0.5, 0];
    const spread = new WakeSpread(
      () => count++,
      () => chances.shift()!,
    );
    spread.workers = 500;
    spread.notified(1);
    spread.notified(1);
    expect(count).toBe(1);
    spread.notified(1);
    spread.stop();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(count).toBe(1);
    expect(chances).toEqual([]);
  });
});
