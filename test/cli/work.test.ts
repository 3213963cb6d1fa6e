import { expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { jobFiles } from "./support/job-files.ts";
import { project, run, start } from "./support/punctual.ts";

async function dispatch(cwd: string, ...names: string[]): Promise<void> {
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  for (const name of names) await jobs.declare(name).dispatch();
  await jobs.stop();
}

test("works until a signal, drains and exits with 0", async () => {
  const cwd = project(jobFiles);
  const working = start(["work", "--no-jsonl"], { cwd });
  await working.shows("Ctrl-C to drain");
  await dispatch(cwd, "ok", "broken");
  await working.shows(/DONE ok #\d+/);
  await working.shows(/FAIL broken #\d+ .*PermanentError: no such customer/);
  working.child.kill("SIGINT");
  const { code, stderr } = await working.ended;
  expect(stderr).toMatch(
    /^punctual \d+\.\d+\.\d+ · node [\d.]+ · sqlite \.\/jobs\.db \(schema \d+\) · 4 jobs, 0 schedules · all queues\n10 slots · pid \d+ · Ctrl-C to drain\n/,
  );
  expect(stderr).toContain("SIGINT: nothing is running");
  expect(stderr).toContain("drained. 1 completed, 1 failed (broken: no such customer). bye\n");
  expect(code).toBe(0);
});

test("a second signal aborts, and exits with the signal's code", async () => {
  const cwd = project(jobFiles);
  await dispatch(cwd, "slow");
  const working = start(["work", "--queues", "*,slow*2,!bulk", "--parallel", "3"], { cwd });
  await working.shows("slow began");
  expect(working.stderr).toContain("all queues but bulk; slow*2\n3 slots");
  const { stdout } = await run(["status", "--workers"], { cwd });
  expect(stdout).toMatch(/ 3 +all but bulk; slow\*2 +yes /);
  working.child.kill("SIGTERM");
  await working.shows("SIGTERM: finishing 1 run;");
  working.child.kill("SIGTERM");
  const { code, stderr } = await working.ended;
  expect(stderr).toContain("1 released");
  expect(code).toBe(143);
});

test("a third signal exits, whatever the handlers do", async () => {
  const cwd = project({
    ...jobFiles,
    "jobs/stubborn.ts": `
import { Job } from "punctual";
Job.schedule("stubborn", async (_: unknown, run) => {
  run.signal.addEventListener("abort", () => console.error("stubborn was told"));
  console.error("stubborn began");
  await new Promise((resolve) => setTimeout(resolve, 600_000));
});
`,
  });
  await dispatch(cwd, "stubborn");
  const working = start(["work"], { cwd });
  await working.shows("stubborn began");
  working.child.kill("SIGINT");
  await working.shows("SIGINT: finishing 1 run;");
  working.child.kill("SIGINT");
  await working.shows("stubborn was told");
  working.child.kill("SIGINT");
  expect((await working.ended).code).toBe(130);
});

test("exits with 124 when runs do not finish within the drain timeout", async () => {
  const cwd = project(jobFiles);
  await dispatch(cwd, "slow");
  const working = start(["work", "--drain-timeout", "100ms"], { cwd });
  await working.shows("slow began");
  working.child.kill("SIGTERM");
  const { code, stderr } = await working.ended;
  expect(stderr).toContain("1 run did not finish in time and will run again.");
  expect(code).toBe(124);
});

test.each([
  [["--until-empty"], 3],
  [["--max-jobs", "2"], 2],
  [["--once"], 1],
])("%j exits by itself", async (args, completed) => {
  const cwd = project(jobFiles);
  await dispatch(cwd, "ok", "ok", "ok");
  const { code, stderr } = await run(["work", ...args], { cwd });
  expect(stderr).toContain(`drained. ${completed} completed. bye`);
  expect(code).toBe(0);
});

test("--max-time exits", async () => {
  const { code, stderr } = await run(["work", "--max-time", "50ms"], { cwd: project(jobFiles) });
  expect(stderr).toContain("--max-time 50ms is over");
  expect(code).toBe(0);
});

const documents = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

test.each([[[]], [["--jsonl"]], [["--json"]]])("%j prints each event as a line of JSON", async (args) => {
  const cwd = project(jobFiles);
  await dispatch(cwd, "ok", "shaky");
  const { stdout } = await run(["work", ...args, "--until-empty"], { cwd });
  const events = documents(stdout);
  expect(events.map(({ event }) => event)).toEqual(
    expect.arrayContaining([
      "worker.started",
      "run.started",
      "run.completed",
      "run.retried",
      "worker.stopped",
    ]),
  );
  expect(events.find(({ event }) => event === "run.retried")).toEqual({
    v: 1,
    t: expect.stringMatching(/^\d{4}-.*Z$/),
    event: "run.retried",
    job: "shaky",
    run: expect.any(Number),
    queue: "default",
    attempt: 1,
    ms: expect.any(Number),
    delayMs: 3_600_000,
    error: expect.objectContaining({ name: "Error", message: "connect ETIMEDOUT" }),
  });
});

test("--quiet prints failures only", async () => {
  const cwd = project(jobFiles);
  await dispatch(cwd, "ok", "broken");
  const { stdout, stderr } = await run(["work", "-q", "--until-empty"], { cwd });
  expect(documents(stdout)).toMatchObject([{ event: "run.failed", job: "broken" }]);
  expect(stderr).not.toContain("drained");
});

test("prints log lines of handlers, without secrets", async () => {
  const cwd = project({
    ...jobFiles,
    "jobs/talks.ts": `
import { Job } from "punctual";
Job.schedule("talks", (_: unknown, run) => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  run.log("half way", { done: 5, token: "abc" });
  run.log("round", circle);
  run.log("\\u001b[31mthere");
});
`,
  });
  await dispatch(cwd, "talks", "talks");
  const lines = await run(["work", "--once", "--no-jsonl"], { cwd });
  expect(lines.stdout).toMatch(/Z LOG talks #1 half way \{"done":5,"token":"\[hidden\]"\}\n/);
  expect(lines.stdout).toMatch(/Z LOG talks #1 there\n/);
  const { stdout } = await run(["work", "--once"], { cwd });
  expect(documents(stdout).filter(({ event }) => event === "run.logged")).toMatchObject([
    { job: "talks", run: 2, attempt: 1, message: "half way", data: { done: 5, token: "[hidden]" } },
    { message: "round", data: { self: "[circular]" } },
    { message: "\u001b[31mthere" },
  ]);
});

test("answers SIGUSR2 with a line, and SIGHUP with a remedy", async () => {
  const cwd = project(jobFiles);
  await dispatch(cwd, "slow", "ok");
  const working = start(["work", "--no-jsonl"], { cwd });
  await working.shows("slow began");
  await working.shows("DONE ok");
  working.child.kill("SIGUSR2");
  await working.shows(/up [\dms.]+, 1 running; 1 completed/);
  working.child.kill("SIGHUP");
  await working.shows("SIGHUP: cannot reload");
});

test("calls of forever() in a job file are ignored", async () => {
  const cwd = project({
    ...jobFiles,
    "jobs/main.ts": `import { Job } from "punctual";\nawait Job.forever();\nawait Job.run();\n`,
  });
  await dispatch(cwd, "ok");
  const { code, stderr } = await run(["work", "--until-empty"], { cwd });
  expect(stderr).toContain("jobs/main.ts:2: forever() was ignored");
  expect(stderr).toContain("jobs/main.ts:3: run() was ignored");
  expect(stderr).toContain("1 completed");
  expect(code).toBe(0);
});

test.each<[string[], string]>([
  [["--workers", "-1"], "Expected a whole number of at least 0."],
  [["--max-memory", "lots"], "Expected megabytes, or a size such as 512M or 1G."],
  [["--probe-port", "99999"], "Expected a port from 0 to 65535"],
  [["--once", "--max-jobs", "2"], "Leave one of them out."],
  [["--stall", "1m"], "add --workers 1 or more"],
  [["--drain-timeout", "-3"], "Expected a duration"],
])("refuses %j", async (args, message) => {
  const { code, stderr } = await run(["work", ...args], { cwd: project(jobFiles) });
  expect(stderr).toContain(message);
  expect(code).toBe(2);
});

test("exits with 5 if the database cannot be opened", async () => {
  const cwd = project({ ...jobFiles, "punctual.config.ts": "export default {};\n" });
  const { code, stderr } = await run(["work", "--db", "sqlite:./gone/jobs.db"], { cwd });
  expect(stderr).toContain("DATABASE_MISSING");
  expect(code).toBe(5);
});

test("answers health checks while it works", async () => {
  const cwd = project(jobFiles);
  const working = start(["work", "--probe-port", "0"], { cwd });
  await working.shows("Ctrl-C to drain");
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(working.stderr) ?? [];
  expect(working.stderr).toContain(`10 slots · probe ${url} · pid`);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  await dispatch(cwd, "slow");
  await working.shows("slow began");
  working.child.kill("SIGTERM");
  await working.shows("SIGTERM: finishing 1 run;");
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
});
