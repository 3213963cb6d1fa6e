import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { RunContext } from "../../src/index.ts";
import { open } from "./support/instance.ts";

test("a handler's run has its columns", async () => {
  const { jobs, clock } = open();
  let context: RunContext | undefined;
  jobs
    .schedule("task", (_args, run) => {
      context = run;
    })
    .retries(3);
  const run = await jobs.dispatch("task").delay(60).key("k").tags("a", "b").queue("q");
  await clock.advance(90);
  await jobs.run();
  expect(context).toMatchObject({
    id: run.id,
    name: "task",
    queue: "q",
    key: "k",
    tags: ["a", "b"],
    attempt: 1,
    maxAttempts: 3,
    isLastAttempt: false,
    crashes: 0,
    scheduledFor: new Date("2026-01-01T00:01:00Z"),
    createdAt: new Date("2026-01-01T00:00:00Z"),
    parentId: null,
    traceparent: null,
  });
  expect(context?.signal).toBeInstanceOf(AbortSignal);
  expect(context?.signal.aborted).toBe(false);
});

test("crashes do not use up attempts", async () => {
  const db = new DatabaseSync(":memory:");
  const { jobs } = open({}, db);
  const seen: unknown[] = [];
  jobs
    .schedule("task", (_args, run) => {
      seen.push([run.attempt, run.crashes, run.isLastAttempt]);
      throw new Error("no");
    })
    .retries({ max: 2, base: 0 });
  const run = await jobs.dispatch("task");
  // The state of a run whose worker died during the first attempt.
  db.exec("update punctual_runs set attempts = 1, crashes = 1");
  await jobs.run();
  expect(seen).toEqual([
    [2, 1, false],
    [3, 1, true],
  ]);
  expect(await jobs.find(run.id)).toMatchObject({ state: "failed", attempts: 3, crashes: 1 });
});
