import { describe, expect, test } from "vitest";
import { heard, open } from "./support/instance.ts";

describe("the return value of a handler", () => {
  test.each([
    ["an object", { sent: 3, to: ["a", null] }],
    ["text", "done"],
    ["zero", 0],
    ["false", false],
    ["null", null],
    ["a list", [1, [2]]],
    ["text with NUL and half a character", "a\u0000b\ud800"],
  ])("%s is stored in history", async (_what, value) => {
    const { jobs } = open();
    jobs.schedule("task", () => value);
    const run = await jobs.dispatch("task");
    const completed = heard(jobs, "run.completed");
    await jobs.run();
    expect((await jobs.find(run.id))?.result).toEqual(value);
    expect(await run.wait()).toEqual(value);
    expect((await completed).result).toEqual(value);
  });

  test("undefined is stored as no value", async () => {
    const { jobs } = open();
    jobs.schedule("task", async () => {});
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect((await jobs.find(run.id))?.result).toBeUndefined();
    expect(await run.wait()).toBeUndefined();
  });

  const circular: Record<string, unknown> = {};
  circular.self = circular;
  test.each([
    ["a circle", circular, "circular"],
    ["a BigInt", { n: 1n }, "result.n: a BigInt"],
    ["a Date", new Date(0), "a Date is not JSON"],
    ["a function", () => {}, "a function is not JSON"],
    ["too much", "x".repeat(2_000_000), "the limit is"],
    [
      "a getter that throws",
      {
        get value() {
          throw new Error("not yours");
        },
      },
      "not yours",
    ],
    ["a class", new (class Sent {})(), "a Sent is not JSON"],
  ])("%s cannot be stored: the run completes, and the loss is reported", async (_what, value, reason) => {
    const one = open();
    one.jobs.schedule("task", () => value as never);
    const run = await one.jobs.dispatch("task");
    await one.jobs.run();
    expect(await one.jobs.find(run.id)).toMatchObject({ state: "completed", result: undefined, error: null });
    const [reported] = one.errors.splice(0);
    expect(reported?.during).toBe(`run ${run.id} of "task" completed, but`);
    const { message } = reported!.error as Error;
    expect(message).toContain("its result was not kept");
    expect(message).toContain(reason);
    const lines = await one.jobs.logs(run.id);
    expect(lines.map((line) => line.message)).toEqual([expect.stringContaining("The result was not kept: ")]);
    expect(lines[0]!.message).toContain(reason);
  });

  test.each([
    { maxPayload: 100, size: 2000, isKept: true },
    { maxPayload: 3_000_000, size: 2_000_000, isKept: true },
    { maxPayload: 3_000_000, size: 4_000_000, isKept: false },
  ])(
    "has $size bytes with a maxPayload of $maxPayload: kept is $isKept",
    async ({ maxPayload, size, isKept }) => {
      const { jobs, errors } = open({ maxPayload });
      jobs.schedule("task", () => "x".repeat(size));
      const run = await jobs.dispatch("task");
      await jobs.run();
      expect((await jobs.find(run.id))?.result === undefined).toBe(!isKept);
      const codes = errors.splice(0).map(({ error }) => (error as { code: string }).code);
      expect(codes).toEqual(isKept ? [] : ["PAYLOAD_TOO_LARGE"]);
    },
  );

  test("history has the start and the duration", async () => {
    const { jobs, clock } = open();
    jobs.schedule("task", async () => {
      await clock.advance(3);
    });
    const run = await jobs.dispatch("task");
    await clock.advance(1);
    const completed = heard(jobs, "run.completed");
    await jobs.run();
    expect((await completed).duration).toBe(3000);
    expect(await jobs.find(run.id)).toMatchObject({
      createdAt: new Date("2026-01-01T00:00:00Z"),
      startedAt: new Date("2026-01-01T00:00:01Z"),
      finishedAt: new Date("2026-01-01T00:00:04Z"),
      lockedUntil: null,
    });
  });
});
