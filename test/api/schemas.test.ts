import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { PunctualError } from "../../src/index.ts";
import { open, stopped } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

const schemas = {
  zod: z.object({
    file: z.string().min(1),
    size: z.number().default(10),
    tags: z.array(z.string()).optional(),
    at: z.iso.datetime().transform((text) => new Date(text)),
  }),
  valibot: v.object({
    file: v.pipe(v.string(), v.minLength(1)),
    size: v.optional(v.number(), 10),
    tags: v.optional(v.array(v.string())),
    at: v.pipe(
      v.string(),
      v.isoTimestamp(),
      v.transform((text) => new Date(text)),
    ),
  }),
};

describe.each(Object.entries(schemas))("%s", (_vendor, schema) => {
  const input = { file: "a.csv", at: "2026-01-02T03:04:05.000Z" };

  test("stores the input, and the handler gets the output", async () => {
    const { jobs } = open();
    const seen: unknown[] = [];
    const job = jobs.schedule("import", schema, (args) => {
      seen.push(args);
    });
    const run = await job.dispatch(input);
    expect((await jobs.find(run.id))?.args).toEqual(input);
    await jobs.run();
    expect(seen).toEqual([{ file: "a.csv", size: 10, at: new Date(input.at) }]);
    expect(input).toEqual({ file: "a.csv", at: "2026-01-02T03:04:05.000Z" });
  });

  test("hooks and filters get the output too", async () => {
    const { jobs } = open();
    const sizes: number[] = [];
    const look = (args: unknown) => {
      sizes.push((args as { size: number }).size);
      return true;
    };
    jobs
      .schedule("import", schema, () => {})
      .when(look)
      .onBefore(look)
      .onSuccess(look)
      .onAfter(look);
    await jobs.dispatch("import", input);
    await jobs.run();
    expect(sizes).toEqual([10, 10, 10, 10]);
  });

  test("refuses invalid arguments at dispatch, with every path", async () => {
    const { jobs } = open();
    const job = jobs.schedule("import", schema, () => {});
    const bad = { file: "", tags: ["x", 5], at: "2026-01-02T03:04:05.000Z" } as never;
    const refused = (work: () => unknown) =>
      expectRefusal(work, "INVALID_ARGS", '"import" do not fit its schema', /file: /, /tags\.1: /);
    await refused(() => job.dispatch(bad));
    await refused(() => jobs.dispatch("import", bad));
    await refused(() => job.delay(5).dispatch(bad));
    await refused(() => job.dispatchMany([input, bad] as never));
    await refused(() => jobs.dispatch("import").args(bad));
    await expectRefusal(() => jobs.dispatch("import"), "INVALID_ARGS", /file: /);
    expect((await jobs.runs()).runs).toEqual([]);
  });

  test("fails a run whose arguments were valid for an older schema, without a retry", async () => {
    const db = new DatabaseSync(":memory:");
    const before = open({}, db);
    before.jobs.schedule("import", () => {});
    const run = await before.jobs.dispatch("import", { path: "a.csv" });
    await stopped(before);

    const { jobs } = open({}, db);
    const hooks: unknown[] = [];
    jobs
      .schedule("import", schema, () => void hooks.push("handler"))
      .retries(5)
      .onBefore(() => hooks.push("before"))
      .onError((error) => hooks.push((error as PunctualError).code))
      .onAfter(() => hooks.push("after"));
    await jobs.run();
    const info = (await jobs.find(run.id))!;
    expect(info).toMatchObject({ state: "failed", attempts: 1, error: { code: "INVALID_ARGS" } });
    expect(info.error?.message).toMatch(/"import" do not fit its schema: file: /);
    expect(hooks).toEqual(["INVALID_ARGS", "after"]);
  });

  test("checks default arguments too", async () => {
    const { jobs } = open();
    const wrong = jobs.schedule("wrong", schema, () => {}).args({ file: "" } as never);
    const right = jobs.schedule("right", schema, () => {}).args(input);
    await expectRefusal(() => wrong.dispatch(), "INVALID_ARGS", /file: /);
    expect((await right.dispatch()).inserted).toBe(true);
  });
});

describe("an async schema", () => {
  const known = z.object({ id: z.number().refine(async (id) => id < 10, "no such user") });

  test("is awaited at dispatch and at work", async () => {
    const { jobs } = open();
    const seen: unknown[] = [];
    const job = jobs.schedule("greet", known, (args) => void seen.push(args));
    await job.dispatch({ id: 3 });
    await expectRefusal(() => job.dispatch({ id: 30 }), "INVALID_ARGS", "id: no such user");
    await jobs.run();
    expect(seen).toEqual([{ id: 3 }]);
  });

  test("of valibot", async () => {
    const { jobs } = open();
    const job = jobs.schedule(
      "greet",
      v.objectAsync({
        id: v.pipeAsync(
          v.number(),
          v.checkAsync(async (id) => id < 10, "no such user"),
        ),
      }),
      () => {},
    );
    await job.dispatch({ id: 3 });
    await expectRefusal(() => job.dispatch({ id: 30 }), "INVALID_ARGS", "id: no such user");
    expect(await jobs.run()).toBe(1);
  });

  test("that never settles at work ends with the timeout", async () => {
    const { jobs, clock } = open();
    let asked = 0;
    const schema = {
      "~standard": {
        version: 1 as const,
        vendor: "test",
        validate: (value: unknown) =>
          ++asked === 1 ? { value: value as object } : new Promise<{ value: object }>(() => {}),
      },
    };
    const job = jobs.schedule("greet", schema, () => {}).timeout(10);
    const run = await job.dispatch({});
    const pass = jobs.run();
    await clock.advance(20);
    await pass;
    expect((await jobs.find(run.id))?.error?.code).toBe("RUN_TIMED_OUT");
  });

  test("that throws rejects the dispatch and does not end the process", async () => {
    const { jobs } = open();
    const schema = {
      "~standard": {
        version: 1 as const,
        vendor: "test",
        validate(): never {
          throw new Error("schema is broken");
        },
      },
    };
    jobs.schedule("greet", schema, () => {});
    await expect(jobs.dispatch("greet", {})).rejects.toThrow("schema is broken");
  });
});

test("an error names the first issues only, and an issue without a path", async () => {
  const { jobs } = open();
  const many = z.array(z.number());
  jobs.schedule("numbers", many, () => {});
  const error = await expectRefusal(
    () => jobs.dispatch("numbers", ["a", "b", "c", "d", "e", "f", "g"]),
    "INVALID_ARGS",
  );
  expect(error.message.split(";")).toHaveLength(5);
  jobs.schedule("strict", z.strictObject({ a: z.number() }), () => {});
  await expectRefusal(
    () => jobs.dispatch("strict", { a: 1, b: 2 }),
    "INVALID_ARGS",
    /schema: Unrecognized key: "b"/,
  );
});

test("a schema without a handler is refused, with the reason", async () => {
  const { jobs } = open();
  const schedule = jobs.schedule.bind(jobs) as (...args: unknown[]) => unknown;
  await expectRefusal(
    () => schedule("import", schemas.zod),
    "NO_HANDLER",
    'Job "import" has no handler',
    "got undefined",
  );
});
