import { describe, expect, test } from "vitest";
import { busyJob, startsBefore } from "./support/busy.ts";
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
    const busy = busyJob(one, "short");
    busy.job.concurrency(concurrency);
    const other = one.jobs.define("urgent", () => {}).concurrency(0);
    const urgent = concurrency === 0 ? other : busy.job;
    const before = await startsBefore(one, busy, SLOTS, () => urgent.dispatch({}, { priority: 1 }));
    expect(before).toBeLessThanOrEqual(most);
  });
});
