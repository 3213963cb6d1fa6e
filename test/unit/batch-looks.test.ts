import { expect, test } from "vitest";
import { BatchLooks } from "../../src/store/sql/batch-looks.ts";
import { systemClock } from "../../src/time.ts";

test("a store that is closed waits for the look that is under way", async () => {
  const seen = Promise.withResolvers<boolean>();
  const looked: number[][] = [];
  const looks = new BatchLooks({
    clock: systemClock,
    look: (batches) => {
      looked.push(batches);
      return seen.promise;
    },
  });
  // A worker that has other runs does not wait for its look.
  await looks.lookAfter(new Set([7]), false);
  expect(looked).toEqual([[7]]);
  let isOver = false;
  const over = looks.finish().then(() => {
    isOver = true;
  });
  await new Promise(setImmediate);
  expect(isOver).toBe(false);
  seen.resolve(true);
  await over;
});
