import { afterEach, describe, expect, test } from "vitest";
import { Job, Punctual } from "../../src/index.ts";
import { TestClock } from "../../src/testing/index.ts";
import { expectRefusal } from "./support/refusal.ts";

const made: Punctual[] = [];

function instance(clock = new TestClock()): Punctual {
  const jobs = new Punctual("sqlite::memory:", { clock, logger: false });
  made.push(jobs);
  return jobs;
}

afterEach(() => Promise.all(made.splice(0).map((jobs) => jobs.stop())));

describe("Job.use()", () => {
  test("makes Job use an instance, with its clock and options", async () => {
    const clock = new TestClock("2026-01-01T00:00:00Z");
    const jobs = instance(clock);
    expect(Job.use(jobs)).toBe(jobs);
    const times: Date[] = [];
    Job.schedule("facade.tick", (_, run) => void times.push(run.scheduledFor)).everyMinute();
    await Job.run();
    await clock.advance(60);
    expect(await Job.run()).toBe(1);
    expect(times).toEqual([new Date("2026-01-01T00:01:00Z")]);
    expect((await jobs.runs({ job: "facade.tick" })).runs).toHaveLength(1);
  });

  test("takes over earlier definitions, and stops the previous instance", async () => {
    const first = instance();
    Job.use(first);
    const seen: unknown[] = [];
    const defined = Job.schedule<{ n: number }>("facade.moved", ({ n }) => void seen.push(n));
    Job.on("run.completed", ({ name }) => void seen.push(name));
    const second = instance();
    Job.use(second);
    await defined.dispatch({ n: 1 });
    await Job.dispatch("facade.moved", { n: 2 });
    expect((await second.runs({ job: "facade.moved" })).runs).toHaveLength(2);
    await second.run();
    expect(seen).toEqual([1, "facade.moved", 2, "facade.moved"]);
    expect(first.definitions()).toEqual(second.definitions());
  });

  test("moves definitions from instance to instance", async () => {
    Job.use(instance());
    const defined = Job.schedule("facade.followed", () => "done");
    for (let turn = 0; turn < 3; turn++) {
      Job.use(instance());
      const run = await defined.dispatch();
      expect(run.id).toBe(1);
      await Job.run();
      expect((await Job.find(run.id))?.result).toBe("done");
      await Job.stop();
    }
  });

  test("opens Job again after Job.stop()", async () => {
    Job.use(instance());
    const defined = Job.schedule("facade.again", () => "done");
    await Job.stop();
    await expectRefusal(() => defined.dispatch(), "CLOSED");
    Job.use(instance());
    const run = await defined.dispatch();
    expect(await Job.run()).toBe(1);
    expect((await Job.find(run.id))?.result).toBe("done");
  });

  test("refuses anything but an instance", async () => {
    for (const value of [undefined, {}, Punctual, "sqlite::memory:", Job])
      await expectRefusal(
        () => Job.use(value as never),
        "INVALID_OPTION",
        "Job.use() expected a new Punctual()",
      );
  });
});

test("Job has the members of an instance, without opening a database", () => {
  for (const name of ["schedule", "dispatch", "run", "status", "running", "use"])
    expect(name in Job).toBe(true);
  expect("nothing" in Job).toBe(false);
  expect(Job).toBeInstanceOf(Punctual);
});

describe("the property running", () => {
  test("is true while a pass is under way, and false before and after", async () => {
    const jobs = instance();
    let inside: boolean | undefined;
    jobs.schedule("task", () => {
      inside = jobs.running;
    });
    await jobs.dispatch("task");
    expect(jobs.running).toBe(false);
    await jobs.run();
    expect(inside).toBe(true);
    expect(jobs.running).toBe(false);
  });

  test("is true from the call of forever() until it has drained", async () => {
    const jobs = instance();
    const ended = jobs.forever({ signals: false });
    expect(jobs.running).toBe(true);
    const stopped = jobs.stop();
    expect(jobs.running).toBe(true);
    await Promise.all([ended, stopped]);
    expect(jobs.running).toBe(false);
  });
});

describe("a custom clock", () => {
  const fine = { now: () => 0, monotonic: () => 0, after: () => () => {}, manual: true };
  test.each([
    ["null", null, "got now undefined"],
    ["no after()", { ...fine, after: undefined }, "got after undefined"],
    ["no manual", { ...fine, manual: undefined }, "clock.manual"],
    ["a Date as now()", { ...fine, now: () => new Date(0) }, "clock.now() to give milliseconds"],
    [
      "NaN as monotonic()",
      { ...fine, monotonic: () => Number.NaN },
      "clock.monotonic() to give milliseconds",
    ],
  ])("%s is refused when the instance is made", async (_, clock, part) => {
    await expectRefusal(
      () => new Punctual("sqlite::memory:", { clock: clock as never, logger: false }),
      "INVALID_OPTION",
      part,
    );
  });
});
