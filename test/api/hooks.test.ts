import { describe, expect, test } from "vitest";
import type { Definition, Events, RunContext } from "../../src/index.ts";
import { open } from "./support/instance.ts";

const pause = () => new Promise((resolve) => setImmediate(resolve));

function hooked(job: Definition<unknown>, told: string[], suffix = ""): void {
  job
    .onBefore(async () => {
      await pause();
      told.push(`before${suffix}`);
    })
    .onSuccess(async () => {
      await pause();
      told.push(`success${suffix}`);
    })
    .onError(async (error) => {
      await pause();
      told.push(`error${suffix}: ${(error as Error).message}`);
    })
    .onAfter(async () => {
      await pause();
      told.push(`after${suffix}`);
    });
}

describe("order", () => {
  test("success: before, handler, success, after; each is awaited", async () => {
    const { jobs } = open();
    const told: string[] = [];
    const job = jobs.schedule("task", async (_args: unknown) => {
      await pause();
      told.push("handler");
    });
    hooked(job, told);
    await job.dispatch();
    await jobs.run();
    expect(told).toEqual(["before", "handler", "success", "after"]);
  });

  test("error: before, handler, error, after", async () => {
    const { jobs } = open();
    const told: string[] = [];
    const job = jobs.schedule("task", async (_args: unknown) => {
      told.push("handler");
      await pause();
      throw new Error("boom");
    });
    hooked(job, told);
    await job.dispatch();
    await jobs.run();
    expect(told).toEqual(["before", "handler", "error: boom", "after"]);
  });

  test("several hooks are called in the order of their definition", async () => {
    const { jobs } = open();
    const told: string[] = [];
    const job = jobs.schedule("task", (_args: unknown) => void told.push("handler"));
    hooked(job, told, " 1");
    hooked(job, told, " 2");
    await job.dispatch();
    await jobs.run();
    expect(told).toEqual(["before 1", "before 2", "handler", "success 1", "success 2", "after 1", "after 2"]);
  });

  test("filters come first; a skipped run calls no hook", async () => {
    const { jobs } = open();
    const told: string[] = [];
    const job = jobs.schedule("task", (_args: unknown) => void told.push("handler"));
    hooked(job, told);
    job.when(() => {
      told.push("when");
      return told.length > 1;
    });
    const skipped = await job.dispatch();
    await jobs.run();
    expect(told.splice(0)).toEqual(["when"]);
    expect(await skipped.state()).toBe("skipped");
    told.push("x");
    await job.dispatch();
    await jobs.run();
    expect(told).toEqual(["x", "when", "before", "handler", "success", "after"]);
  });

  test("every attempt calls them", async () => {
    const { jobs } = open();
    const told: string[] = [];
    const job = jobs
      .schedule("task", (_args: unknown, run) => {
        told.push(`try ${run.attempt}`);
        if (run.attempt < 2) throw new Error("not yet");
      })
      .retries({ max: 3, base: 0 });
    hooked(job, told);
    await job.dispatch();
    await jobs.run();
    expect(told).toEqual([
      "before",
      "try 1",
      "error: not yet",
      "after",
      "before",
      "try 2",
      "success",
      "after",
    ]);
  });
});

test("hooks get the arguments and the run, onError also the error", async () => {
  const { jobs } = open();
  const told: unknown[] = [];
  const boom = new Error("boom");
  const contexts = new Set<RunContext>();
  const note = (what: string) => (args: unknown, run: RunContext) => {
    contexts.add(run);
    told.push([what, args, run.id]);
  };
  jobs
    .schedule("task", (args: { n: number }, run) => {
      note("handler")(args, run);
      if (args.n === 2) throw boom;
    })
    .when((args, run) => {
      note("when")(args, run);
      return true;
    })
    .skip((args, run) => {
      note("skip")(args, run);
      return false;
    })
    .onBefore(note("before"))
    .onSuccess(note("success"))
    .onError((error, args, run) => told.push(["error", error === boom, args, run.id]))
    .onAfter(note("after"));
  const one = await jobs.dispatch("task", { n: 1 });
  await jobs.run();
  expect(told.splice(0)).toEqual(
    ["when", "skip", "before", "handler", "success", "after"].map((what) => [what, { n: 1 }, one.id]),
  );
  expect(contexts.size).toBe(1);
  const two = await jobs.dispatch("task", { n: 2 });
  await jobs.run();
  expect(told.filter((entry) => (entry as unknown[])[0] === "error")).toEqual([
    ["error", true, { n: 2 }, two.id],
  ]);
});

