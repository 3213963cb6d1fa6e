import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { RunContext } from "../../src/index.ts";
import { heard, listen, open } from "./support/instance.ts";

function scene(lease: number | string = 60) {
  const db = new DatabaseSync(":memory:");
  const one = open({}, db);
  const { promise: go, resolve: release } = Promise.withResolvers<void>();
  let context: RunContext | undefined;
  one.jobs
    .schedule("slow", (_args, run) => {
      context = run;
      return go;
    })
    .lease(lease);
  return { ...one, db, release, context: () => context! };
}

describe("a lease", () => {
  test.each([
    [60, "5m"],
    [5, "60s"],
    ["1s", "20s"],
  ])("of %s s is renewed while the handler works", async (lease, long) => {
    const { jobs, clock, release, context } = scene(lease);
    const run = await jobs.dispatch("slow");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    const reaped = listen(jobs, "run.reaped");
    const lost = listen(jobs, "run.lost");
    await clock.advance(long);
    const info = (await jobs.find(run.id))!;
    expect(info.state).toBe("running");
    expect(info.lockedUntil!.getTime()).toBeGreaterThan(clock.now());
    expect(context().signal.aborted).toBe(false);
    release();
    await pass;
    expect([await run.state(), reaped, lost]).toEqual(["completed", [], []]);
  });

  test("has the length of the job's setting, by default 60 seconds", async () => {
    const { jobs, release } = scene("2m");
    jobs.schedule("other", () => {});
    const slow = await jobs.dispatch("slow");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    expect((await jobs.find(slow.id))?.lockedUntil).toEqual(new Date("2026-01-01T00:02:00Z"));
    release();
    await pass;
    const other = await jobs.dispatch("other");
    const locked = heard(jobs, "run.started").then(() => jobs.find(other.id));
    await jobs.run();
    expect((await locked)?.lockedUntil).toEqual(new Date("2026-01-01T00:01:00Z"));
  });

  test("that another worker has taken aborts the handler's signal, and its result is discarded", async () => {
    const { jobs, clock, db, release, context } = scene(30);
    const run = await jobs.dispatch("slow");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    db.prepare("update punctual_runs set lease_token = 'another', locked_by = 'another'").run();
    const lost = heard(jobs, "run.lost");
    await clock.advance(11);
    expect(context().signal.aborted).toBe(true);
    expect(context().signal.reason).toMatchObject({ code: "LEASE_LOST" });
    release();
    await pass;
    expect(await lost).toMatchObject({ id: run.id, name: "slow", attempt: 1 });
    expect(await jobs.find(run.id)).toMatchObject({ state: "running", worker: "another" });
    expect(await jobs.attempts(run.id)).toEqual([]);
  });

  test("that is lost between the handler's end and the write writes nothing", async () => {
    const { jobs, db, release } = scene(30);
    const run = await jobs.dispatch("slow");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    db.prepare("update punctual_runs set lease_token = 'another', locked_by = 'another'").run();
    const lost = listen(jobs, "run.lost");
    const completed = listen(jobs, "run.completed");
    release();
    await pass;
    expect(lost).toHaveLength(1);
    expect(completed).toEqual([]);
    expect(await run.state()).toBe("running");
  });
});
