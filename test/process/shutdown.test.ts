import { describe, expect } from "vitest";
import { Punctual } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { type Child, STACK_TRACE } from "../support/start-child.ts";
import { type Scene, test } from "./support/scene.ts";

/** Sends a signal and waits until it was handled: the system merges two pending signals of a kind. */
async function stopping(scene: Scene, child: Child, signal: NodeJS.Signals): Promise<void> {
  child.signal(signal);
  await eventually("the worker to stop", () =>
    scene.journal.find({ pid: child.pid, what: "log" }).some(({ text }) => text!.startsWith(signal)),
  );
}

describe("the first signal", () => {
  test("lets running runs finish and releases those that have not started", async ({ scene }) => {
    await scene.dispatchMany("free", 1000);
    const child = scene.worker("first", { parallel: 1, whenAhead: "terminate" });
    expect(await child.exit()).toEqual({ code: 0, signal: null });
    expect(child.stderr).not.toMatch(STACK_TRACE);

    const [ahead] = scene.journal.find({ what: "ahead" });
    expect(ahead!.ids!.length).toBeGreaterThan(0);
    expect(scene.finished(ahead!.run!)).toMatchObject({ state: 3, attempts: 1 });
    for (const id of ahead!.ids!) {
      expect(scene.unfinished(id)).toMatchObject({
        state: 1,
        attempts: 0,
        crashes: 0,
        lease_token: null,
        locked_by: null,
      });
      expect(scene.journal.find({ what: "start", run: id })).toEqual([]);
    }
    // Every run is either settled or free for others.
    const started = new Set(scene.journal.find({ what: "start" }).map(({ run }) => run));
    expect(scene.rows("select id from punctual_history")).toHaveLength(started.size);
    expect(scene.rows("select id from punctual_runs where state <> 1")).toEqual([]);
    expect(scene.rows("select id from punctual_workers")).toEqual([]);
  });

  test("lets a run finish for longer than a lease, and no other worker executes it", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "return" });
    const first = scene.worker("first", { holds: ["held"] });
    await scene.journal.until({ by: "first", what: "start", run: id });
    const { locked_until } = scene.unfinished(id)!;
    scene.worker("second");
    await scene.journal.until({ by: "second", what: "worker.started" });
    await stopping(scene, first, "SIGTERM");
    await eventually("the lease to be renewed for three leases", () => {
      const row = scene.unfinished(id);
      return !row || (row.locked_until as number) > (locked_until as number) + 3000 * scene.lease;
    });
    scene.letGo(first, "held");
    expect(await first.exit()).toEqual({ code: 0, signal: null });
    expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 1, crashes: 0 });
    expect(scene.journal.find({ what: "start", run: id })).toHaveLength(1);
    expect(scene.journal.find({ what: "abort" })).toEqual([]);
  });

  test("aborts after the grace; the run is free at once, and its attempt does not count", async ({
    scene,
  }) => {
    const { id } = await scene.job.held.dispatch({ do: "obey" });
    const first = scene.worker("first", { grace: "100ms" });
    await scene.journal.until({ by: "first", what: "start", run: id });
    expect(await scene.stop(first)).toEqual({ code: 0, signal: null });

    expect(first.stderr).not.toMatch(STACK_TRACE);
    expect(scene.journal.find({ what: "abort", run: id })).toMatchObject([{ code: "SHUTDOWN" }]);
    expect(scene.journal.find({ what: "run.released", run: id })).toHaveLength(1);
    const row = scene.unfinished(id)!;
    expect(row).toMatchObject({ state: 1, attempts: 1, uncounted: 1, lease_token: null, locked_by: null });
    expect(row.run_at).toBeLessThanOrEqual(Date.now());
    expect(await scene.jobs.attempts(id)).toMatchObject([{ attempt: 1, outcome: "released" }]);

    scene.worker("second", { acts: { held: { do: "return" } } });
    expect(await scene.untilFinished(id)).toMatchObject({ state: 3, attempts: 2 });
  });

  test("is handled while the worker still waits for the database", async ({ scene }) => {
    await scene.jobs.install();
    scene.database.exec("begin immediate");
    const child = scene.worker("first");
    await scene.journal.until({ by: "first", what: "starting" });
    await stopping(scene, child, "SIGTERM");
    scene.database.exec("commit");
    expect(await child.exit()).toEqual({ code: 0, signal: null });
    expect(child.stderr).not.toMatch(STACK_TRACE);
  });

  test("is not needed if stop() is called, at once or later", async ({ scene }) => {
    const jobs = new Punctual(`sqlite:${scene.path}`, { logger: false });
    const working = jobs.forever({ signals: false });
    await jobs.stop();
    expect(await working).toBe(0);
  });
});

