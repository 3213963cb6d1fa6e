import { AssertionError } from "node:assert";
import { describe, expect, test } from "vitest";
import { drain, recordDispatches, TestClock } from "../../src/testing/index.ts";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

describe("TestClock", () => {
  test("stands still until it is moved", async () => {
    const clock = new TestClock();
    expect(new Date(clock.now())).toEqual(new Date("2026-01-01T00:00:00Z"));
    expect(new Date(new TestClock("2030-02-03T04:05:06Z").now())).toEqual(new Date("2030-02-03T04:05:06Z"));
    expect(new TestClock(new Date(5000)).now()).toBe(5000);
    await expectRefusal(() => new TestClock("soon"), "INVALID_INSTANT", 'got "soon"');
  });

  test("advance() fires timers at their time, in order, also those they start", async () => {
    const clock = new TestClock();
    const start = clock.now();
    const told: unknown[] = [];
    const note = (what: string) => told.push([what, clock.now() - start, clock.monotonic()]);
    clock.after(2000, () => note("two"));
    clock.after(1000, () => {
      note("one");
      clock.after(500, () => note("one and a half"));
    });
    const off = clock.after(1500, () => note("called off"));
    clock.after(5000, () => note("later"));
    off();
    await clock.advance(2);
    expect(told).toEqual([
      ["one", 1000, 1000],
      ["one and a half", 1500, 1500],
      ["two", 2000, 2000],
    ]);
    expect([clock.now() - start, clock.monotonic()]).toEqual([2000, 2000]);
    await clock.advance("3s");
    expect(told.at(-1)).toEqual(["later", 5000, 5000]);
  });

  test("work that a timer starts proceeds before time continues", async () => {
    const clock = new TestClock();
    const told: string[] = [];
    clock.after(1000, async () => {
      for (let n = 0; n < 20; n++) await Promise.resolve();
      told.push("work of the first");
    });
    clock.after(1001, () => told.push("second"));
    await clock.advance(5);
    expect(told).toEqual(["work of the first", "second"]);
  });

  test("set() moves the wall clock only, also back", async () => {
    const clock = new TestClock();
    let fired = 0;
    clock.after(1000, () => fired++);
    clock.set("2027-01-01T00:00:00Z");
    expect(new Date(clock.now())).toEqual(new Date("2027-01-01T00:00:00Z"));
    clock.set(new Date("2025-01-01T00:00:00Z"));
    expect([clock.monotonic(), fired]).toEqual([0, 0]);
    await clock.advance(1);
    expect([clock.now(), fired]).toEqual([Date.parse("2025-01-01T00:00:01Z"), 1]);
  });

  test("has whole milliseconds only", async () => {
    const clock = new TestClock();
    const seen: number[] = [];
    clock.after(0.4, () => seen.push(clock.now()));
    clock.after(1000 / 3, () => seen.push(clock.now()));
    await clock.advance(1);
    for (const now of [...seen, clock.now()]) expect(Number.isInteger(now)).toBe(true);
  });

  test("refuses an invalid duration", async () => {
    const clock = new TestClock();
    await expectRefusal(() => clock.advance(-1), "INVALID_DURATION", "advance()", "got -1");
    await expectRefusal(() => clock.set("noon"), "INVALID_INSTANT", 'got "noon"');
  });
});

describe("drain()", () => {
  test("executes all due runs, and runs that they make due", async () => {
    const { jobs } = open();
    let left = 50;
    jobs.schedule("chain", async () => {
      if (--left > 0) await jobs.dispatch("chain");
    });
    await jobs.dispatch("chain");
    await jobs.dispatch("chain").delay(60);
    expect(await drain(jobs)).toBe(50);
    expect(await drain(jobs)).toBe(0);
  });

  test("executes retries that are due at once, not those that wait", async () => {
    const { jobs, clock } = open();
    jobs
      .schedule("flaky", () => {
        throw new Error("no");
      })
      .retries({ max: 3, backoff: (failures) => (failures === 1 ? 0 : 60) });
    await jobs.dispatch("flaky");
    expect(await drain(jobs, { failures: "ignore" })).toBe(2);
    await clock.advance(60);
    expect(await drain(jobs, { failures: "ignore" })).toBe(1);
  });

  test("rejects if a run failed, and lists the failures", async () => {
    const { jobs } = open();
    jobs.schedule("broken", ({ n }: { n: number }) => {
      throw new TypeError(`no customer ${n}`);
    });
    jobs.schedule("fine", () => {});
    await jobs.dispatch("fine");
    for (let n = 1; n <= 12; n++) await jobs.dispatch("broken", { n });
    const error = await drain(jobs).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "RUN_FAILED", cause: { message: "no customer 1" } });
    const lines = error.message.split("\n");
    expect(lines[0]).toBe("drain() ran 13 runs, and 12 failed:");
    expect(lines[1]).toBe('  "broken", run 2, attempt 1: TypeError: no customer 1');
    expect(lines.slice(-2)).toEqual([
      "  and 2 more",
      'If the test expects failures, call drain(jobs, { failures: "ignore" })',
    ]);
    expect(lines).toHaveLength(13);
    expect(await drain(jobs)).toBe(0);
  });

  test("rejects for an attempt that will be retried later, not for one whose run completed", async () => {
    const { jobs, clock } = open();
    jobs
      .schedule("flaky", (_args, run) => {
        if (run.attempt !== 3) throw new Error("busy");
      })
      .retries({ max: 3, backoff: (failures) => (failures === 1 ? 60 : 0) });
    await jobs.dispatch("flaky");
    await expect(drain(jobs)).rejects.toThrow('"flaky", run 1, attempt 1, to be retried: Error: busy');
    await clock.advance(60);
    expect(await drain(jobs)).toBe(2);
  });

  test("removes its listeners when it has resolved", async () => {
    const { jobs } = open();
    jobs.schedule("broken", () => Promise.reject(new Error("no")));
    await jobs.dispatch("broken");
    await jobs.run();
    expect(await drain(jobs)).toBe(0);
  });

  test("rejects for a job that dispatches itself", async () => {
    const { jobs } = open();
    let ran = 0;
    jobs.schedule("runaway", async () => {
      ran++;
      await jobs.dispatch("runaway");
    });
    await jobs.dispatch("runaway");
    await expect(drain(jobs, { atMost: 20 })).rejects.toThrow(/drain\(\).*20.*dispatch itself.*atMost/);
    expect(ran).toBe(21);
  });

  test("accepts exactly atMost runs", async () => {
    const { jobs } = open();
    const job = jobs.schedule("task", () => {});
    await job.dispatchMany([{}, {}, {}]);
    expect(await drain(jobs, { atMost: 3 })).toBe(3);
  });

  test("refuses unknown options", async () => {
    const { jobs } = open();
    await expectRefusal(() => drain(jobs, { atMost: 0 }), "INVALID_OPTION", "drain() atMost", "got 0");
    await expectRefusal(() => drain(jobs, { max: 5 } as object), "INVALID_OPTION", "Known: atMost, failures");
    const wrong = { failures: "all" } as object;
    await expectRefusal(
      () => drain(jobs, wrong),
      "INVALID_OPTION",
      'expected "throw" or "ignore", got "all"',
    );
  });
});

