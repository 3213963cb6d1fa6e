// Definitions in job files are sealed by the same rule as anywhere: at the first await.
import { expect, test } from "vitest";
import { project, run } from "./support/punctual.ts";

test("a job file may await between its definitions", async () => {
  const cwd = project({
    "jobs/a.ts": `import { Job } from "punctual";
      const queue = await Promise.resolve("one");
      Job.define("first", () => {}).queue(queue).attempts(2);
      await new Promise((done) => setImmediate(done));
      Job.define("second", () => {}).concurrency(5).everyMinute();`,
  });
  await run(["collect"], { cwd });
  const { stdout } = await run(["status", "--json"], { cwd });
  const { jobs } = JSON.parse(stdout) as { jobs: { name: string }[] };
  expect(jobs).toEqual([
    expect.objectContaining({ name: "first", queue: "one" }),
    expect.objectContaining({ name: "second", cron: "0 * * * * *" }),
  ]);
});

test("a setting after the first await is reported with its line, and its draft with a warning", async () => {
  const cwd = project({
    "jobs/late.ts": `import { Job } from "punctual";
      const late = Job.define("late", () => {});
      await null;
      late.concurrency(5);`,
    "jobs/later.ts": `import { Job } from "punctual";
      const later = Job.define("later", () => {});
      await null;
      later.queue("slow");`,
  });
  expect((await run(["collect"], { cwd })).code).not.toBe(0);
  const { stderr } = await run(["collect", "--keep-going"], { cwd });
  expect(stderr).toMatch(/jobs\/late\.ts:4 .*concurrency\(\) came too late for job "late".*\(JOB_SEALED\)/);
  expect(stderr).toMatch(/job "later": queue\("slow"\) made a draft that was not dispatched/);
});
