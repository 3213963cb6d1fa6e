import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { PunctualError, type Run, startProbe } from "../../src/index.ts";
import type { TestClock } from "../../src/testing/index.ts";
import { heard, listen, open } from "./support/instance.ts";

/** An instance with a job whose handlers run until the test releases them, and one that returns at once. */
function scene(db = new DatabaseSync(":memory:"), clock?: TestClock) {
  const one = open(clock ? { clock } : {}, db);
  const { jobs } = one;
  const held = new Map<number, () => void>();
  const hold = (id: number) => new Promise<void>((resolve) => held.set(id, resolve));
  jobs.schedule("long", (_: unknown, run) => hold(run.id)).concurrency(0);
  jobs
    .schedule("stubborn", (_: unknown, run) => hold(run.id))
    .concurrency(0)
    .lease(3);
  jobs.schedule("quick", () => {}).concurrency(0);

  const row = (id: number) =>
    db.prepare("select state, started_at, isolated, crashes from punctual_runs where id = ?").get(id) as
      | { state: number; started_at: number | null; isolated: number; crashes: number }
      | undefined;
  /** A run that crashed `crashes` times, ready in `seconds`. */
  const crashed = async (job: string, crashes = 1, seconds = 0.01): Promise<Run> => {
    const run = await jobs.dispatch(job).delay(seconds);
    db.prepare("update punctual_runs set crashes = ? where id = ?").run(crashes, run.id);
    return run;
  };
  const work = async (options = {}) => {
    void jobs.forever({ signals: false, ...options });
    await heard(jobs, "worker.started");
  };
  const release = (...runs: Run[]) => {
    for (const { id } of runs) held.get(id)?.();
  };
  return { ...one, db, row, crashed, work, release, isStarted: ({ id }: Run) => held.has(id) };
}

