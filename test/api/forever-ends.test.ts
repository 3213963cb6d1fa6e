import { expect, test } from "vitest";
import { open } from "./support/instance.ts";

test("forever() with untilEmpty ends when no run is due, including runs that its runs made due", async () => {
  const { jobs } = open();
  const child = jobs.schedule("child", () => {});
  const parent = jobs.schedule("parent", async () => {
    await child.dispatch();
  });
  await Promise.all(Array.from({ length: 5 }, () => parent.dispatch()));
  await child.dispatch().delay("1 hour");
  expect(await jobs.forever({ untilEmpty: true, signals: false })).toBe(10);
  expect((await jobs.runs({ state: "scheduled" })).runs).toHaveLength(1);
});

test("forever() with a limit ends after that number of runs, and starts no more", async () => {
  const { jobs } = open();
  const job = jobs.schedule("job", () => {}).concurrency(0);
  await job.dispatchMany(Array.from({ length: 20 }));
  expect(await jobs.forever({ limit: 7, parallel: 10, signals: false })).toBe(7);
  expect((await jobs.runs({ state: "ready" })).runs).toHaveLength(13);
  expect(await jobs.forever({ limit: 50, untilEmpty: true, signals: false })).toBe(13);
});

test("forever() with a limit waits while no run is due", async () => {
  const { jobs } = open();
  const job = jobs.schedule("job", () => {});
  const working = jobs.forever({ limit: 2, signals: false });
  await job.dispatch().then((run) => run.wait());
  await job.dispatch();
  expect(await working).toBe(2);
});

test("forever() refuses a limit of 0", async () => {
  const { jobs } = open();
  expect(() => jobs.forever({ limit: 0 })).toThrow(/Expected limit as a whole number of at least 1, got 0/);
});
