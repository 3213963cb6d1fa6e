import { join } from "node:path";
import { expect, test } from "vitest";
import { type Ended, project, run, start } from "./support/punctual.ts";

const app = (mounting: string) => `
import { Command } from "commander";
import { Punctual } from "punctual";
import { mount } from "punctual/cli";

const jobs = new Punctual("sqlite:./app.db");
jobs.schedule("hello", ({ name }: { name?: string }) => { console.error("hello", name); });
jobs.schedule("broken", () => { throw new Error("no such customer"); });

const program = new Command("app").option("-v, --volume <n>", "of the app's own").option("-c, --colour <name>");
program.command("own").action(() => console.log("the app's own command"));
${mounting}
await program.parseAsync();
await jobs.stop();
`;

const direct = app("mount(program, jobs);");
const nested = app('mount(program.command("jobs").description("jobs and schedules"), jobs);');

function call(cwd: string, ...args: string[]): Promise<Ended> {
  return run(args, { cwd, program: join(cwd, "app.ts") });
}

test.each([
  ["a program", direct, []],
  ["a sub-command", nested, ["jobs"]],
])("on %s every command works", async (_, text, path) => {
  const cwd = project({ "app.ts": text });
  expect((await call(cwd, "own")).stdout).toBe("the app's own command\n");
  const dispatched = await call(cwd, ...path, "dispatch", "hello", "--set", "name=you", "--json");
  expect(JSON.parse(dispatched.stdout)).toEqual({ v: 1, id: 1, job: "hello", inserted: true });
  const collected = await call(cwd, ...path, "collect");
  expect(collected.stderr).toContain("hello you");
  expect(collected.stdout).toContain("1 completed");
  const worked = await call(cwd, ...path, "work", "--until-empty");
  expect(worked.stderr).toContain("2 jobs, 0 schedules");
  expect(worked.code).toBe(0);
  const status = await call(cwd, ...path, "status", "--json");
  expect(JSON.parse(status.stdout).v).toBe(1);
  const schedules = await call(cwd, ...path, "schedule", "list", "--json");
  expect(JSON.parse(schedules.stdout).v).toBe(1);
});

test("definitions of the program are known before a worker has run", async () => {
  const cwd = project({ "app.ts": direct });
  expect((await call(cwd, "install")).code).toBe(0);
  const { stdout, stderr } = await call(cwd, "status");
  expect(stdout).toMatch(/^Defined: 2 \| Running: 0 \| Idle: 2 /);
  expect(stdout).toMatch(/\? broken .*no worker has defined it yet\n.* hello /);
  expect(stderr).toContain("2 without a worker.");
  const known = JSON.parse((await call(cwd, "status", "--json")).stdout);
  expect(known.jobs.map(({ name, seenAt }: { name: string; seenAt: null }) => [name, seenAt])).toEqual([
    ["broken", null],
    ["hello", null],
  ]);
});

test("exit codes and errors are those of the command line", async () => {
  const cwd = project({ "app.ts": nested });
  await call(cwd, "jobs", "dispatch", "broken");
  expect((await call(cwd, "jobs", "collect")).code).toBe(1);
  const unknown = await call(cwd, "jobs", "dispatch", "helo");
  expect(unknown.code).toBe(3);
  expect(unknown.stderr).toContain('Did you mean "hello"?');
  expect(unknown.stderr).not.toContain("    at ");
  const usage = await call(cwd, "jobs", "collect", "--btch", "3");
  expect(usage.code).toBe(2);
  expect(usage.stderr).toBe(
    "error: Unknown option --btch. Did you mean --batch? All options: app jobs collect --help\n",
  );
  expect((await call(cwd, "jobs", "collect", "--help")).code).toBe(0);
});

test("lists its commands, without those about files", async () => {
  const { stdout, code } = await call(project({ "app.ts": nested }), "jobs", "--help");
  expect(stdout).toMatch(/collect .*run the jobs that are due now, then exit/);
  expect(stdout).not.toMatch(/^ {2}init\b/m);
  expect(code).toBe(0);
});

test("a mounted worker drains on a signal", async () => {
  const cwd = project({ "app.ts": direct });
  const working = start(["work"], { cwd, program: join(cwd, "app.ts") });
  await working.shows("Ctrl-C to drain");
  working.child.kill("SIGTERM");
  expect(await working.ended).toMatchObject({ code: 0 });
});

test.each([
  ["a program", direct, [], "app"],
  ["a sub-command", nested, ["jobs"], "app jobs"],
])("hints of %s name the commands as the program calls them", async (_, text, path, name) => {
  const cwd = project({ "app.ts": text });
  await call(cwd, ...path, "dispatch", "broken");
  await call(cwd, ...path, "collect");
  const shown = await call(cwd, ...path, "show", "1");
  expect(shown.stderr).toContain(`Retry it: ${name} retry 1`);
  const all = [
    shown,
    await call(cwd, ...path, "status"),
    await call(cwd, ...path, "list", "runs"),
    await call(cwd, ...path, "doctor"),
    await call(cwd, ...path, "dispatch", "helo"),
  ];
  for (const { stdout, stderr } of all) expect(stdout + stderr).not.toMatch(/punctual [a-z]/);
  const json = await call(cwd, ...path, "show", "1", "--json");
  expect(JSON.parse(json.stdout).v).toBe(1);
});