describe("a crashed run in a worker without children", () => {
  test("is alone for five seconds, then others run beside it", async () => {
    const { jobs, clock, row, crashed, work, release, isStarted } = scene();
    const long = await crashed("long");
    await work();
    await clock.advance(1);
    expect(isStarted(long)).toBe(true);
    expect(row(long.id)).toMatchObject({ isolated: 1 });
    const quick = await jobs.dispatch("quick");
    await clock.advance(3.5);
    expect(await quick.state()).toBe("ready");
    await clock.advance(1);
    expect(await quick.state()).toBe("completed");
    expect(row(long.id)).toMatchObject({ state: 2, isolated: 0 });
    release(long);
    await clock.advance(1);
    expect(await long.state()).toBe("completed");
  });

  test("releases the runs that were claimed with it, and does not charge them with its crash", async () => {
    const { jobs, clock, row, crashed, work, release, isStarted } = scene();
    const long = await crashed("long");
    const other = await jobs.dispatch("long").delay(0.01);
    await clock.advance(1);
    const told: unknown[] = [];
    for (const event of ["run.released", "run.started"] as const) {
      jobs.on(event, ({ id }) => void told.push([event, id]));
    }
    await work();
    await clock.advance(0.5);
    expect([isStarted(long), isStarted(other)]).toEqual([true, false]);
    expect(told).toEqual([
      ["run.released", other.id],
      ["run.started", long.id],
    ]);
    expect(row(other.id)).toMatchObject({ state: 1, started_at: null });
    release(long);
    await clock.advance(1);
    expect(await jobs.find(other.id)).toMatchObject({ state: "running", attempts: 1, crashes: 0 });
    release(other);
  });

  test("waits at most ten seconds for its neighbours, and is not isolated if some remain", async () => {
    const { jobs, clock, row, crashed, work, release, isStarted } = scene();
    const [short, long] = [await jobs.dispatch("long"), await jobs.dispatch("long")];
    const late = await crashed("long", 1, 1);
    await work();
    await clock.advance(2);
    expect(row(late.id)).toMatchObject({ state: 2, started_at: null });
    const quick = await jobs.dispatch("quick");
    release(short);
    await clock.advance(8.5);
    expect([isStarted(late), await quick.state()]).toEqual([false, "ready"]);
    await clock.advance(1);
    expect(isStarted(late)).toBe(true);
    expect(row(late.id)).toMatchObject({ isolated: 0 });
    await clock.advance(4);
    expect(await quick.state()).toBe("ready");
    await clock.advance(2);
    expect(await quick.state()).toBe("completed");
    release(long, late);
  });

  test("starts as soon as its neighbours have finished", async () => {
    const { jobs, clock, row, crashed, work, release, isStarted } = scene();
    const long = await jobs.dispatch("long");
    const late = await crashed("long", 1, 1);
    await work();
    await clock.advance(2);
    expect(isStarted(late)).toBe(false);
    release(long);
    await clock.advance("10ms");
    expect(isStarted(late)).toBe(true);
    expect(row(late.id)).toMatchObject({ isolated: 1 });
    release(late);
  });

  test("starts, as do many other long ones, and the worker is open to other runs for half of the time", async () => {
    const { jobs, clock, crashed, work, release, isStarted } = scene();
    const all: Run[] = [];
    for (let n = 0; n < 4; n++) all.push(await crashed("long"));
    await work({ parallel: 20 });
    const done = listen(jobs, "run.completed");
    const asked = new Map<number, number>();
    const waited: number[] = [];
    for (let second = 0; second < 180; second++) {
      asked.set((await jobs.dispatch("quick")).id, clock.monotonic());
      await clock.advance(1);
      for (const { id } of done.splice(0)) waited.push(clock.monotonic() - asked.get(id)!);
    }
    expect(all.every(isStarted)).toBe(true);
    expect(waited.length).toBeGreaterThan(175);
    expect(Math.max(...waited)).toBeLessThanOrEqual(16_500);
    expect(waited.filter((ms) => ms <= 1500).length).toBeGreaterThan(waited.length / 2);
    release(...all);
  });

  test("with two crashes shares the process with no other crashed run", async () => {
    const { jobs, clock, row, crashed, work, release, isStarted } = scene();
    const twice = await crashed("long", 2);
    const once = await crashed("long", 1, 2);
    await work();
    await clock.advance(60);
    expect([isStarted(twice), row(twice.id)!.isolated]).toEqual([true, 0]);
    expect(row(once.id)).toMatchObject({ state: 1 });
    const quick = await jobs.dispatch("quick");
    await clock.advance(1);
    expect(await quick.state()).toBe("completed");
    release(twice);
    await clock.advance(1);
    expect(isStarted(once)).toBe(true);
    release(once);
  });

  test("cancelled by force, with a handler that does not return, lets others run at the next renewal", async () => {
    const { jobs, clock, crashed, work, release } = scene();
    const stubborn = await crashed("stubborn", 2);
    await work();
    await clock.advance(0.5);
    const quick = await jobs.dispatch("quick");
    await jobs.cancel(stubborn.id, { force: true });
    await clock.advance(1.5);
    expect(await quick.state()).toBe("completed");
    // It does not delay other crashed runs either.
    const next = await crashed("quick");
    await clock.advance(12);
    expect(await next.state()).toBe("completed");
    release(stubborn);
  });

  test("cancelled while it waits lets others run at once", async () => {
    const { jobs, clock, crashed, work, release } = scene();
    const long = await jobs.dispatch("long");
    const late = await crashed("quick", 1, 1);
    await work();
    await clock.advance(2);
    await jobs.cancel(late.id);
    const quick = await jobs.dispatch("quick");
    await clock.advance(1);
    expect([await late.state(), await quick.state()]).toEqual(["cancelled", "completed"]);
    release(long);
  });

  test("is executed in one pass with all others, one after the other", async () => {
    const { jobs, clock, crashed } = scene();
    let running = 0;
    let most = 0;
    const alone = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    };
    jobs.schedule("counted", alone).concurrency(0);
    for (let n = 0; n < 5; n++) await crashed("counted");
    for (let n = 0; n < 5; n++) await jobs.dispatch("counted").delay(0.01);
    await clock.advance(1);
    expect(await jobs.run()).toBe(10);
    expect(most).toBe(5);
  });

  test("is taken by an idle worker, as are the others", async () => {
    const one = scene();
    const two = scene(one.db, one.clock);
    const three = scene(one.db, one.clock);
    const all: Run[] = [];
    for (let n = 0; n < 5; n++) all.push(await one.crashed("long"));
    for (const { work } of [one, two, three]) await work();
    await one.clock.advance(1);
    for (const { isStarted } of [one, two, three]) expect(all.filter(isStarted)).toHaveLength(1);
    for (const { release } of [one, two, three]) release(...all);
    await one.clock.advance(2);
    for (const { release } of [one, two, three]) release(...all);
    await one.clock.advance(2);
    for (const run of all) expect(await run.state()).toBe("completed");
  });
});

