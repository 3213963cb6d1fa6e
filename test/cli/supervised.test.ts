import { join } from "node:path";
import { expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { project, type Running, run, start, write } from "./support/punctual.ts";

const job = (says: string) => `
import { Job } from "punctual";
Job.schedule("say", () => { console.error("${says} in", process.pid, "of", process.ppid); });
`;

const config = 'export default { database: "sqlite:./jobs.db" };\n';

const files = { "punctual.config.ts": config, "jobs/say.ts": job("one") };

async function dispatch(cwd: string, name = "say"): Promise<void> {
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  await jobs.declare(name).dispatch();
  await jobs.stop();
}

/** Dispatches the job until its output matches: a child with the newer file replaces the old one a moment later. */
async function says(working: Running, cwd: string, what: string): Promise<void> {
  const done = () => working.stdout.split("DONE").length;
  await eventually(
    () => `"${what}" in what was written:\n${working.stderr}`,
    async () => {
      const before = done();
      await dispatch(cwd);
      await working.sees(() => done() > before);
      return working.stderr.includes(what);
    },
  );
}

test("jobs run in child processes, and the parent prints their events", async () => {
  const cwd = project(files);
  const working = start(["work", "--no-jsonl", "--workers", "2", "--parallel", "3"], { cwd });
  await working.shows("2 workers × 3 = 6 slots");
  await dispatch(cwd);
  await working.shows(new RegExp(`one in \\d+ of ${working.child.pid}`));
  await working.shows(/DONE say #1/);
  working.child.kill("SIGUSR2");
  await working.shows(/1 completed; 1:\d+ \w+ \(0 runs.*2:\d+ \w+ \(0 runs/);
  working.child.kill("SIGTERM");
  const { code, stderr } = await working.ended;
  expect(stderr).toContain("drained. 1 completed. bye");
  expect(stderr.split("Ctrl-C to drain")).toHaveLength(2);
  expect(code).toBe(0);
});

test("a method of a class that a job file exports runs in a child", async () => {
  const reports = 'export class Reports { daily() { console.error("daily in", process.pid); } }\n';
  const cwd = project({ ...files, "jobs/reports.ts": reports });
  await dispatch(cwd, "Reports.daily");
  const working = start(["work", "--no-jsonl", "--workers", "2"], { cwd });
  await working.shows(/DONE Reports\.daily #1/);
  expect(working.stderr).toMatch(/daily in \d+/);
  expect(working.stderr).not.toContain(`daily in ${working.child.pid}`);
});

test.each([
  ["--max-jobs", "2"],
  // Less memory than any process uses.
  ["--max-memory", "1M"],
])("%s %s replaces children without losing a run", async (...limit) => {
  const cwd = project(files);
  const working = start(["work", "--no-jsonl", "--workers", "1", "--parallel", "1", ...limit], { cwd });
  await working.shows("Ctrl-C to drain");
  let asked = 0;
  const ran = () => new Set(working.stderr.match(/one in \d+/g));
  await eventually("runs in a second process", async () => {
    await dispatch(cwd);
    await working.shows(new RegExp(`DONE say #${++asked}\\b`));
    return ran().size > 1;
  });
  expect(working.stderr).toContain("is replaced: it ");
  working.child.kill("SIGTERM");
  const { code, stderr } = await working.ended;
  expect(stderr).toContain(`drained. ${asked} completed. bye`);
  expect(code).toBe(0);
});

test("SIGHUP reloads the files", async () => {
  const cwd = project(files);
  const working = start(["work", "--no-jsonl", "--workers", "1"], { cwd });
  await working.shows("Ctrl-C to drain");
  write(cwd, { "jobs/say.ts": job("two") });
  working.child.kill("SIGHUP");
  await says(working, cwd, "two in");
});

test("--watch restarts when a file has changed, and keeps the old code while the file is broken", async () => {
  const cwd = project(files);
  const working = start(["work", "--no-jsonl", "--watch"], { cwd });
  await working.shows("1 worker × 10");
  await says(working, cwd, "one in");
  write(cwd, { "jobs/say.ts": "enum Broken { A }\n" });
  await working.shows("jobs/say.ts changed\n");
  await working.shows("✕ jobs/say.ts:1  enum is not supported");
  const before = working.stderr.split("one in").length;
  await dispatch(cwd);
  await working.sees(() => working.stderr.split("one in").length > before);
  write(cwd, { "jobs/say.ts": job("three") });
  await says(working, cwd, "three in");
  working.child.kill("SIGINT");
  expect((await working.ended).code).toBe(0);
});

test("a change during a restart is not lost", async () => {
  const cwd = project(files);
  const working = start(["work", "--no-jsonl", "--watch"], { cwd });
  await working.shows("1 worker × 10");
  const slowly = `console.error("two is being loaded");\nawait new Promise((resolve) => setTimeout(resolve, 1500));\n`;
  write(cwd, { "jobs/say.ts": `${slowly}${job("two")}` });
  await working.shows("two is being loaded");
  write(cwd, { "jobs/say.ts": job("three") });
  await says(working, cwd, "three in");
});

test("children start in the folder of --cwd, with the variables of --env-file", async () => {
  const cwd = project({
    "app/punctual.config.ts": "export default () => ({ database: process.env.MY_DATABASE });\n",
    "app/jobs/say.ts": job("one"),
    "app/.env": "MY_DATABASE=sqlite:./jobs.db\n",
  });
  const where = ["--cwd", "app", "--env-file=app/.env"];
  await run(["dispatch", "say", ...where], { cwd });
  const { stderr, code } = await run(["work", "--workers", "1", "--until-empty", ...where], { cwd });
  expect(stderr).toMatch(/one in \d+/);
  expect(stderr).toContain("drained. 1 completed. bye");
  expect(code).toBe(0);
});

test("the children of a mounted program run that program", async () => {
  const cwd = project({
    "app.ts": `
import { Command } from "commander";
import { Punctual } from "punctual";
import { mount } from "punctual/cli";
const jobs = new Punctual("sqlite:./jobs.db");
jobs.schedule("say", () => { console.error("mounted in", process.pid, "of", process.ppid); });
const program = new Command("app");
mount(program.command("jobs"), jobs);
await program.parseAsync();
await jobs.stop();
`,
  });
  await dispatch(cwd);
  const working = start(["jobs", "work", "--workers", "1", "--until-empty"], {
    cwd,
    program: join(cwd, "app.ts"),
  });
  const { stderr, code } = await working.ended;
  expect(stderr).toContain(`of ${working.child.pid}`);
  expect(stderr).toContain("drained. 1 completed. bye");
  expect(code).toBe(0);
});

test("a run that ends its process is reported each time, and finally as failed", async () => {
  const cwd = project({
    "punctual.config.ts": config,
    "jobs/say.ts": 'import { Job } from "punctual";\nJob.schedule("say", () => process.exit(3));\n',
  });
  await dispatch(cwd);
  const working = start(["work", "--no-jsonl", "--workers", "2"], { cwd });
  await working.shows(/CRASHED say #1 .*its process ended too often, it has failed/);
  expect(working.stdout.match(/CRASHED say #1 .*its process ended, it will run again/g)).toHaveLength(2);
  expect(working.stderr).toMatch(/child \d \(pid \d+\), with 1 run, ended with code 3/);
  working.child.kill("SIGUSR2");
  await working.shows(/up .*, 0 running; 1 failed/);
  working.child.kill("SIGTERM");
  expect((await working.ended).code).toBe(0);
});

test("a child that does not answer is replaced after --stall", async () => {
  const cwd = project({
    "punctual.config.ts": config,
    "jobs/say.ts": `
import { existsSync, writeFileSync } from "node:fs";
import { Job } from "punctual";
Job.schedule("say", () => {
  if (existsSync("blocked")) return;
  writeFileSync("blocked", "");
  for (;;);
});
`,
  });
  await dispatch(cwd);
  const working = start(["work", "--no-jsonl", "--workers", "1", "--stall", "2s"], { cwd });
  await working.shows(/CRASHED say #1 .*its process ended, it will run again/);
  expect(working.stderr).toMatch(/child 1 \(pid \d+\).* no sign of life for 2/);
  await working.shows(/DONE say #1 attempt 2/);
  working.child.kill("SIGTERM");
  expect((await working.ended).code).toBe(0);
});
