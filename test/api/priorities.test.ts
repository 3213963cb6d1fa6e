import { describe, expect, test } from "vitest";
import { busyJob } from "./support/busy.ts";
import { open } from "./support/instance.ts";

/** Runs of ten slots: an urgent run overtakes those that are prefetched, and waits for those that have started. */
const SLOTS = 10;

/** Runs of a chain that each take 5 ms: those of 50 ms (note 36). */
const CHAIN = 10;

describe("a run of higher priority that is dispatched while others are prefetched", () => {
  test.each([
    ["of a job without a limit", 0, 4 * SLOTS],
    ["of a job that is limited to 1, after its chain,", 1, CHAIN + 1],
    ["of a job that is limited to 4, after its chains,", 4, 4 * (CHAIN + 1)],
  ])("%s starts before those that have not started", async (_, concurrency, most) => {
    const one = open();
    const { job, busy } = busyJob(one, "short");
    job.concurrency(concurrency);
    const urgent = one.jobs.define("urgent", () => {}).concurrency(0);
    await job.dispatchMany(Array.from({ length: 3000 }, () => ({})));
    void one.jobs.forever({ signals: false, parallel: SLOTS });
    const pass = async () => {
      for (let n = busy.now; n > 0; n--) busy.release();
      await one.clock.advance("5ms");
    };
    // Until the worker has measured its pace.
    while (busy.started < 500) await pass();
    const since = busy.started;
    let overtaken: number | null = null;
    one.jobs.on("run.started", ({ id }) => {
      if (id === more.id) overtaken ??= busy.started - since;
    });
    const more = await (concurrency === 0
      ? urgent.dispatch({}, { priority: 1 })
      : job.dispatch({}, { priority: 1 }));
    while (overtaken === null && busy.started < 3000) await pass();
    expect(overtaken).toBeLessThanOrEqual(most);
  });
});
