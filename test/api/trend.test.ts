import { describe, expect, test } from "vitest";
import { open } from "./support/instance.ts";

describe("trend()", () => {
  test("counts outcomes and times of a job, a queue and all", async () => {
    const { jobs, clock } = open();
    jobs.define("mail", async () => clock.advance("100ms")).queue("bulk");
    jobs
      .define("report", () => {
        throw new Error("no paper");
      })
      .attempts(1);
    for (let count = 0; count < 3; count++) await jobs.dispatch("mail");
    await jobs.dispatch("report");
    await clock.advance("2s");
    await jobs.run();
    await clock.advance(10);
    const all = await jobs.trend();
    expect(all.step).toBe(60_000);
    expect(all.points).toHaveLength(60);
    expect(all.total.counts).toMatchObject({ completed: 3, failed: 1, retried: 0 });
    expect(all.points.at(-1)!.counts.completed).toBe(3);
    expect((await jobs.trend({ queue: "bulk" })).total.counts).toMatchObject({ completed: 3, failed: 0 });
    const { total } = await jobs.trend({ job: "mail", over: "7d" });
    expect(total.counts.completed).toBe(3);
    expect(total.took!.p50).toBeGreaterThan(80);
    expect(total.took!.p50).toBeLessThan(120);
    expect(total.waited!.p95).toBeGreaterThan(1600);
    expect((await jobs.trend({ job: "other" })).total).toMatchObject({ took: null, waited: null });
  });

  test("refuses invalid options", async () => {
    const { jobs } = open();
    await expect(jobs.trend({ over: "2h" as never })).rejects.toThrow(
      'trend() expected over to be one of 1h, 6h, 24h, 7d, got "2h".',
    );
    await expect(jobs.trend({ job: "a", queue: "b" })).rejects.toThrow("expected a job or a queue, got both");
    await expect(jobs.trend({ jobs: "a" } as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });
});

describe("trends()", () => {
  test("returns the trend of every job or queue that had attempts", async () => {
    const { jobs, clock } = open();
    jobs.define("mail", async () => clock.advance("100ms")).queue("bulk");
    jobs.define("idle", () => {});
    await jobs.dispatch("mail");
    await jobs.run();
    await clock.advance(600);
    await jobs.dispatch("mail");
    await jobs.run();
    const hour = await jobs.trends({ by: "queue", points: 12 });
    expect([...hour.keys()]).toEqual(["bulk"]);
    expect(hour.get("bulk")!.step).toBe(300_000);
    expect(hour.get("bulk")!.points.map(({ counts }) => counts.completed)).toEqual([
      ...Array(9).fill(0),
      1,
      0,
      1,
    ]);
    const day = await jobs.trends({ by: "job", over: "24h" });
    expect(day.get("mail")!.total).toEqual(day.get("mail")!.points[0]);
    expect(day.get("mail")!.total).toMatchObject({ counts: { completed: 2 } });
    expect(day.get("mail")!.total.took!.p50).toBeGreaterThan(80);
  });

  test("says what was wrong with its options", async () => {
    const { jobs } = open();
    await expect(jobs.trends({ by: "run" as never })).rejects.toThrow(
      'expected by as "job" or "queue", got "run"',
    );
    await expect(jobs.trends({ by: "job", points: 7 })).rejects.toThrow(
      "a divisor of 60, the minutes of 1h, got 7",
    );
    await expect(jobs.trends({ by: "job", over: "2h" as never })).rejects.toThrow("one of 1h, 6h, 24h, 7d");
  });
});
