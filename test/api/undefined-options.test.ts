import { expect, test } from "vitest";
import { startProbe } from "../../src/index.ts";
import { drain } from "../../src/testing/index.ts";
import { open } from "./support/instance.ts";

const undefinedFor = (...names: string[]) => Object.fromEntries(names.map((name) => [name, undefined]));

test("an option that is undefined counts as left out", async () => {
  const all = ["queue", "priority", "lease", "concurrency", "attempts", "retries", "timeout", "hookTimeout"];
  const defaults = { ...undefinedFor(...all), keep: { failed: undefined } };
  const { jobs, clock } = open({
    defaults,
    ...undefinedFor("prefix", "logs", "resolve", "maxPayload", "install", "random"),
  });
  const task = jobs
    .define("task", () => {})
    .attempts(undefinedFor("max", "base", "cap", "jitter", "backoff", "when"))
    .keep(undefinedFor("completed", "failed", "cancelled", "skipped"))
    .concurrency(1, undefinedFor("perKey", "by"))
    .misfire("once", undefinedFor("limit", "within"));
  const plain = jobs.define("plain", () => {});
  expect(task.settings).toEqual(plain.settings);
  jobs.recur(
    task,
    "* * * * *",
    undefinedFor("args", "queue", "timezone", "between", "startingAt", "misfire", "environments"),
  );
  const shape = [
    "delay",
    "at",
    "queue",
    "priority",
    "key",
    "unique",
    "timeout",
    "attempts",
    "retries",
    "tags",
  ];
  const run = await task.dispatch({}, undefinedFor(...shape, "expires", "traceparent"));
  expect(await jobs.find(run.id)).toMatchObject({ queue: "default", priority: 100, key: null, tags: [] });
  await jobs.run(undefinedFor("batch", "parallel", "queues", "exceptQueues", "weights", "schedules"));
  expect(await jobs.find(run.id)).toMatchObject({ state: "completed", attempts: 1 });
  await clock.advance(60);
  expect(await drain(jobs, undefinedFor("atMost", "failures"))).toBe(1);
  expect((await jobs.runs(undefinedFor("state", "job", "where", "limit", "before"))).runs).toHaveLength(2);
  expect(await jobs.logs(run.id, undefinedFor("after", "limit"))).toEqual([]);
  await jobs.pauseQueue("default", undefinedFor("for", "reason", "by"));
  expect(await jobs.install({ dryRun: undefined })).toMatchObject({ from: expect.any(Number) });
  expect(
    await jobs.prune(undefinedFor("finished", "keep", "state", "jobs", "orphans", "batch")),
  ).toBeDefined();
  const probe = await startProbe(jobs, { port: 0, ...undefinedFor("host", "worker", "labels", "clock") });
  await probe.stop();
});
