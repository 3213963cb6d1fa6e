import { expect, test } from "vitest";
import { Poller } from "../../src/store/mysql/poller.ts";
import type { Sql } from "../../src/store/sql/database.ts";
import { tablesWith } from "../../src/store/sql/database.ts";
import { TestClock } from "../../src/testing/index.ts";

/** Counts the polls in ten seconds, in which every poll finds a change or none does. */
async function polls(workers: number, changes: boolean): Promise<number> {
  const clock = new TestClock();
  let count = 0;
  const sql: Sql = {
    all: async <Row>() => [{ seen: String(changes ? ++count : Math.min(1, ++count)) }] as Row[],
    run: async () => {},
  };
  const poller = new Poller(sql, tablesWith("punctual_"), clock);
  poller.crowd(workers);
  const stop = poller.listen(() => {});
  // Until the interval has grown to its longest.
  await clock.advance("1m");
  count = 1;
  await clock.advance("10s");
  stop();
  return count - 1;
}

test("a worker polls often while something changes, and seldom while nothing does", async () => {
  expect(await polls(1, true)).toBe(1250);
  expect(await polls(1, false)).toBe(40);
});

test("many workers poll less often, and together as often as a few", async () => {
  expect(await polls(8, true)).toBe(1250);
  expect(await polls(100, true)).toBe(100);
  expect(await polls(500, true)).toBe(20);
  expect(await polls(500, false)).toBe(20);
});

test("a worker polls every second and a half, however many there are", async () => {
  expect(await polls(100_000, true)).toBe(7);
});
