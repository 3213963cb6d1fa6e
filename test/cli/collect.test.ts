import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { jobFiles } from "./support/job-files.ts";
import { project, run, start, write } from "./support/punctual.ts";

/** A project whose database has these runs. */
async function waiting(...names: string[]): Promise<string> {
  const cwd = project(jobFiles);
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  for (const name of names) await jobs.declare(name).dispatch({ id: 1 });
  await jobs.stop();
  return cwd;
}

test("executes due runs and exits", async () => {
  const cwd = await waiting("ok", "ok", "ok");
  const { code, stdout } = await run(["collect"], { cwd });
  expect(stdout).toMatch(/^ran 3 runs in [\d.]+ s: 3 completed\n$/);
  expect(code).toBe(0);
  expect((await run(["collect"], { cwd })).stdout).toBe("ran nothing: nothing is due\n");
});

test("reports a run that will be retried, which is not a failure", async () => {
  const { code, stdout } = await run(["collect"], { cwd: await waiting("ok", "shaky") });
  expect(stdout).toMatch(/1 completed, 1 retried \(shaky: connect ETIMEDOUT, again in 60 min\)\n$/);
  expect(code).toBe(0);
});

test("exits with 1 when a run has failed for good", async () => {
  const { code, stdout, stderr } = await run(["collect"], { cwd: await waiting("broken") });
  expect(stdout).toMatch(/^ran 1 run in [\d.]+ s: 1 failed \(broken: no such customer\)\n$/);
  expect(stderr).toBe("");
  expect(code).toBe(1);
});

test("prints one JSON document", async () => {
  const { stdout } = await run(["collect", "--json"], { cwd: await waiting("ok", "broken") });
  const { ms, ...document } = JSON.parse(stdout);
  expect(ms).toEqual(expect.any(Number));
  expect(document).toEqual({
    v: 1,
    ran: 2,
    completed: 1,
    retried: 0,
    failed: 1,
    skipped: 0,
    cancelled: 0,
    snoozed: 0,
    released: 0,
    lost: 0,
    troubles: [{ job: "broken", run: expect.any(Number), error: "no such customer", again: null }],
  });
});

test("exits after a number of runs, and serves only the given queues", async () => {
  const cwd = await waiting("ok", "ok", "ok");
  expect((await run(["collect", "--max-jobs", "2"], { cwd })).stdout).toContain("ran 2 runs");
  expect((await run(["collect", "--queues", "others"], { cwd })).stdout).toContain("ran nothing");
  const due = await run(["collect", "--dry-run", "--queues", "!default"], { cwd });
  expect(due.stderr).toContain("nothing is due");
  const others = await run(["collect", "--queues", "!default"], { cwd });
  expect(others.stdout).toBe("ran nothing: nothing is due\n");
  await run(["pause", "queue", "default"], { cwd });
  const paused = await run(["collect"], { cwd });
  expect(paused.stdout).toContain("ran nothing: 1 due run could not start. To see why: punctual doctor");
  await run(["resume", "queue", "default"], { cwd });
  const shared = ["collect", "--queues", "others*3", "--queues", "default,!bulk"];
  expect((await run(shared, { cwd })).stdout).toContain("ran 1 run ");
});

test("--no-schedule executes due runs, and ticks no schedule", async () => {
  const cwd = project(jobFiles);
  write(cwd, {
    "jobs/tick.ts": `import { Job } from "punctual";
export const tick = Job.schedule("tick", () => {}).daily();`,
  });
  await run(["collect"], { cwd });
  const db = new DatabaseSync(`${cwd}/jobs.db`);
  db.exec("update punctual_schedules set next_tick = 1000");
  db.close();
  for (const args of [["collect"], ["work", "--until-empty"], ["work", "--workers", "1", "--until-empty"]]) {
    const { code, stdout, stderr } = await run([...args, "--no-schedule"], { cwd });
    expect(`${stdout}${stderr}`).toMatch(
      /ran nothing|1 schedule \(not ticked here\)[\s\S]*drained\. none completed/,
    );
    expect(code).toBe(0);
  }
  expect((await run(["collect", "--dry-run", "--no-schedule"], { cwd })).stderr).toContain("nothing is due");
  expect((await run(["collect"], { cwd })).stdout).toContain("ran 1 run ");
});

