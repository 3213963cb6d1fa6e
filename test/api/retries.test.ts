import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Dispatch, PermanentError, type RetryPolicy, type Run } from "../../src/index.ts";
import { temporaryFolder } from "./support/child.ts";
import { heard, listen, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

/** A job that always fails. Returns the seconds that it waited before each further attempt. */
async function waits(retries: Partial<RetryPolicy>, random: () => number, failing: () => never = fail) {
  const { jobs } = open({ random });
  jobs.schedule("task", failing).retries(retries);
  const retried = listen(jobs, "run.retried");
  const run = await jobs.dispatch("task");
  for (let tries = 0; tries < 20 && (await run.state()) !== "failed"; tries++) {
    const before = await jobs.find(run.id);
    if (before?.state === "scheduled") await jobs.move(run.id, "2026-01-01T00:00:00Z");
    await jobs.run();
  }
  return { delays: retried.map(({ delay }) => delay / 1000), run: (await jobs.find(run.id))!, jobs };
}

function fail(): never {
  throw new Error("down");
}

describe("backoff", () => {
  test("none: min(cap, base · 2^(attempts − 1))", async () => {
    const { delays, run } = await waits({ max: 8, base: 2, cap: 60, jitter: "none" }, () => 0.5);
    expect(delays).toEqual([2, 4, 8, 16, 32, 60, 60]);
    expect(run).toMatchObject({ state: "failed", attempts: 8 });
  });

  test.each([
    [0, [0, 0, 0, 0]],
    [0.5, [1, 2, 4, 5]],
    [0.999999, [2, 4, 8, 10]],
  ])("full jitter: a random wait up to that, here %d of it", async (dice, expected) => {
    const { delays } = await waits({ max: 5, base: 2, cap: 10, jitter: "full" }, () => dice);
    expect(delays).toEqual(expected);
  });

  test("full jitter stays within its bounds", async () => {
    const { delays } = await waits({ max: 9, base: 1, cap: 20 }, Math.random);
    delays.forEach((delay, index) => {
      expect(delay).toBeGreaterThanOrEqual(0);
      expect(delay).toBeLessThanOrEqual(Math.min(20, 2 ** index));
    });
  });

  test("a function returns seconds or text", async () => {
    const asked: unknown[] = [];
    const { delays } = await waits(
      {
        max: 4,
        backoff: (failures, error) => {
          asked.push([failures, (error as Error).message]);
          return failures === 1 ? 5 : failures === 2 ? "90s" : 0;
        },
      },
      () => 0.5,
    );
    expect(delays).toEqual([5, 90, 0]);
    expect(asked).toEqual([
      [1, "down"],
      [2, "down"],
      [3, "down"],
    ]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["gives nonsense", () => "soon"],
    ["gives a promise", () => Promise.reject(new Error("async")) as unknown as number],
    ["gives less than nothing", () => -5],
  ])("a function that %s is replaced by the formula", async (_what, backoff) => {
    const { delays } = await waits({ max: 2, base: 3, jitter: "none", backoff }, () => 0.5);
    expect(delays).toEqual([3]);
  });

  test("the run waits that long", async () => {
    const { jobs, clock } = open();
    let tries = 0;
    jobs
      .schedule("task", () => {
        tries++;
        throw new Error("down");
      })
      .retries({ max: 3, base: 10, jitter: "none" });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(await jobs.find(run.id)).toMatchObject({
      state: "scheduled",
      attempts: 1,
      runAt: new Date("2026-01-01T00:00:10Z"),
    });
    await clock.advance("9.999s");
    expect(await jobs.run()).toBe(0);
    await clock.advance("1ms");
    expect(await jobs.run()).toBe(1);
    await clock.advance(20);
    expect(await jobs.run()).toBe(1);
    expect([tries, await run.state()]).toEqual([3, "failed"]);
  });
});

describe("the number of attempts", () => {
  test("is 1 by default", async () => {
    const { delays, run } = await waits({}, () => 0.5);
    expect(delays).toEqual([]);
    expect(run).toMatchObject({ state: "failed", attempts: 1 });
  });

  test("ends with a success", async () => {
    const { jobs } = open();
    const seen: unknown[] = [];
    jobs
      .schedule("task", (_args, run) => {
        seen.push([run.attempt, run.maxAttempts, run.isLastAttempt]);
        if (run.attempt < 3) throw new Error("not yet");
        return "there";
      })
      .retries({ max: 5, base: 0 });
    const run = await jobs.dispatch("task");
    expect(await jobs.run()).toBe(3);
    expect(seen).toEqual([
      [1, 5, false],
      [2, 5, false],
      [3, 5, false],
    ]);
    expect(await jobs.find(run.id)).toMatchObject({
      state: "completed",
      attempts: 3,
      result: "there",
      error: null,
    });
  });

  test("is known to the last attempt", async () => {
    const { jobs } = open();
    const last: boolean[] = [];
    jobs
      .schedule("task", (_args, run) => {
        last.push(run.isLastAttempt);
        throw new Error("no");
      })
      .retries({ max: 3, base: 0 });
    await jobs.dispatch("task");
    await jobs.run();
    expect(last).toEqual([false, false, true]);
  });

  test("follows the definition of the worker that claims the run", async () => {
    const source = `sqlite:${join(temporaryFolder(), "jobs.db")}`;
    const run = await open({}, source).jobs.schedule("task", fail).retries(1).dispatch();
    const { jobs } = open({}, source);
    jobs.schedule("task", fail).retries({ max: 2, base: 0 });
    await jobs.run();
    expect((await jobs.find(run.id))?.attempts).toBe(2);
  });
});

describe("whether a run is retried", () => {
  test("a PermanentError fails at once, with hooks and history", async () => {
    const { jobs } = open();
    const told: string[] = [];
    jobs
      .schedule("task", () => {
        throw new PermanentError("card is stolen", { cause: new Error("reported") });
      })
      .retries(5)
      .onError((error) => told.push((error as Error).name));
    const run = await jobs.dispatch("task");
    const failed = heard(jobs, "run.failed");
    await jobs.run();
    expect((await failed).error).toMatchObject({ name: "PermanentError", cause: { message: "reported" } });
    expect(await jobs.find(run.id)).toMatchObject({ state: "failed", attempts: 1 });
    expect(told).toEqual(["PermanentError"]);
  });

  test("a subclass of PermanentError does so too", async () => {
    class Stolen extends PermanentError {}
    const { run } = await waits(
      { max: 5 },
      () => 0,
      () => {
        throw new Stolen("card");
      },
    );
    expect(run).toMatchObject({ attempts: 1, error: { name: "PermanentError", message: "card" } });
  });

  test("when decides by the error", async () => {
    const { jobs } = open();
    const asked: string[] = [];
    jobs
      .schedule("task", (args: { code: string }) => {
        throw Object.assign(new Error("http"), { code: args.code });
      })
      .retries({
        max: 3,
        base: 0,
        when: (error) => {
          asked.push((error as { code: string }).code);
          return (error as { code: string }).code === "ETIMEDOUT";
        },
      })
      .concurrency(0);
    const worth = await jobs.dispatch("task", { code: "ETIMEDOUT" });
    const not = await jobs.dispatch("task", { code: "ENOTFOUND" });
    await jobs.run({ parallel: 1 });
    expect((await jobs.find(worth.id))?.attempts).toBe(3);
    expect((await jobs.find(not.id))?.attempts).toBe(1);
    expect(asked.sort()).toEqual(["ENOTFOUND", "ETIMEDOUT", "ETIMEDOUT"]);
  });

  test("a `when` that returns a promise by mistake does not end the process", async () => {
    const { jobs } = open();
    const when = (() => Promise.reject(new Error("async"))) as unknown as () => boolean;
    jobs.schedule("task", fail).retries({ max: 2, base: 0, when });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect((await jobs.find(run.id))?.attempts).toBe(2);
  });

  test("a `when` that throws is reported, and the run is retried", async () => {
    const one = open();
    one.jobs.schedule("task", fail).retries({
      max: 2,
      base: 0,
      when: () => {
        throw new Error("cannot tell");
      },
    });
    const run = await one.jobs.dispatch("task");
    await one.jobs.run();
    expect((await one.jobs.find(run.id))?.attempts).toBe(2);
    expect(one.errors.splice(0)).toMatchObject([{ during: 'retries({ when }) of "task"' }]);
  });
});

describe("records of attempts", () => {
  test("keep each failed attempt, with its error and worker, and the last one in history", async () => {
    const { jobs, clock } = open();
    jobs
      .schedule("task", (_args, run) => {
        throw Object.assign(new TypeError(`try ${run.attempt}`), { code: `E${run.attempt}` });
      })
      .retries({ max: 2, base: 10, jitter: "none" });
    const run = await jobs.dispatch("task");
    await jobs.run();
    await clock.advance(10);
    await jobs.run();
    const attempts = await jobs.attempts(run.id);
    expect(attempts).toMatchObject([
      {
        attempt: 1,
        outcome: "retried",
        startedAt: new Date("2026-01-01T00:00:00Z"),
        finishedAt: new Date("2026-01-01T00:00:00Z"),
        error: { name: "TypeError", message: "try 1", code: "E1" },
      },
      {
        attempt: 2,
        outcome: "failed",
        finishedAt: new Date("2026-01-01T00:00:10Z"),
        error: { message: "try 2", code: "E2" },
      },
    ]);
    expect(attempts[0]?.worker).toEqual(expect.any(String));
    const info = (await jobs.find(run.id))!;
    expect(info).toMatchObject({ state: "failed", attempts: 2, error: { message: "try 2" } });
    expect(info.error?.stack).toContain("retries.test.ts");
    expect(info.fingerprint).toMatch(/^[0-9a-f]{16}$/);
  });

  test("give the same fault with other numbers the same fingerprint", async () => {
    const { jobs } = open();
    jobs
      .schedule("task", (args: { n: number }) => {
        throw new Error(`order ${args.n} not found`);
      })
      .concurrency(0);
    const one = await jobs.dispatch("task", { n: 1 });
    const two = await jobs.dispatch("task", { n: 2222 });
    await jobs.run();
    expect((await jobs.find(one.id))?.fingerprint).toBe((await jobs.find(two.id))?.fingerprint);
  });

  test("are emitted as events", async () => {
    const { jobs } = open();
    jobs.schedule("task", fail).retries({ max: 2, base: 0 });
    const retried = listen(jobs, "run.retried");
    const failed = listen(jobs, "run.failed");
    const run = await jobs.dispatch("task");
    await jobs.run();
    const of = { id: run.id, name: "task", queue: "default", duration: 0 };
    expect(retried).toMatchObject([{ ...of, attempt: 1, delay: 0, error: { message: "down" } }]);
    expect(failed).toMatchObject([{ ...of, attempt: 2, error: { message: "down" } }]);
  });
});

test("a retry gets the arguments as they were dispatched, even if the handler changed them", async () => {
  const { jobs } = open();
  const seen: unknown[] = [];
  jobs
    .schedule("task", (args: { list: number[]; done?: boolean }) => {
      seen.push(structuredClone(args));
      args.list.push(99);
      args.done = true;
      throw new Error("half way");
    })
    .retries({ max: 3, base: 0 });
  const run = await jobs.dispatch("task", { list: [1] });
  await jobs.run();
  expect(seen).toEqual([{ list: [1] }, { list: [1] }, { list: [1] }]);
  expect((await jobs.find(run.id))?.args).toEqual({ list: [1] });
});

test("a filter or hook that changes the arguments changes them for this attempt only", async () => {
  const { jobs } = open();
  const seen: unknown[] = [];
  jobs
    .schedule("task", (args: { n: number }) => {
      seen.push(args.n);
      throw new Error("no");
    })
    .onBefore((args) => {
      args.n++;
    })
    .retries({ max: 2, base: 0 });
  await jobs.dispatch("task", { n: 1 });
  await jobs.run();
  expect(seen).toEqual([2, 2]);
});

describe("the positional form", () => {
  test("takes max, base, cap and jitter", async () => {
    const { jobs } = open();
    expect(jobs.schedule("all", fail).retries(5, 2, 60, "none").settings.retries).toEqual({
      max: 5,
      base: 2,
      cap: 60,
      jitter: "none",
    });
    expect(jobs.schedule("some", fail).retries(4, 10).settings.retries).toMatchObject({
      max: 4,
      base: 10,
      cap: 60,
    });
    expect(jobs.dispatch("ad hoc", fail).retries(3, 1, 5, "none").settings.retries).toMatchObject({
      max: 3,
      cap: 5,
    });
  });

  test.each([
    [[0], "retries max"],
    [[3, -1], "retries base"],
    [[3, 1, Number.NaN], "retries cap"],
    [[3, 1, 60, "half"], "retries jitter"],
    [[3, 1, 60, "none", 1], "at most max, base, cap and jitter"],
    [[{ max: 3 }, 2], "got both"],
  ])("%j is refused", async (given, part) => {
    const { jobs } = open();
    const retries = (job: { retries(...given: never[]): unknown }) => job.retries(...(given as never[]));
    await expectRefusal(() => retries(jobs.schedule("task", fail)), "INVALID_OPTION", part);
    await expectRefusal(() => retries(jobs.dispatch("task")), "INVALID_OPTION", part);
  });
});

describe("retries of one dispatch", () => {
  async function tries(shape: (dispatch: Dispatch) => PromiseLike<Run>, job: Partial<RetryPolicy>) {
    const { jobs, clock } = open();
    const seen: [attempt: number, max: number, last: boolean][] = [];
    jobs
      .schedule("task", (_, { attempt, maxAttempts, isLastAttempt }) => {
        seen.push([attempt, maxAttempts, isLastAttempt]);
        fail();
      })
      .retries(job);
    const retried = listen(jobs, "run.retried");
    const run = await shape(jobs.dispatch("task"));
    for (let pass = 0; pass < 10; pass++) {
      await jobs.run();
      await clock.advance(60);
    }
    return { jobs, run, seen, delays: retried.map(({ delay }) => delay / 1000) };
  }

  test("replace the job's, and reach the handler", async () => {
    const shape = (dispatch: Dispatch) => dispatch.retries(3, 7, 60, "none");
    const { seen, delays } = await tries(shape, { max: 1 });
    expect(seen).toEqual([
      [1, 3, false],
      [2, 3, false],
      [3, 3, true],
    ]);
    expect(delays).toEqual([7, 14]);
  });

  test("may be options; missing members are the job's", async () => {
    const { seen, delays } = await tries((dispatch) => dispatch.options({ retries: 2 }), {
      max: 5,
      base: 9,
      jitter: "none",
    });
    expect(seen).toHaveLength(2);
    expect(delays).toEqual([9]);
  });

  test("keep the job's backoff and when, unless the dispatch sets the wait", async () => {
    const job = { max: 1, backoff: () => 33, when: () => true };
    expect((await tries((dispatch) => dispatch.retries(2), job)).delays).toEqual([33]);
    expect((await tries((dispatch) => dispatch.retries(2, 5, 5, "none"), job)).delays).toEqual([5]);
    const never = { max: 1, when: () => false };
    expect((await tries((dispatch) => dispatch.retries(5), never)).seen).toHaveLength(1);
  });

  test("are kept by a run that is retried by hand", async () => {
    const { jobs, run, seen } = await tries((dispatch) => dispatch.retries(2, 0), { max: 9 });
    expect(seen).toHaveLength(2);
    await jobs.retry(run.id);
    await jobs.run();
    expect(seen.at(-1)).toEqual([3, 2, true]);
    expect((await jobs.find(run.id))?.state).toBe("failed");
  });

  test("refuse a function, which cannot be stored with a run", async () => {
    const { jobs } = open();
    jobs.schedule("task", fail);
    await expectRefusal(
      () => jobs.dispatch("task").retries({ max: 3, when: () => true }),
      "INVALID_OPTION",
      "when is a function",
    );
  });

  test("apply to every run of dispatchMany()", async () => {
    const { jobs } = open();
    let tried = 0;
    const task = jobs.schedule("task", () => {
      tried++;
      fail();
    });
    await task.dispatchMany([{}, {}], { retries: { max: 2, base: 0 } });
    for (let pass = 0; pass < 4; pass++) await jobs.run();
    expect(tried).toBe(4);
  });
});
