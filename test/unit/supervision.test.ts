import { describe, expect, test } from "vitest";
import { Silence } from "../../src/supervisor/child.ts";
import { Restarts } from "../../src/supervisor/crew.ts";
import { type SuperviseOptions, toSupervision } from "../../src/supervisor/options.ts";
import { TestClock } from "../../src/testing/index.ts";

describe("the options of supervise()", () => {
  test("default to two children with ten slots each, never replaced, five minutes of silence", () => {
    expect(toSupervision({})).toMatchObject({
      workers: 2,
      parallel: 10,
      maxJobs: Infinity,
      maxMemory: Infinity,
      stall: 300_000,
      worker: { parallel: 20, queues: null, schedules: true, budget: null },
    });
  });

  test.each([
    ["512MB", 512 * 2 ** 20],
    ["1.5 GiB", 1.5 * 2 ** 30],
    ["64k", 64 * 2 ** 10],
    ["1000", 1000],
    [1e9, 1e9],
  ])("maxMemory %s is %d bytes", (maxMemory, bytes) => {
    expect(toSupervision({ maxMemory }).maxMemory).toBe(bytes);
  });

  test.each([
    [{ maxMemory: "much" }, 'maxMemory as bytes or text such as "512MB", got "much"'],
    [{ maxMemory: 0 }, "got 0"],
    [{ workers: 0 }, "workers as a whole number of at least 1, got 0"],
    [{ workers: "2" }, 'workers as a whole number of at least 1, got "2"'],
    [{ parallel: 0 }, "parallel as a whole number of at least 1, got 0"],
    [{ maxJobs: 1.5 }, "maxJobs"],
    [{ maxMemory: Number.NaN }, "got NaN"],
    [{ stall: 1 }, "stall as a duration of at least 2 s, got 1"],
    [{ queues: [] }, "queues as a list of at least one name"],
    [null, "supervise() expected its options as an object, got null"],
    [{ worker: 3 }, 'has no option "worker". Did you mean "workers"?'],
  ])("%o is refused", (options, message) => {
    const refusal = expect.objectContaining({
      code: "INVALID_OPTION",
      message: expect.stringContaining(message),
    });
    expect(() => toSupervision(options as SuperviseOptions)).toThrow(refusal);
  });
});

describe("the silence of a child", () => {
  function silence(): { clock: TestClock; silence: Silence } {
    const clock = new TestClock();
    return { clock, silence: new Silence(clock) };
  }

  test("is zero while each ping is answered, however late after the start", async () => {
    const { clock, silence: one } = silence();
    for (let asked = 0; asked < 5; asked++) {
      await clock.advance(10);
      expect(one.ask(1000)).toBe(0);
      expect(one.since).toBe(clock.monotonic());
      one.end();
      expect(one.since).toBeNull();
    }
  });

  test("lasts from the first unanswered ping to the next message", async () => {
    const { clock, silence: one } = silence();
    for (const length of [0, 1000, 2000, 3000]) {
      expect(one.ask(1000)).toBe(length);
      await clock.advance(1);
    }
    one.end();
    expect(one.ask(1000)).toBe(0);
  });

  test("counts a pause of the parent as one ping", async () => {
    const { clock, silence: one } = silence();
    one.ask(1000);
    await clock.advance(3600);
    expect(one.ask(1000)).toBe(1000);
  });
});

describe("restarts", () => {
  const longest = () => 1 - Number.EPSILON;

  test("a healthy child is replaced at once, another after growing waits", () => {
    const restarts = new Restarts();
    const quick = { lived: 10, ended: 0 };
    expect(restarts.wait({ lived: 60_000, ended: 0 }, longest)).toBe(0);
    const lives = [null, quick, quick, null, quick, quick, quick];
    const waits = lives.map((life) => Math.round(restarts.wait(life, longest)));
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    expect(restarts.wait({ lived: 10_000, ended: 0 }, longest)).toBe(0);
    expect(Math.round(restarts.wait(quick, longest))).toBe(1000);
  });

  test("a child that finished runs is replaced after the first wait, however often", () => {
    const restarts = new Restarts();
    const lives = [0, 0, 0, 1, 1, 1, 0].map((ended) => ({ lived: 10, ended }));
    const waits = lives.map((life) => Math.round(restarts.wait(life, longest)));
    expect(waits).toEqual([1000, 2000, 4000, 1000, 1000, 1000, 2000]);
  });

  test("the waits of several are spread, by half at most", () => {
    expect(new Restarts().wait(null, () => 0)).toBe(500);
  });
});
