import { afterEach, expect, test } from "vitest";
import { PunctualError } from "../../src/errors.ts";
import { Emitter } from "../../src/events/events.ts";
import { openStore } from "../../src/store/open.ts";
import type { ClaimedRun, Store } from "../../src/store/store.ts";
import { TestClock } from "../../src/testing/clock.ts";
import { Logbook, MOST_LINES } from "../../src/worker/logbook.ts";
import { claim, insert, times } from "../conformance/support/requests.ts";

const opened: Store[] = [];
afterEach(() => Promise.all(opened.splice(0).map((store) => store.close())));

/** A logbook on a database that can be unavailable, with running runs. */
async function scene(count: number) {
  const clock = new TestClock();
  const store = await openStore("sqlite::memory:", { clock, prefix: "punctual_" });
  opened.push(store);
  await store.install();
  await insert(store, ...times(count, () => ({})));
  const runs = await claim(store, { limit: count });
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  const logger = { debug: say, info: say, warn: say, error: say };
  const events = new Emitter(logger);
  const state = { away: false, calls: 0 };
  const fickle = {
    now: () => store.now(),
    async log(...of: Parameters<Store["log"]>) {
      state.calls++;
      if (state.away) throw new PunctualError("DATABASE_UNAVAILABLE", "It is away.");
      return store.log(...of);
    },
  };
  const logbook = new Logbook(
    { openStore: async () => fickle as unknown as Store, clock, events, logger },
    true,
  );
  const lines = async (run: ClaimedRun) => (await store.logs(run.id, 0, 1000)).map(({ message }) => message);
  return { clock, store, runs, said, state, logbook, lines };
}

test("lines of many runs are written by one call", async () => {
  const { runs, logbook, state, lines } = await scene(100);
  for (const run of runs) logbook.add(run, `of ${run.id}`, undefined);
  expect(logbook.holds(runs[0]!)).toBe(true);
  await logbook.flush();
  expect(state.calls).toBe(1);
  for (const run of runs) expect(await lines(run)).toEqual([`of ${run.id}`]);
  expect(logbook.holds(runs[0]!)).toBe(false);
  await logbook.flush();
  expect(state.calls).toBe(1);
});

test("concurrent callers share the next flush", async () => {
  const { runs, logbook, state } = await scene(20);
  const all = runs.map((run) => {
    logbook.add(run, "m", undefined);
    return logbook.flush();
  });
  await Promise.all(all);
  expect(state.calls).toBeLessThanOrEqual(2);
});

test("an unavailable database delays lines, is reported once, and gets all lines later", async () => {
  const { runs, logbook, state, lines, said } = await scene(1);
  const [run] = runs;
  state.away = true;
  for (const message of ["a", "b"]) {
    logbook.add(run!, message, undefined);
    await logbook.flush();
  }
  const told = () => said.filter((line) => line.startsWith("the database is not available"));
  expect(told()).toEqual([expect.stringContaining("It is away.")]);
  expect(logbook.holds(run!)).toBe(true);
  state.away = false;
  logbook.add(run!, "c", undefined);
  await logbook.flush();
  expect(await lines(run!)).toEqual(["a", "b", "c"]);
  expect(logbook.holds(run!)).toBe(false);
  state.away = true;
  logbook.add(run!, "d", undefined);
  await logbook.flush();
  expect(told()).toHaveLength(2);
});

test("while the database is unavailable, memory is bounded and one warning says that lines are dropped", async () => {
  const { runs, logbook, state, said, store } = await scene(20);
  state.away = true;
  const text = "x".repeat(4000);
  for (const run of runs) for (let n = 0; n < 500; n++) logbook.add(run, text, undefined);
  await logbook.flush();
  const warned = said.filter((line) => line.includes("dropped"));
  expect(warned).toHaveLength(1);
  state.away = false;
  await logbook.flush();
  const kept = await Promise.all(runs.map(({ id }) => store.countLogs(id)));
  const sum = kept.reduce((a, b) => a + b);
  expect(sum).toBeGreaterThan(3000);
  expect(sum).toBeLessThan(4500);
  expect(kept[0]).toBe(500);
  expect(kept.at(-1)).toBe(0);
  logbook.add(runs.at(-1)!, "there is room again", undefined);
  await logbook.flush();
  expect(await store.countLogs(runs.at(-1)!.id)).toBe(1);
});

test("an attempt under the number of a released one counts its lines too", async () => {
  const { runs, logbook, lines } = await scene(1);
  const run = runs[0]!;
  run.logged = MOST_LINES - 1;
  for (const message of ["last", "too many", "too many"]) logbook.add(run, message, undefined);
  await logbook.flush();
  expect(await lines(run)).toEqual(["last", expect.stringContaining("more lines were logged")]);
});

test("many lines at one moment keep their order, also with those of a moment later", async () => {
  const { clock, runs, logbook, lines } = await scene(1);
  const first = times(700, (n) => `${n}`);
  for (const message of first) logbook.add(runs[0]!, message, undefined);
  await clock.advance("1ms");
  logbook.add(runs[0]!, "later", undefined);
  await logbook.flush();
  expect(await lines(runs[0]!)).toEqual([...first, "later"]);
});