describe("a run that is ended by its crashes", () => {
  /** Simulates the death of a worker that held every run, each alone in its process. */
  function lose(db: DatabaseSync, clock: TestClock, more = ""): void {
    const claimed = `state = 2, attempts = 3, isolated = 1, started_at = ?, locked_until = ?, locked_by = 'dead'${more}`;
    const now = clock.now();
    db.prepare(`update punctual_runs set ${claimed}`).run(now - 9000, now - 1000);
  }

  test.each([
    ["failed", "", "run.failed", { error: { code: "RUN_CRASHED" } }],
    ["cancelled", ", cancelled_at = 1", "run.cancelled", { reason: null }],
  ] as const)("emits that it was %s, and is counted", async (state, more, event, of) => {
    const { jobs, clock, db, crashed } = scene();
    const run = await crashed("long", 2);
    await clock.advance(1);
    lose(db, clock, more);
    const probe = await startProbe(jobs, { port: 0 });
    const reaped = listen(jobs, "run.reaped");
    const ended = listen(jobs, event);
    expect(await jobs.run()).toBe(0);
    const same = { id: run.id, name: "long", queue: "default", attempt: 3, duration: 9000 };
    expect(reaped).toMatchObject([{ ...same, state, crashed: true }]);
    expect(ended).toMatchObject([{ ...same, ...of }]);
    const figures = await (await fetch(`${probe.url}/metrics`)).text();
    expect(figures).toContain(`punctual_attempts_total{job="long",queue="default",outcome="${state}"} 1`);
    await probe.stop();
    const counted = "select sum(failed) as failed, sum(cancelled) as cancelled, sum(crashed) as crashed";
    expect(db.prepare(`${counted} from punctual_minutes where name = 'long'`).get()).toEqual({
      failed: 0,
      cancelled: 0,
      crashed: 1,
      [state]: 1,
    });
  });

  test.each(["run", "forever", "repair"])("calls onError and onAfter once, in %s()", async (how) => {
    const { jobs, clock, db } = scene();
    const told: unknown[] = [];
    const wrong = (): true => {
      told.push("a part that must not be called");
      return true;
    };
    const doomed = jobs
      .schedule("doomed", wrong)
      .when(wrong)
      .onBefore(wrong)
      .onSuccess(wrong)
      .onError(async (error, args, { id, attempt, crashes, key, isLastAttempt }) => {
        told.push([error, await jobs.find(id).then((run) => run?.state), args]);
        told.push({ id, attempt, crashes, key, isLastAttempt });
      })
      .onAfter((args) => void told.push(["after", args]));
    const { id } = await doomed.dispatch({ n: 1 }).key("k");
    db.prepare("update punctual_runs set crashes = 2").run();
    await clock.advance(1);
    lose(db, clock);
    if (how === "repair") await jobs.repair();
    else if (how === "run") await jobs.run();
    else {
      void jobs.forever({ signals: false });
      await clock.advance(60);
    }
    expect(told).toMatchObject([
      [{ code: "RUN_CRASHED" }, "failed", { n: 1 }],
      { id, attempt: 3, crashes: 3, key: "k", isLastAttempt: true },
      ["after", { n: 1 }],
    ]);
    expect(told[0]).toMatchObject([expect.any(PunctualError), {}, {}]);
  });

  test("reports a hook that throws or does not settle, and waits for none", async () => {
    const { jobs, clock, db, errors } = scene();
    const hooks = jobs
      .schedule("doomed", () => {})
      .hookTimeout(10)
      .onError(() => {
        throw new Error("from the hook");
      })
      .onAfter(() => new Promise(() => {}));
    const run = await hooks.dispatch();
    db.prepare("update punctual_runs set crashes = 2").run();
    await clock.advance(1);
    lose(db, clock);
    void jobs.forever({ signals: false });
    await clock.advance(1);
    const quick = await jobs.dispatch("quick");
    await clock.advance(1);
    expect([await run.state(), await quick.state()]).toEqual(["failed", "completed"]);
    await clock.advance(10);
    expect(errors.splice(0)).toMatchObject([
      { error: { message: "from the hook" }, during: `onError of "doomed", run ${run.id}` },
      { error: { code: "HOOK_TIMED_OUT" }, during: `onAfter of "doomed", run ${run.id}` },
    ]);
  });

  test("ends a pass when its hooks have settled", async () => {
    const { jobs, clock, db } = scene();
    const [called, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const job = jobs
      .schedule("doomed", () => {})
      .onError(() => {
        called.resolve();
        return gate.promise;
      });
    await job.dispatch();
    db.prepare("update punctual_runs set crashes = 2").run();
    await clock.advance(1);
    lose(db, clock);
    let hasEnded = false;
    const pass = jobs.run().then(() => {
      hasEnded = true;
    });
    await called.promise;
    await clock.advance(2);
    expect(hasEnded).toBe(false);
    gate.resolve();
    await pass;
  });

  test("a crash that does not end it calls no hook", async () => {
    const { jobs, clock, db } = scene();
    const told: unknown[] = [];
    const job = jobs.schedule("doomed", () => {}).onError(() => void told.push("error"));
    const run = await job.dispatch();
    db.prepare("update punctual_runs set crashes = 1").run();
    await clock.advance(1);
    lose(db, clock);
    await jobs.run();
    expect([await run.state(), told]).toEqual(["completed", []]);
  });
});