describe.concurrent("a handler that ignores its signal", () => {
  test("loses its run some seconds after the first signal", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "ignore" });
    const first = scene.worker("first", { grace: "100ms" });
    await scene.journal.until({ by: "first", what: "start", run: id });
    expect(await scene.stop(first)).toEqual({ code: 0, signal: null });
    expect(scene.journal.find({ what: "abort", run: id })).toMatchObject([{ code: "SHUTDOWN" }]);
    expect(scene.unfinished(id)).toMatchObject({ state: 1, attempts: 1, uncounted: 1, lease_token: null });
    expect(scene.journal.find({ what: "end", run: id })).toEqual([]);
  });

  test("loses its run also if it is isolated after a crash", async ({ scene }) => {
    const { id } = await scene.job.held.dispatch({ do: "ignore" });
    const first = scene.worker("first");
    await scene.journal.until({ by: "first", what: "start", run: id });
    first.signal("SIGKILL");
    const second = scene.worker("second", { grace: "100ms" });
    await scene.journal.until({ by: "second", what: "start", run: id });
    expect(await scene.stop(second)).toEqual({ code: 0, signal: null });
    expect(scene.unfinished(id)).toMatchObject({ state: 1, attempts: 2, crashes: 1, lease_token: null });
  });
});

describe("further signals", () => {
  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const) {
    test(`the second ${signal} aborts at once`, async ({ scene }) => {
      const { id } = await scene.job.held.dispatch({ do: "obey" });
      const child = scene.worker("first");
      await scene.journal.until({ what: "start", run: id });
      await stopping(scene, child, signal);
      expect(scene.journal.find({ what: "abort" })).toEqual([]);
      child.signal(signal);
      expect(await child.exit()).toEqual({ code: 0, signal: null });
      expect(scene.journal.find({ what: "abort" })).toMatchObject([{ run: id, code: "SHUTDOWN" }]);
      expect(scene.unfinished(id)).toMatchObject({ state: 1, attempts: 1, uncounted: 1 });
      expect(child.stderr).not.toMatch(STACK_TRACE);
    });

    test(`the third ${signal} exits with ${code}`, async ({ scene }) => {
      const { id } = await scene.job.held.dispatch({ do: "ignore" });
      const child = scene.worker("first");
      await scene.journal.until({ what: "start", run: id });
      await stopping(scene, child, signal);
      child.signal(signal);
      await scene.journal.until({ what: "abort", run: id });
      child.signal(signal);
      expect(await child.exit()).toEqual({ code, signal: null });
      expect(child.stderr).not.toMatch(STACK_TRACE);
      // The run is not settled: another worker gets it after the lease.
      scene.worker("second", { acts: { held: { do: "return" } } });
      expect(await scene.untilFinished(id)).toMatchObject({ state: 3, attempts: 2, crashes: 1 });
    });
  }

  test("at any moment, in any number, leave the database consistent", async ({ scene }) => {
    const count = 400;
    const runs = await scene.dispatchMany("free", count, { do: "pause", ms: 20 });
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = randomFrom(seed);
    let forced = 0;
    for (let round = 0; round < 8; round++) {
      const child = scene.worker(`round ${round}`, { parallel: 5 });
      // After the start of Node itself, before which no handler gets a signal.
      await scene.journal.until({ by: `round ${round}`, what: "starting" });
      const signals = 1 + Math.floor(random() * 5);
      for (let sent = 0; sent < signals; sent++) {
        await new Promise((resolve) => setTimeout(resolve, random() * 80));
        child.signal(random() < 0.5 ? "SIGTERM" : "SIGINT");
      }
      const { code, signal } = await child.exit();
      const told = `seed ${seed}, round ${round}, ${signals} signals: code ${code}, ${signal}`;
      // A signal that arrives after forever() has ended has no listener.
      expect([0, 130, 143, "SIGTERM", "SIGINT"], told).toContain(code ?? signal);
      expect(child.stderr, told).not.toMatch(STACK_TRACE);
      if (code !== 0) forced++;
    }
    scene.worker("last");
    await scene.untilDrained();
    expect(scene.rows("pragma integrity_check")).toEqual([{ integrity_check: "ok" }]);
    expect(scene.journal.find({ what: "error" })).toEqual([]);
    for (const { id } of runs) {
      const { attempts, crashes, state } = scene.finished(id)!;
      // Exits forced by a third signal count as crashes, and the third crash ends a run.
      const expected = crashes === 3 ? { id, state: 4, tries: 0 } : { id, state: 3, tries: 1 };
      expect({ id, state, tries: attempts - crashes }).toEqual(expected);
      expect(crashes, `seed ${seed}`).toBeLessThanOrEqual(forced);
    }
  });
});

/** The same numbers from the same seed (mulberry32), so that a failure can be repeated. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