describe("a hook that throws", () => {
  test("in onBefore fails the attempt: onError and onAfter are called, the handler is not", async () => {
    const { jobs } = open();
    const told: string[] = [];
    const job = jobs
      .schedule("task", (_args: unknown) => void told.push("handler"))
      .retries({ max: 2, base: 0 });
    job.onBefore(() => {
      throw new Error("not ready");
    });
    hooked(job, told);
    const run = await job.dispatch();
    await jobs.run();
    expect(told).toEqual(["error: not ready", "after", "error: not ready", "after"]);
    expect(await jobs.find(run.id)).toMatchObject({
      state: "failed",
      attempts: 2,
      error: { message: "not ready" },
    });
  });

  test.each([
    ["onSuccess", "completed"],
    ["onError", "failed"],
    ["onAfter", "completed"],
  ] as const)("in %s changes nothing, and is reported", async (hook, state) => {
    const one = open();
    const told: string[] = [];
    const job = one.jobs.schedule("task", (_args: unknown) => {
      if (state === "failed") throw new Error("boom");
      return 5;
    });
    job[hook](() => {
      throw new Error(`${hook} is broken`);
    });
    job[hook](async () => {
      told.push(`second ${hook}`);
      await Promise.reject(new Error("this too"));
    });
    job.onAfter(() => told.push("after"));
    const run = await job.dispatch();
    await one.jobs.run();
    expect(await run.state()).toBe(state);
    expect(told).toEqual([`second ${hook}`, "after"]);
    const reported: Events["error"][] = one.errors.splice(0);
    expect(reported.map(({ error }) => (error as Error).message)).toEqual([`${hook} is broken`, "this too"]);
    expect(reported[0]?.during).toBe(`${hook} of "task", run ${run.id}`);
  });

  test("in a filter fails the attempt as the handler would", async () => {
    const { jobs } = open();
    const told: string[] = [];
    const job = jobs.schedule("task", (_args: unknown) => void told.push("handler"));
    hooked(job, told);
    job.when(() => {
      throw new Error("cannot tell");
    });
    const run = await job.dispatch();
    await jobs.run();
    expect(told).toEqual(["error: cannot tell", "after"]);
    expect(await jobs.find(run.id)).toMatchObject({ state: "failed", error: { message: "cannot tell" } });
  });
});

describe("onAfter", () => {
  test.each([
    ["snooze", (run: RunContext) => run.snooze(60)],
    ["discard", (run: RunContext) => run.discard("no need")],
  ] as const)("is called after %s too, without onSuccess and onError", async (_what, end) => {
    const { jobs } = open();
    const told: string[] = [];
    const job = jobs.schedule("task", (_args: unknown, run) => {
      told.push("handler");
      end(run);
    });
    hooked(job, told);
    await job.dispatch();
    await jobs.run();
    expect(told).toEqual(["before", "handler", "after"]);
  });

  test("is called and awaited after the timeout of a handler that never returns", async () => {
    const { jobs, clock } = open();
    const told: string[] = [];
    const job = jobs.schedule("task", (_args: unknown) => new Promise(() => {})).timeout(10);
    hooked(job, told);
    const run = await job.dispatch();
    const pass = jobs.run();
    await clock.advance(20);
    await pass;
    expect(told).toEqual(["before", "error: The run took longer than its timeout of 10 s.", "after"]);
    expect(await run.state()).toBe("failed");
  });

  test("is called after a cancelled run", async () => {
    const { jobs } = open();
    const told: string[] = [];
    const { promise: started, resolve } = Promise.withResolvers<void>();
    const job = jobs.schedule("task", async (_args: unknown, run) => {
      resolve();
      await new Promise((_resolve, reject) =>
        run.signal.addEventListener("abort", () => reject(run.signal.reason)),
      );
    });
    hooked(job, told);
    const run = await job.dispatch();
    const pass = jobs.run();
    await started;
    expect(await run.cancel()).toBe("requested");
    await pass;
    expect(told).toEqual(["before", "after"]);
    expect(await run.state()).toBe("cancelled");
  });
});
