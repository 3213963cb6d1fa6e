import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Punctual, type RunInfo } from "../../src/index.ts";
import { jobFiles } from "./support/job-files.ts";
import { project, run, start, write } from "./support/punctual.ts";

const files = {
  ...jobFiles,
  "jobs/import.ts": `
import { Job } from "punctual";
import { z } from "zod";
import { appendFileSync } from "node:fs";
Job.schedule("import", z.object({ file: z.string(), rows: z.number().optional() }), ({ file }) => {
  appendFileSync("imported.txt", file + "\\n");
  return { imported: file };
}).retries(3);
Job.schedule("picky", () => {}).skip(() => true);
`,
};

async function runsIn(cwd: string): Promise<RunInfo[]> {
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  const { runs } = await jobs.runs();
  await jobs.stop();
  return runs;
}

test("prints the id to standard output, and notes to standard error", async () => {
  const cwd = project(files);
  const { code, stdout, stderr } = await run(["dispatch", "ok", '{"a":1}'], { cwd });
  expect(stdout).toBe("1\n");
  expect(stderr).toBe("run 1 of ok dispatched\n");
  expect(code).toBe(0);
  expect(await runsIn(cwd)).toMatchObject([{ id: 1, name: "ok", args: { a: 1 }, state: "ready" }]);
});

test("accepts every option of a dispatch", async () => {
  const cwd = project(files);
  const shape = ["--delay", "1h", "--queue", "q", "--priority", "-5", "--key", "k", "--tags", "a,b"];
  await run(["dispatch", "ok", ...shape], { cwd });
  await run(["dispatch", "ok", "--at", "2100-01-01T00:00:00Z"], { cwd });
  const [at, delayed] = await runsIn(cwd);
  expect(delayed).toMatchObject({ queue: "q", priority: -5, key: "k", tags: ["a", "b"], state: "scheduled" });
  expect(at!.runAt.toISOString()).toBe("2100-01-01T00:00:00.000Z");
});

test.each(["9007199254740991", "-1e20", "1.5e+300", "0.1000000000000000055", "1e23"])(
  "accepts the number %s",
  async (number) => {
    const cwd = project(files);
    expect(await run(["dispatch", "ok", `{"n":${number}}`], { cwd })).toMatchObject({ code: 0 });
    expect((await runsIn(cwd))[0]!.args).toEqual({ n: Number(number) });
  },
);

test.each([
  ["+5 seconds", 5],
  ["+90s", 90],
  ["+1h 30m", 5400],
  ["+ 1 day", 86_400],
  ["+0s", 0],
])("--at %j counts from the dispatch", async (at, seconds) => {
  const cwd = project(files);
  expect(await run(["dispatch", "ok", "--at", at], { cwd })).toMatchObject({ code: 0, stdout: "1\n" });
  const [found] = await runsIn(cwd);
  expect(Number(found!.runAt) - Number(found!.createdAt)).toBe(seconds * 1000);
});

test("reads arguments from JSON, a file or standard input, and from --set", async () => {
  const cwd = project(files);
  write(cwd, { "args.json": '\uFEFF{"from":"file"}' });
  await run(["dispatch", "ok", "@args.json"], { cwd });
  await run(["dispatch", "ok", "-"], { cwd, input: '{"from":"input","deep":{"kept":true}}' });
  await run(
    ["dispatch", "ok", '{"list":[1,2]}', "--set", "list.1=9", "--set", "a.b=true", "--set", "text=x=y"],
    { cwd },
  );
  const found = (await runsIn(cwd)).map(({ args }) => JSON.stringify(args)).reverse();
  expect(found).toEqual([
    '{"from":"file"}',
    '{"from":"input","deep":{"kept":true}}',
    '{"list":[1,9],"a":{"b":true},"text":"x=y"}',
  ]);
});

test("returns the run that holds the unique key", async () => {
  const cwd = project(files);
  await run(["dispatch", "ok", "--unique", "one"], { cwd });
  const { code, stdout, stderr } = await run(["dispatch", "ok", "--unique", "one"], { cwd });
  expect(stdout).toBe("1\n");
  expect(stderr).toContain("already has this unique key");
  expect(code).toBe(0);
  const json = await run(["dispatch", "ok", "--unique", "one", "--json"], { cwd });
  expect(JSON.parse(json.stdout)).toEqual({ v: 1, id: 1, job: "ok", inserted: false });
});

