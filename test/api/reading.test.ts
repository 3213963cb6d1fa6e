import { expect, test } from "vitest";
import { open } from "./support/instance.ts";

test("reading() has every read of the instance", async () => {
  const { jobs } = open();
  jobs.define("task", () => {}).everyMinute();
  const { id } = await jobs.dispatch("task");
  await jobs.run();
  const reads = jobs.reading({ timeout: 60 });
  expect(await reads.find(id)).toEqual(await jobs.find(id));
  expect((await reads.runs({ state: "completed" })).runs).toHaveLength(1);
  expect(await reads.count("job:task")).toEqual({ count: 1, capped: false });
  expect((await reads.status()).jobs).toMatchObject([{ name: "task" }]);
  expect((await reads.trend()).total.counts.completed).toBe(1);
  expect(await reads.schedules()).toHaveLength(1);
  expect(await reads.why(id)).toContain("completed");
  expect(await reads.values("job")).toEqual(["task"]);
  expect(await reads.failures()).toEqual({ groups: [], capped: false });
  expect(await reads.health()).toEqual(await jobs.health());
});

test("a signal aborts a reading", async () => {
  const { jobs } = open();
  const reason = new Error("the client has gone");
  await expect(jobs.reading({ signal: AbortSignal.abort(reason) }).status()).rejects.toBe(reason);
});

test.each([0, -1, 61, "two minutes"])("a timeout of %j is refused", (timeout) => {
  const { jobs } = open();
  expect(() => jobs.reading({ timeout })).toThrow();
});