test("--dry-run prints due runs and ticks, and executes nothing", async () => {
  const cwd = await waiting("ok", "ok", "broken");
  const dry = await run(["collect", "--dry-run"], { cwd });
  expect(dry.stdout).toBe("ok  2 runs\nbroken  1 run\n");
  const { stdout } = await run(["collect", "--dry-run", "--json"], { cwd });
  expect(JSON.parse(stdout)).toEqual({
    v: 1,
    due: [
      { job: "ok", runs: 2, ticks: 0 },
      { job: "broken", runs: 1, ticks: 0 },
    ],
    complete: true,
  });
  expect((await run(["collect"], { cwd })).stdout).toContain("ran 3 runs");
});

test("executes each run once if several processes collect", async () => {
  const cwd = await waiting(...Array.from({ length: 30 }, () => "ok"));
  const ended = await Promise.all([1, 2, 3].map(() => run(["collect", "--json"], { cwd })));
  const ran = ended.map(({ stdout }) => JSON.parse(stdout).completed as number);
  expect(ran.reduce((sum, one) => sum + one, 0)).toBe(30);
});

test("releases unfinished runs on a signal", async () => {
  const cwd = await waiting("slow");
  const collecting = start(["collect"], { cwd });
  await collecting.shows("slow began");
  collecting.child.kill("SIGTERM");
  await collecting.shows("repeat the signal to abort it");
  collecting.child.kill("SIGTERM");
  const { code, stdout } = await collecting.ended;
  expect(stdout).toContain("1 released");
  expect(code).toBe(143);
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  const { runs } = await jobs.runs();
  expect(runs.map(({ name, state, attempts }) => ({ name, state, attempts }))).toEqual([
    { name: "slow", state: "ready", attempts: 1 },
  ]);
  await jobs.stop();
});

test("--drain-timeout bounds the time that running runs get", async () => {
  const cwd = await waiting("slow");
  const collecting = start(["collect", "--drain-timeout", "100ms"], { cwd });
  await collecting.shows("slow began");
  collecting.child.kill("SIGTERM");
  expect((await collecting.ended).stdout).toContain("1 released");
});

test("prunes, because there may be no worker that does", async () => {
  const cwd = project({
    ...jobFiles,
    "jobs/brief.ts": `import { Job } from "punctual";\nJob.schedule("brief", () => {}).keep("1ms");\n`,
  });
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  const { id } = await jobs.declare("brief").dispatch();
  expect((await run(["collect"], { cwd })).stdout).toContain("1 completed");
  await run(["collect"], { cwd });
  expect(await jobs.find(id)).toBe(null);
  await jobs.stop();
});

test("refuses to work if a job file cannot be loaded, unless --keep-going is set", async () => {
  const cwd = await waiting("ok");
  write(cwd, { "jobs/report.ts": "enum A { B }\n", "jobs/worse.ts": "throw new Error('no');\n" });
  const refused = await run(["collect"], { cwd });
  expect(refused.stderr).toContain("✕ jobs/report.ts:1  enum is not supported");
  expect(refused.stderr).toContain("✕ jobs/worse.ts:1  The file threw while it was loaded: Error: no");
  expect(refused.stderr).toContain(
    "2 job files of 3 could not be loaded. To work with the others: --keep-going",
  );
  expect(refused.code).toBe(6);
  const going = await run(["collect", "--keep-going"], { cwd });
  expect(going.stdout).toContain("1 completed");
  expect(going.code).toBe(0);
});

test.each<[string[], string]>([
  [["--batch", "0"], "Expected a whole number of at least 1."],
  [["--parallel", "ten"], "Expected a whole number of at least 1."],
  [["--drain-timeout", "-3"], "Expected a duration"],
  [["--max-time", "soon"], 'such as "200ms", "90s" or "1 hour", got "soon"'],
  [["--queues", "a,,b"], "Expected a queue name of at least one character"],
  [["--queues", "a,!a"], 'Expected the queue "a" to be served or left out, got both.'],
  [["--queues", "a*2", "--queues", "a*3"], 'one weight for the queue "a", got 2 and 3'],
  [["--queues", "a*0"], "as a whole number from 1 to 1000, got 0."],
  [["--queues", "a*two,b*"], 'Expected a weight after the "*", such as reports*2, got "b*".'],
  [["--max-job", "3"], "Did you mean --max-jobs?"],
])("refuses %j", async (args, message) => {
  const { code, stderr } = await run(["collect", ...args]);
  expect(stderr).toContain(message);
  expect(code).toBe(2);
});

test("names the pattern if it matches no job file", async () => {
  const { code, stderr } = await run(["collect"], { cwd: project() });
  expect(stderr).toMatch(/No job file matches jobs\/\*\*\/\*\.\{ts,mts,js,mjs\} in .*punctual init/);
  expect(code).toBe(6);
});
