import { describe, expect, test } from "vitest";
import type { RecurOptions } from "../../src/index.ts";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

/** Returns the hours at which an hourly schedule with these options ran, in one day. */
async function hours(options: RecurOptions): Promise<number[]> {
  const { jobs, clock } = open();
  clock.set("2026-01-01T00:30:00Z");
  const ran: number[] = [];
  jobs.schedule("task", (_, run) => void ran.push(run.scheduledFor.getUTCHours()));
  jobs.recur("task", "0 * * * *", options);
  await jobs.run();
  for (let hour = 0; hour < 24; hour++) {
    await clock.advance(3600);
    await jobs.run();
  }
  return ran;
}

describe("options of recur()", () => {
  test("windows", async () => {
    expect(await hours({ between: ["09:00", "11:00"] })).toEqual([9, 10, 11]);
    expect(await hours({ between: ["09:00", "12:00"], unlessBetween: ["10:00", "11:00"] })).toEqual([9, 12]);
  });

  test("a first and a last instant", async () => {
    const options = { startingAt: "2026-01-01T05:00:00Z", endingAt: "2026-01-01T07:00:00Z" };
    expect(await hours(options)).toEqual([5, 6, 7]);
  });

  test("environments", async () => {
    expect(await hours({ environments: ["nowhere"] })).toEqual([]);
    expect(
      await hours({ environments: [process.env.PUNCTUAL_ENV ?? process.env.NODE_ENV ?? ""] }),
    ).toHaveLength(24);
  });

  test.each([
    ["once", undefined, 1],
    ["skip", "skip" as const, 0],
    ["all", "all" as const, 5],
    ["all, limited", { policy: "all" as const, limit: 2 }, 2],
    ["all, within two hours", { policy: "all" as const, within: "2h" }, 2],
  ])("misfire: %s", async (_, misfire, expected) => {
    const { jobs, clock } = open();
    clock.set("2026-01-01T00:30:00Z");
    jobs.schedule("task", () => {}).concurrency(0);
    jobs.recur("task", "0 * * * *", misfire === undefined ? {} : { misfire });
    await jobs.run();
    await clock.advance(4.75 * 3600);
    expect(await jobs.run()).toBe(expected);
  });

  test("schedules that differ in these options only are separate; an equal one is added once", async () => {
    const { jobs } = open();
    const task = jobs.schedule("task", () => {});
    for (const between of [
      ["09:00", "10:00"],
      ["11:00", "12:00"],
      ["09:00", "10:00"],
    ] as const)
      jobs.recur("task", "0 * * * *", { between });
    expect(task.schedules()).toHaveLength(2);
  });

  test("a schedule without these options keeps its slot", () => {
    const { jobs } = open();
    const task = jobs.schedule("task", () => {});
    jobs.recur("task", "*/5 * * * *", { args: { n: 1 } });
    expect(task.schedules().map(({ slot }) => slot)).toEqual(["1apfj1hixkm"]);
  });

  test("unknown options are refused", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const recur = (options: object) => () => jobs.recur("task", "0 * * * *", options);
    await expectRefusal(recur({ betwen: ["09:00", "10:00"] }), "INVALID_OPTION", 'Did you mean "between"?');
    await expectRefusal(recur({ between: "09:00" }), "INVALID_OPTION", "two times of day");
    await expectRefusal(recur({ misfire: "never" }), "INVALID_OPTION", '"once", "skip" or "all"');
    await expectRefusal(recur({ misfire: { policy: "all", most: 1 } }), "INVALID_OPTION", "misfire()");
  });
});
