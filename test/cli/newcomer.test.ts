import { expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { jobFiles } from "./support/job-files.ts";
import { project, run, start } from "./support/punctual.ts";

async function dispatch(cwd: string, name: string): Promise<void> {
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  await jobs.declare(name).dispatch();
  await jobs.stop();
}

test("both forms of help print the same", async () => {
  const [before, after] = await Promise.all([run(["help", "collect"]), run(["collect", "--help"])]);
  expect(before.stdout).toContain("--dry-run");
  expect(before).toMatchObject({ stdout: after.stdout, code: 0 });
});

test("status before the first worker reports the waiting runs", async () => {
  const cwd = project(jobFiles);
  await run(["dispatch", "ok"], { cwd });
  const { stdout, stderr } = await run(["status"], { cwd });
  expect(stdout).toMatch(/^\? ok .* 1 waiting .* no worker has defined it yet$/m);
  expect(stderr).toContain("No worker is alive, and 1 run waits. Start one: punctual work");
});

test("status without a worker reports that no worker is alive", async () => {
  const cwd = project(jobFiles);
  await run(["collect"], { cwd });
  await run(["dispatch", "ok"], { cwd });
  const { stdout, stderr } = await run(["status"], { cwd });
  expect(stdout + stderr).toContain("No worker is alive, and 1 run waits. Start one: punctual work");
});

test("a worker that does not define a dispatched job logs that once", async () => {
  const cwd = project(jobFiles);
  const working = start(["work", "--no-jsonl"], { cwd });
  await working.shows("Ctrl-C to drain");
  await dispatch(cwd, "newer");
  await working.shows(
    'punctual: "newer" is not defined in this process: its runs wait for a worker that defines it',
  );
  await dispatch(cwd, "newer");
  await dispatch(cwd, "ok");
  await working.shows(/DONE ok #\d+/);
  working.child.kill("SIGINT");
  const { stdout, stderr } = await working.ended;
  expect(stderr.split('"newer" is not defined in this process')).toHaveLength(2);
  expect(stdout).not.toContain("RELEASED");
});

test("the error for an unknown job names commands that list jobs", async () => {
  const { stderr, code } = await run(["dispatch", "x"], { cwd: project() });
  expect(stderr).toContain(
    "nor in the database. To see the files and the database in use: punctual doctor (UNKNOWN_JOB)",
  );
  expect(code).toBe(3);
});
