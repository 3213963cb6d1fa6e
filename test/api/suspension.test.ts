import { describe, expect, test } from "vitest";
import type { RunContext } from "../../src/index.ts";
import { heard, listen, open } from "./support/instance.ts";

const HOUR = 3_600_000;

/** A worker with long sleeps, so that nothing else wakes it. */
async function working() {
  const one = open();
  const { jobs, clock } = one;
  const started = heard(jobs, "worker.started");
  const work = () => {
    void jobs.forever({ signals: false, sleep: "10h" });
    return started;
  };
  /** The host sleeps for an hour: its wall clock and the database's time go on, its monotonic clock does not. */
  const suspend = () => clock.set(new Date(clock.now() + HOUR));
  return { ...one, work, suspend };
}

describe("a host that was suspended for an hour", () => {
  test.each(["60s", "1s"])(
    "keeps a run under a lease of %s: it is renewed before any worker reaps it",
    async (lease) => {
      const { jobs, clock, work, suspend } = await working();
      const { promise: go, resolve: release } = Promise.withResolvers<void>();
      let context: RunContext | undefined;
      jobs
        .schedule("slow", (_args, run) => {
          context = run;
          return go;
        })
        .lease(lease);
      await work();
      const begun = heard(jobs, "run.started");
      const run = await jobs.dispatch("slow");
      await begun;
      const reaped = listen(jobs, "run.reaped");
      suspend();
      await clock.advance(2);
      expect((await jobs.find(run.id))!.lockedUntil!.getTime()).toBeGreaterThan(clock.now() - 1000);
      await clock.advance(60);
      expect([context!.signal.aborted, reaped]).toEqual([false, []]);
      const completed = heard(jobs, "run.completed");
      release();
      expect(await completed).toMatchObject({ id: run.id, attempt: 1 });
    },
  );

  test("starts runs that became due meanwhile within seconds", async () => {
    const { jobs, clock, work, suspend } = await working();
    const ran: string[] = [];
    jobs.schedule("later", () => void ran.push("later"));
    jobs.schedule("hourly", () => void ran.push("hourly")).hourly();
    await jobs.dispatch("later").delay("30m");
    await work();
    await clock.advance(1);
    suspend();
    await clock.advance(2);
    expect(ran.sort()).toEqual(["hourly", "later"]);
  });
});
