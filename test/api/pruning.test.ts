import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { heard, open, stopped } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

async function scene() {
  const one = open();
  one.jobs.schedule("task", () => {}).keep("forever");
  const run = await one.jobs.dispatch("task");
  await one.jobs.run();
  return { ...one, run };
}

describe("prune()", () => {
  test("deletes nothing within its retention", async () => {
    const { jobs, clock, run } = await scene();
    await clock.advance("1h");
    expect(await jobs.prune()).toEqual({ history: 0, jobs: 0, orphans: 0, workers: 0 });
    expect(await run.state()).toBe("completed");
  });

  test.each([[3600], [{ finished: "1h" }], [{ finished: 3600 }]])(
    "%j deletes finished runs older than that, whatever their retention",
    async (options) => {
      const { jobs, clock, run } = await scene();
      await clock.advance("59m");
      expect((await jobs.prune(options)).history).toBe(0);
      await clock.advance("1m");
      expect((await jobs.prune(options)).history).toBe(1);
      expect(await run.state()).toBeNull();
    },
  );

  test("deletes only the given states, reports each batch, and can be counted before", async () => {
    const { jobs, clock } = await scene();
    jobs.schedule("bad", () => Promise.reject(new Error("no"))).concurrency(0);
    for (let n = 0; n < 5; n++) await jobs.dispatch("bad");
    await jobs.run();
    await clock.advance("1h");
    const options = { finished: "30m", state: "failed", batch: 2 } as const;
    expect(await jobs.countPrunable(options)).toMatchObject({ history: 5, capped: false });
    const told: number[] = [];
    const progress = ({ history }: { history: number }) => void told.push(history);
    expect((await jobs.prune({ ...options, progress })).history).toBe(5);
    expect(told).toEqual([2, 4, 5]);
    expect(await jobs.countPrunable(options)).toMatchObject({ history: 0 });
    expect((await jobs.prune({ finished: "30m" })).history).toBe(1);
  });

  test("keeps the newest of each job and deletes older ones, whatever their retention", async () => {
    const { jobs, clock, run } = await scene();
    const later = [await jobs.dispatch("task"), await jobs.dispatch("task")];
    await jobs.run();
    expect(await jobs.countPrunable({ keep: 2 })).toMatchObject({ history: 1 });
    expect((await jobs.prune({ keep: 2, finished: "1h" })).history).toBe(0);
    await clock.advance("1h");
    expect((await jobs.prune({ keep: 2, finished: "1h" })).history).toBe(1);
    expect(await run.state()).toBeNull();
    expect(await Promise.all(later.map((one) => one.state()))).toEqual(["completed", "completed"]);
  });

  test("never deletes waiting or running runs", async () => {
    const { jobs, clock } = await scene();
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    jobs.schedule("slow", () => go).lease(1000);
    const waiting = await jobs.dispatch("task").delay("10 days");
    const running = await jobs.dispatch("slow");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    clock.set("2026-01-05T00:00:00Z");
    await jobs.prune(0);
    expect([await waiting.state(), await running.state()]).toEqual(["scheduled", "running"]);
    release();
    await pass;
  });

  test("deletes jobs that no worker has defined for long, unless they have unfinished runs", async () => {
    const db = new DatabaseSync(":memory:");
    const before = open({}, db);
    for (const name of ["idle", "busy", "paused"]) before.jobs.schedule(name, () => {});
    await before.jobs.run();
    await before.jobs.dispatch("busy").delay("100 days");
    await stopped(before);
    const { jobs, clock } = open({}, db);
    const names = async () => (await jobs.status()).jobs.map((job) => job.name);
    clock.set("2026-01-30T00:00:00Z");
    expect((await jobs.prune()).jobs).toBe(0);
    expect(await names()).toEqual(["busy", "idle", "paused"]);
    expect((await jobs.prune({ jobs: "7 days", orphans: "100 days" })).jobs).toBe(2);
    expect(await names()).toEqual(["busy"]);
  });

  test("deletes runs that wait for a job that no worker defines", async () => {
    const { jobs, clock } = open();
    jobs.declare("elsewhere");
    const run = await jobs.dispatch("elsewhere");
    clock.set("2026-01-30T00:00:00Z");
    expect((await jobs.prune()).orphans).toBe(0);
    expect((await jobs.prune({ orphans: "7 days" })).orphans).toBe(1);
    expect(await run.state()).toBeNull();
    clock.set("2026-03-30T00:00:00Z");
    await jobs.dispatch("elsewhere");
    expect((await jobs.prune()).orphans).toBe(0);
  });

  test("deletes workers that were not seen for long", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    await one.jobs.install();
    db.exec(
      `insert into punctual_workers (id, host, pid, parallel, started_at, seen_at) values ('dead', 'h', 1, 1, 0, 0)`,
    );
    expect((await one.jobs.prune()).workers).toBe(1);
  });

  test.each([
    ["1 day", "INVALID_OPTION", "prune()", 'got "1 day"'],
    [null, "INVALID_OPTION", "prune()", "got null"],
    [{ days: 3 }, "INVALID_OPTION", 'no option "days"', "Known: job, finished, keep, jobs, orphans"],
    [-1, "INVALID_DURATION", "got -1"],
    [{ state: "ready" }, "INVALID_OPTION", "deletes finished runs", 'got "ready"'],
    [{ batch: 0 }, "INVALID_OPTION", "batch", "got 0"],
    [{ keep: -1 }, "INVALID_OPTION", "keep", "of at least 0", "got -1"],
    [{ keep: "5" }, "INVALID_OPTION", "keep", 'got "5"'],
    [{ progress: 1 }, "INVALID_OPTION", "progress"],
    [{ finished: "old" }, "INVALID_DURATION", 'got "old"'],
  ] as [unknown, Parameters<typeof expectRefusal>[1], ...string[]][])(
    "refuses %j",
    async (options, code, ...parts) => {
      const { jobs } = open();
      await expectRefusal(() => jobs.prune(options as number), code, ...parts);
    },
  );
});
