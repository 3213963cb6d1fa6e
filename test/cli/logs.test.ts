import { expect, test } from "vitest";
import { jobFiles } from "./support/job-files.ts";
import { another, scene } from "./support/project-scene.ts";
import { project, start, write } from "./support/punctual.ts";

const EVIL = "\u001b[2J\u0007rm -rf\u202e\nsecond line";

/** A run that has logged in two attempts. */
async function spoken() {
  const at = scene();
  at.jobs
    .schedule("talk", (_: unknown, run) => {
      run.log(`attempt ${run.attempt} begins`, { user: "ann", password: "hunter2" });
      run.log(EVIL, { deep: [EVIL] });
      if (run.attempt === 1) throw new Error("no");
      run.log("done");
    })
    .retries({ max: 2, base: 0 });
  at.jobs.schedule("silent job", () => {});
  const { id } = await at.jobs.dispatch("talk");
  const silent = await at.jobs.dispatch("silent job");
  await at.jobs.run();
  return { ...at, id: String(id), silent: String(silent.id) };
}

test("show prints the number of lines, and --logs prints them", async () => {
  const { call, id } = await spoken();
  const page = await call("show", id);
  expect(page.stdout).toContain(`  Logs        5 lines: punctual show ${id} --logs\n`);
  expect(JSON.parse((await call("show", id, "--json")).stdout).logLines).toBe(5);
  const { code, stdout, stderr } = await call("show", id, "--logs", "--utc");
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split("\n");
  const when = String.raw`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}  `;
  expect(lines).toEqual([
    expect.stringMatching(`${when}#1  attempt 1 begins  {"user":"ann","password":"\\[hidden\\]"}$`),
    expect.stringMatching(`${when}#1   rm -rf second line  {"deep":\\[".*rm -rf.*second line"\\]}$`),
    expect.stringMatching(`${when}#2  attempt 2 begins`),
    expect.stringMatching(`${when}#2   rm -rf second line`),
    expect.stringMatching(`${when}#2  done$`),
  ]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal.
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  expect(stderr).toBe(`To see hidden values: punctual show ${id} --logs --raw\n`);
  const raw = await call("show", id, "--logs", "--raw");
  expect(raw.stdout).toContain('"password":"hunter2"');
  expect(raw.stderr).toBe("");
});

test("--json prints one document, --jsonl one on each line", async () => {
  const { call, id } = await spoken();
  const document = JSON.parse((await call("show", id, "--logs", "--json")).stdout);
  expect(document).toMatchObject({
    v: 1,
    run: Number(id),
    job: "talk",
    state: "completed",
    logs: [
      { attempt: 1, message: "attempt 1 begins", data: { user: "ann", password: "[hidden]" } },
      { attempt: 1, message: EVIL },
      { attempt: 2 },
      { attempt: 2 },
      { attempt: 2, message: "done" },
    ],
  });
  expect(Object.keys(document.logs[0])).toEqual(["position", "attempt", "at", "message", "data"]);
  expect(new Date(document.logs[0].at).toISOString()).toBe(document.logs[0].at);
  const { stdout } = await call("show", id, "--logs", "--jsonl");
  const lines = stdout.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual(document.logs);
  const followed = await call("show", id, "-f", "--jsonl");
  expect(followed.stdout).toBe(stdout);
});

test("a run without lines, and an unknown run", async () => {
  const { call, silent } = await spoken();
  expect(await call("show", silent, "--logs")).toMatchObject({
    code: 0,
    stdout: "",
    stderr: `Run ${silent} has logged nothing.\n`,
  });
  expect((await call("show", silent)).stdout).not.toContain("Logs");
  expect(await call("show", "4711", "--logs")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("There is no run 4711."),
  });
  expect(await call("show", silent, "--jsonl")).toMatchObject({
    code: 2,
    stderr: "punctual: --jsonl prints the log of a run: add --logs.\n",
  });
});

test("a job has no lines", async () => {
  const { call } = await spoken();
  expect(await call("show", "talk", "-f")).toMatchObject({
    code: 2,
    stderr:
      "punctual: talk is a job: --logs needs the id of a run. Its runs: punctual list --where job:talk\n",
  });
  expect(await call("show", "silent job", "--logs")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/ punctual list --where 'job:"silent job"'\n$/),
  });
  const listed = await call("list", "--where", 'job:"silent job"', "--json");
  expect(JSON.parse(listed.stdout).runs).toHaveLength(1);
  expect(await call("show", "talkk", "--logs")).toMatchObject({ code: 3 });
});

const files = {
  ...jobFiles,
  "jobs/talk.ts": `
import { existsSync } from "node:fs";
import { Job } from "punctual";
const until = async (file: string) => {
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20));
};
Job.schedule("talk", async (_: unknown, run) => {
  run.log("begun", { attempt: run.attempt });
  await until("go-" + run.attempt);
  run.log("went on");
  if (run.attempt === 1) throw new Error("not yet");
}).retries({ max: 2, base: 0 });
`,
};

test.each([
  ["in the worker itself", []],
  ["in a child process", ["--workers", "1"]],
])("--follow continues until the run has ended: %s", async (_, flags) => {
  const cwd = project(files);
  const jobs = another(`sqlite:${cwd}/jobs.db`);
  const { id } = await jobs.declare("talk").dispatch();
  const following = start(["show", String(id), "--follow", "--utc"], { cwd });
  await following.shows(`run ${id} of talk is ready: waiting for it`);
  start(["work", "--until-empty", ...flags], { cwd });
  await following.shows(/ begun {2}\{"attempt":1\}\n/);
  expect(following.stdout).not.toContain("went on");
  write(cwd, { "go-1": "" });
  await following.shows(/#2 {2}begun {2}\{"attempt":2\}\n/);
  write(cwd, { "go-2": "" });
  const { code, stdout, stderr } = await following.ended;
  expect(code).toBe(0);
  expect(stdout.match(/begun|went on/g)).toEqual(["begun", "went on", "begun", "went on"]);
  expect(stderr).toMatch(new RegExp(`\nrun ${id} completed\n$`));
});

test("Ctrl-C ends --follow, and so does the end of a run that is not kept", async () => {
  const cwd = project();
  const jobs = another(`sqlite:${cwd}/jobs.db`);
  const { id } = await jobs.declare("talk").dispatch().delay(3600);
  const first = start(["show", String(id), "-f", "--db", "sqlite:./jobs.db"], { cwd });
  await first.shows("is scheduled: waiting for it");
  first.child.kill("SIGINT");
  const { code, signal } = await first.ended;
  expect([code, signal]).toEqual([null, "SIGINT"]);
  const second = start(["show", String(id), "-f", "--json", "--db", "sqlite:./jobs.db"], { cwd });
  await second.shows("is scheduled: waiting for it");
  await jobs.remove(id);
  const ended = await second.ended;
  expect(ended.code).toBe(0);
  expect(JSON.parse(ended.stdout)).toEqual({ v: 1, run: id, job: "talk", state: null, logs: [] });
});
