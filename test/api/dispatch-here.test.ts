import { expect, test } from "vitest";
import { z } from "zod";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

test("dispatchHere() executes a run in this instance, with all settings of its job except retries", async () => {
  const { jobs } = open();
  const heard: string[] = [];
  jobs
    .schedule("import", z.object({ rows: z.coerce.number() }), ({ rows }, run) => {
      heard.push(`${run.name} ${rows + 1} ${run.maxAttempts}`);
    })
    .onSuccess(() => heard.push("succeeded"))
    .retries(5);
  const run = await jobs.dispatchHere("import", { rows: "4" });
  expect(await jobs.run()).toBe(1);
  expect(heard).toEqual(["import 5 1", "succeeded"]);
  expect((await jobs.find(run.id))?.state).toBe("completed");
});

test("dispatchHere() ignores limits", async () => {
  const { jobs } = open();
  const gate = Promise.withResolvers<void>();
  const job = jobs.schedule("slow", () => gate.promise).concurrency(1);
  await job.dispatch();
  await jobs.dispatchHere("slow");
  const pass = jobs.run();
  const started = await new Promise<number>((resolve) => {
    let count = 0;
    jobs.on("run.started", () => ++count === 2 && resolve(count));
  });
  expect(started).toBe(2);
  gate.resolve();
  expect(await pass).toBe(2);
});

test("dispatchHere() does not retry a failed run", async () => {
  const { jobs } = open();
  jobs
    .schedule("broken", () => {
      throw new Error("no");
    })
    .retries(5);
  const run = await jobs.dispatchHere("broken");
  await jobs.run();
  expect((await jobs.find(run.id))?.state).toBe("failed");
});

test("dispatchHere() refuses a job that is not defined here, and invalid arguments", async () => {
  const { jobs } = open();
  jobs.schedule("import", z.object({ rows: z.number() }), () => {});
  expect(() => jobs.dispatchHere("improt")).toThrow(/Did you mean "import"/);
  await expectRefusal(() => jobs.dispatchHere("import", { rows: "x" }), "INVALID_ARGS", "rows");
});