describe("recordDispatches()", () => {
  const failed = async (work: () => Promise<void>): Promise<AssertionError> => {
    const error = await work().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(AssertionError);
    return error as AssertionError;
  };

  test("records dispatches from now on", async () => {
    const { jobs } = open();
    const mail = jobs.schedule("mail", (_args: { to: string }) => {});
    jobs.schedule("post", () => {});
    await mail.dispatch({ to: "before" });
    const dispatches = recordDispatches(jobs);
    await dispatches.assertNotDispatched();
    const run = await mail.dispatch({ to: "ada" });
    await mail.dispatchMany([{ to: "bob" }, { to: "eve" }]);
    await jobs.dispatch("post").queue("slow");
    expect(await dispatches.all("mail")).toMatchObject([
      { id: run.id, name: "mail", queue: "default", inserted: true, args: { to: "ada" } },
      { args: { to: "bob" } },
      { args: { to: "eve" } },
    ]);
    expect(await dispatches.all()).toHaveLength(4);
    await dispatches.assertDispatched("mail");
    await dispatches.assertDispatched("mail", { to: "eve" });
    await dispatches.assertCount("mail", 3);
    await dispatches.assertCount("nothing", 0);
    await dispatches.assertNotDispatched("nothing");
    dispatches.stop();
    await mail.dispatch({ to: "after" });
    await dispatches.assertCount("mail", 3);
  });

  test("names the dispatches that were found instead", async () => {
    const { jobs } = open();
    const mail = jobs.schedule("mail", (_args: { to: string }) => {});
    const dispatches = recordDispatches(jobs);
    expect((await failed(() => dispatches.assertDispatched("mail"))).message).toBe(
      'Expected "mail" to be dispatched; dispatched: nothing.',
    );
    await mail.dispatch({ to: "ada" });
    const other = await failed(() => dispatches.assertDispatched("post"));
    expect(other.message).toBe('Expected "post" to be dispatched; dispatched: mail.');
    const args = await failed(() => dispatches.assertDispatched("mail", { to: "bob" }));
    expect(args.message).toBe('"mail" was dispatched, but never with these arguments.');
    expect([args.actual, args.expected]).toEqual([[{ to: "ada" }], { to: "bob" }]);
    expect((await failed(() => dispatches.assertCount("mail", 2))).message).toBe(
      'Expected "mail" to be dispatched 2 times, it was 1 times.',
    );
    expect((await failed(() => dispatches.assertNotDispatched("mail"))).message).toBe(
      'Expected "mail" not to be dispatched.',
    );
    expect((await failed(() => dispatches.assertNotDispatched())).message).toBe(
      "Expected nothing not to be dispatched.",
    );
  });

  test("has the arguments of runs that are finished and not kept", async () => {
    const { jobs } = open();
    jobs.schedule("fleeting", () => {}).keep(0);
    const dispatches = recordDispatches(jobs);
    await jobs.dispatch("fleeting", { n: 1 });
    await drain(jobs);
    await dispatches.assertDispatched("fleeting", { n: 1 });
  });

  test("records dispatches that were not awaited", async () => {
    const { jobs } = open();
    jobs.schedule("mail", () => {});
    const dispatches = recordDispatches(jobs);
    void jobs.dispatch("mail", { n: 1 });
    await dispatches.assertDispatched("mail", { n: 1 });
  });
});