test("--wait exits with the outcome", async () => {
  const cwd = project(files);
  const working = start(["work"], { cwd });
  await working.shows("Ctrl-C to drain");
  const completed = await run(["dispatch", "import", "--set", "file=a.csv", "--wait=20s", "--json"], { cwd });
  expect(JSON.parse(completed.stdout)).toMatchObject({ state: "completed", result: { imported: "a.csv" } });
  expect(completed.code).toBe(0);
  const failed = await run(["dispatch", "broken", "--wait"], { cwd });
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain("no such customer");
  expect((await run(["dispatch", "picky", "--wait"], { cwd })).code).toBe(1);
});

test("--wait exits with 124 after its timeout", async () => {
  const { code, stdout, stderr } = await run(["dispatch", "ok", "--wait=50ms"], { cwd: project(files) });
  expect(stdout).toBe("1\n");
  expect(stderr).toContain("has not finished within");
  expect(stderr).toContain("See: punctual show 1");
  expect(code).toBe(124);
});

test("--sync executes the run here, and no other", async () => {
  const cwd = project(files);
  await run(["dispatch", "import", "--set", "file=other"], { cwd });
  const { code, stdout, stderr } = await run(["dispatch", "import", "--set", "file=mine", "--sync"], { cwd });
  expect(stdout).toBe("2\n");
  expect(stderr).toMatch(/run 2 of import completed in \d+ms/);
  expect(code).toBe(0);
  expect(readFileSync(join(cwd, "imported.txt"), "utf8")).toBe("mine\n");
  expect((await runsIn(cwd)).map(({ state }) => state)).toEqual(["completed", "ready"]);
});

test("--sync does not retry a failed run", async () => {
  const cwd = project(files);
  const { code, stdout } = await run(["dispatch", "shaky", "--sync", "--json"], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ state: "failed", error: { message: "connect ETIMEDOUT" } });
  expect(code).toBe(1);
});

test.each<[string[], number, string]>([
  [["import"], 2, 'The arguments of "import" do not fit its schema: file:'],
  [["import", '{"file":1}', "--sync"], 2, "do not fit its schema"],
  [
    ["improt"],
    3,
    'There is no job "improt", neither in the job files nor in the database. Did you mean "import"?',
  ],
  [["improt", "--sync"], 3, 'No job file defines "improt", so it cannot run here. Did you mean "import"?'],
  [["ok", "{a:1}"], 2, "Expected JSON in the arguments"],
  [["ok", "@gone.json"], 2, "There is no file gone.json."],
  [["ok", "-"], 2, "Expected JSON in standard input"],
  [["ok", '{"a":[9007199254740993]}'], 2, 'Pass it as text: "9007199254740993"'],
  [["ok", '{"a":12345678901234567890.0}'], 2, "a handler would get 12345678901234567000. Pass it as text"],
  [["ok", '{"a":-9007199254740993e0}'], 2, 'Pass it as text: "-9007199254740993e0"'],
  [["ok", "--set", "a=9007199254740992.5"], 2, "a handler would get 9007199254740992"],
  [["ok", '{"a":1e400}'], 2, "a handler would get Infinity"],
  [["ok", "--set", "a=-9007199254740992"], 2, "-9007199254740992 is beyond 2^53 - 1"],
  [["ok", "--set", "novalue"], 2, "Expected --set key=value"],
  [["ok", "--set", "a..b=1"], 2, "Expected --set key=value"],
  [["ok", "[1]", "--set", "0.a=1"], 2, "0 is not an object"],
  [["ok", "--delay", "1h", "--at", "2100-01-01"], 2, "--delay and --at both set the due time"],
  [["ok", "--at", "tomorrow"], 2, "Expected a Date or an ISO 8601 text"],
  [["ok", "--at", "+5 parsecs"], 2, 'Invalid value "+5 parsecs" of --at <time>.'],
  [["ok", "--at=-5 seconds"], 2, "Expected a Date or an ISO 8601 text"],
  [
    ["ok", "--timezone", "Nope"],
    2,
    'Expected an IANA time zone such as "Europe/Berlin" or "UTC", got "Nope"',
  ],
  [["ok", "--sync", "--queue", "q"], 2, "--queue has no effect with it"],
  [["ok", "--priority", "high"], 2, "Expected a whole number"],
  [["ok", "--wait", "soon"], 2, "Expected a duration"],
  [["ok", "--set", "__proto__.a=1"], 2, "a key named __proto__"],
  [[], 2, "Missing argument <job>, the name of the job. See: punctual help dispatch"],
])("refuses dispatch %j", async (args, expected, message) => {
  const cwd = project(files);
  const { code, stdout, stderr } = await run(["dispatch", ...args], { cwd });
  expect(stderr).toContain(message);
  expect(code).toBe(expected);
  expect(stdout).toBe("");
  expect(await runsIn(cwd)).toEqual([]);
});
