import { describe, expect, test } from "vitest";
import { open } from "./support/instance.ts";

describe("keep()", () => {
  test("by default keeps completed runs for a day and failed ones for thirty", async () => {
    const { jobs, clock } = open();
    jobs.schedule("good", () => {});
    jobs.schedule("bad", () => {
      throw new Error("no");
    });
    jobs.schedule("skipped", () => {}).when(() => false);
    jobs.schedule("cancelled", (_args, run) => run.discard());
    const ids: Record<string, number> = {};
    for (const name of ["good", "bad", "skipped", "cancelled"]) ids[name] = (await jobs.dispatch(name)).id;
    await jobs.run();
    await clock.advance("23h");
    await jobs.prune();
    const left = async () => (await jobs.runs()).runs.map((run) => run.name).sort();
    expect(await left()).toEqual(["bad", "cancelled", "good", "skipped"]);
    await clock.advance("1h");
    await jobs.prune();
    expect(await left()).toEqual(["bad"]);
    clock.set("2026-01-30T23:59:59Z");
    await jobs.prune();
    expect(await left()).toEqual(["bad"]);
    clock.set("2026-01-31T00:00:00Z");
    expect(await jobs.prune()).toMatchObject({ history: 1 });
    expect(await left()).toEqual([]);
    expect(await jobs.attempts(ids.bad!)).toEqual([]);
  });

  test("with 0 keeps nothing, whatever the outcome", async () => {
    const { jobs } = open();
    jobs.schedule("good", () => 1).keep(0);
    jobs
      .schedule("bad", () => {
        throw new Error("no");
      })
      .keep(0)
      .retries({ max: 2, base: 0 });
    const good = await jobs.dispatch("good");
    const bad = await jobs.dispatch("bad");
    await jobs.run();
    expect(await good.state()).toBeNull();
    expect(await jobs.find(bad.id)).toBeNull();
    expect(await jobs.attempts(bad.id)).toEqual([]);
    expect((await jobs.status()).jobs.map((job) => [job.name, job.fails])).toEqual([
      ["bad", 2],
      ["good", 0],
    ]);
  });

  test("takes a duration for each state", async () => {
    const { jobs, clock } = open();
    jobs
      .schedule("task", (args: { how: string }, run) => {
        if (args.how === "failed") throw new Error("no");
        if (args.how === "cancelled") run.discard();
      })
      .concurrency(0)
      .keep({ completed: 0, failed: "forever", cancelled: "1h" });
    const runs = await Promise.all(
      ["completed", "failed", "cancelled"].map((how) => jobs.dispatch("task", { how })),
    );
    await jobs.run();
    const states = () => Promise.all(runs.map((run) => run.state()));
    expect(await states()).toEqual([null, "failed", "cancelled"]);
    await clock.advance("1h");
    await jobs.prune();
    expect(await states()).toEqual([null, "failed", null]);
    clock.set("2126-01-01T00:00:00Z");
    await jobs.prune();
    expect(await states()).toEqual([null, "failed", null]);
  });

  test("a worker prunes on its own", async () => {
    const { jobs, clock } = open();
    jobs.schedule("task", () => {}).keep(60);
    const run = await jobs.dispatch("task");
    void jobs.forever({ signals: false });
    await clock.advance(50);
    expect(await run.state()).toBe("completed");
    await clock.advance(100);
    expect(await run.state()).toBeNull();
  });
});
