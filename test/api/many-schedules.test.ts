import { expect, test } from "vitest";
import type { Punctual } from "../../src/index.ts";
import { heard, open } from "./support/instance.ts";

const DUE = 20_000;

/** Many schedules that are all due in the minute that begins now. */
async function schedules(jobs: Punctual, count = DUE): Promise<{ ticked: number }> {
  for (let i = 0; i < count; i++) jobs.schedule(`job ${i}`, () => {}).everyMinute();
  const so = { ticked: 0 };
  jobs.on("schedule.ticked", () => {
    so.ticked++;
  });
  const started = heard(jobs, "worker.started");
  void jobs.forever({ signals: false });
  await started;
  return so;
}

test("runs start while thousands of schedules are due: the worker claims between slices", async () => {
  const { jobs, clock } = open();
  const urgent = jobs.schedule("urgent", () => {}).priority(0);
  const so = await schedules(jobs);
  void heard(jobs, "schedule.ticked").then(() => urgent.dispatch());
  const ticks = heard(jobs, "run.started", ({ name }) => name === "urgent").then(() => so.ticked);
  const advanced = clock.advance(60);
  expect(await ticks).toBeLessThan(1000);
  void jobs.stop();
  await advanced;
});

test("a worker that is asked to stop ticks no further slice", async () => {
  const { jobs, clock } = open();
  const so = await schedules(jobs);
  const stopped = heard(jobs, "schedule.ticked").then(() => jobs.stop());
  await clock.advance(60);
  await stopped;
  expect(so.ticked).toBeGreaterThan(0);
  expect(so.ticked).toBeLessThan(1000);
});

test("a pass of run() ticks every slice, even if it executes only a few of the runs", async () => {
  const { jobs, clock } = open();
  for (let i = 0; i < 1000; i++) jobs.schedule(`job ${i}`, () => {}).everyMinute();
  let ticked = 0;
  jobs.on("schedule.ticked", () => {
    ticked++;
  });
  await jobs.run();
  await clock.advance(60);
  expect(await jobs.run({ batch: 3 })).toBe(3);
  expect(ticked).toBe(1000);
});
