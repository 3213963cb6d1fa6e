import { cpSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { type Ended, project, run, write } from "./support/punctual.ts";

/** Runs due runs of `names`, dispatched by the files themselves. */
async function ran(cwd: string, names: string[], ...args: string[]): Promise<Ended> {
  for (const name of names) {
    const { code, stderr } = await run(["dispatch", name, ...args], { cwd });
    expect(stderr).toContain(`of ${name} dispatched`);
    expect(code).toBe(0);
  }
  return run(["collect", ...args], { cwd });
}

const told = (what: string) => `console.error(${JSON.stringify(`[${what}]`)})`;

describe("every form of a job is found", () => {
  test("by the facade, by instances, as functions and classes, in any script", async () => {
    const cwd = project({
      "jobs/facade.ts": `import { Job } from "punctual"; Job.schedule("facade", () => ${told("facade")});`,
      "jobs/instance.mts": `import { Punctual } from "punctual";
        export const jobs = new Punctual(); jobs.schedule("instance", () => ${told("instance")});`,
      "jobs/deep/send-mail.js": `export default function () { ${told("function")}; }\nexport function helper() {}`,
      "jobs/report/index.mjs": `export default () => ${told("index")};`,
      "jobs/classes.ts": `export class Weekly { handle() { ${told("class")}; } }
        export class Daily { static jobName = "daily"; static handle() { ${told("static")}; } }
        export class Helper {}`,
      "jobs/anonymous.ts": `export default class { handle() { ${told("anonymous")}; } }`,
      "jobs/_shared.ts": `throw new Error("is no job");`,
      "jobs/_lib/a.ts": `throw new Error("is no job");`,
      "jobs/a.test.ts": `throw new Error("is no job");`,
      "jobs/a.spec.ts": `throw new Error("is no job");`,
      "jobs/types.d.ts": "export {};",
    });
    const names = ["facade", "instance", "send-mail", "report", "Weekly", "daily", "anonymous"];
    const { stdout, stderr } = await ran(cwd, names);
    expect(stderr).not.toContain("is no job");
    for (const form of ["facade", "instance", "function", "index", "class", "static", "anonymous"])
      expect(stderr).toContain(`[${form}]`);
    expect(stdout).toContain("7 completed");
    const { stderr: unknown } = await run(["dispatch", "helper"], { cwd });
    expect(unknown).toContain('There is no job "helper"');
  });

  test("a class or function that a file schedules itself is one job", async () => {
    const cwd = project({
      "jobs/a.ts": `import { Job } from "punctual";
        export class Weekly { handle() {} }
        Job.schedule(Weekly).weekly();
        export default function hourly() {}
        Job.schedule("hourly", hourly).hourly();`,
      "jobs/all.ts": `export * from "./a.ts"; export { default } from "./a.ts";`,
    });
    const { stderr, code } = await run(["work", "--until-empty"], { cwd });
    expect(stderr).toContain("2 jobs, 2 schedules");
    expect(code).toBe(0);
  });

  test("--jobs replaces the patterns of the config", async () => {
    const cwd = project({
      "punctual.config.ts": `export default { jobs: ["src/**/*.job.ts"] };`,
      "src/a.job.ts": `export default () => {};`,
      "other/_b.ts": `export default () => {};`,
    });
    expect((await run(["work", "--until-empty"], { cwd })).stderr).toContain("1 job,");
    const both = ["--jobs", "src/*.ts", "--jobs", "other/_b.ts"];
    expect((await run(["work", "--until-empty", ...both], { cwd })).stderr).toContain("2 jobs,");
    const none = await run(["work", "--jobs", "src/*.ts", "--jobs", "nowhere/*.ts"], { cwd });
    expect(none.stderr).toContain("No job file matches nowhere/*.ts");
    expect(none.code).toBe(6);
  });

  test("a file without a job is reported", async () => {
    const cwd = project({
      "jobs/a.ts": "export function work() {}\n",
      "jobs/b.ts": "export default () => {};\n",
    });
    expect((await run(["collect"], { cwd })).stderr).toContain(
      "jobs/a.ts has no jobs: define them with define()",
    );
  });
});

describe("there is one worker, on one database", () => {
  const two = {
    "jobs/a.ts": `import { Punctual } from "punctual";
      export const jobs = new Punctual("sqlite:./jobs.db");
      jobs.schedule("first", async () => { await second.dispatch(); });
      jobs.on("run.completed", ({ name }) => console.error("a heard", name));
      import { second } from "./b.ts";`,
    "jobs/b.ts": `import { Job } from "punctual";
      export const second = Job.schedule("second", async (_: unknown, run) => {
        await Job.dispatch("inline", () => console.error("inline ran"));
      });
      Job.on("run.completed", ({ name }) => console.error("b heard", name));
      Job.queue("mail", { concurrency: 2 });`,
  };

  test("instances that name no database join the one that does, with their jobs and listeners", async () => {
    const cwd = project(two);
    const { stdout, stderr } = await ran(cwd, ["first"]);
    expect(stdout).toContain("3 completed");
    expect(stderr).toContain("inline ran");
    for (const who of ["a", "b"])
      for (const name of ["first", "second"]) expect(stderr).toContain(`${who} heard ${name}`);
    const { stdout: listed } = await run(["list", "runs", "--json"], { cwd });
    expect(listed).toMatch(/"parentId": \d/);
  });

  test.each<[string, Record<string, string>, string[], Record<string, string>, string]>([
    [
      "two files open two",
      { "jobs/c.ts": `import { Punctual } from "punctual";\nnew Punctual("sqlite:./other.db");\n` },
      [],
      {},
      "The job files open two databases: jobs/a.ts:2 opens sqlite ./jobs.db, jobs/c.ts:2 opens sqlite ./other.db.",
    ],
    [
      "--db names another",
      {},
      ["--db", "postgres://me:secret@db/app"],
      {},
      "--db names postgres://me@db/app, but jobs/a.ts:2 opens sqlite ./jobs.db itself. Leave out --db, or remove the database from new Punctual() there.",
    ],
    [
      "the environment names another",
      {},
      [],
      { PUNCTUAL_DATABASE_URL: "sqlite:./other.db" },
      "PUNCTUAL_DATABASE_URL names sqlite ./other.db, but jobs/a.ts:2 opens",
    ],
    [
      "the config names another",
      { "punctual.config.ts": `export default { database: "sqlite:./other.db" };` },
      [],
      {},
      "punctual.config.ts names sqlite ./other.db, but jobs/a.ts:2 opens",
    ],
    [
      "prefixes differ",
      {
        "jobs/c.ts": `import { Punctual } from "punctual";\nnew Punctual("sqlite:./jobs.db", { prefix: "mine_" });\n`,
      },
      [],
      {},
      'tables with two prefixes: jobs/a.ts:2 uses "punctual_", jobs/c.ts:2 uses "mine_"',
    ],
    [
      "two instances define the same",
      { "jobs/c.ts": `import { Punctual } from "punctual";\nnew Punctual().schedule("first", () => {});\n` },
      [],
      {},
      'Job "first" is defined twice: in jobs/a.ts:3, and by the instance of jobs/c.ts:2.',
    ],
  ])("is refused if %s", async (_, more, args, env, message) => {
    const { code, stderr } = await run(["collect", ...args], { cwd: project({ ...two, ...more }), env });
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("secret");
    expect(code).toBe(6);
  });

  test("different spellings of the same database are accepted", async () => {
    const { code } = await run(["collect", "--db", "sqlite:jobs.db"], { cwd: project(two) });
    expect(code).toBe(0);
  });
});

describe("files with their own copy of the package", () => {
  const source = resolve(import.meta.dirname, "../../src");
  const job = `import { Punctual } from "punctual";
    const jobs = new Punctual("sqlite:./jobs.db"); jobs.schedule("hello", () => console.error("hello"));`;

  function copied(cwd: string, version: string): void {
    write(cwd, {
      "node_modules/punctual/package.json": JSON.stringify({
        name: "punctual",
        type: "module",
        exports: { ".": "./real.mjs" },
      }),
      "node_modules/punctual/real.mjs": `export * from "../../copy/src/index.ts";`,
      "copy/package.json": JSON.stringify({ version, type: "module" }),
    });
    cpSync(source, join(cwd, "copy/src"), { recursive: true });
    symlinkSync(join(source, "../node_modules"), join(cwd, "copy/node_modules"), "dir");
  }

  test("work if it is the same version", async () => {
    const cwd = project({ "jobs/a.ts": job });
    const { version } = await import("../../package.json", { with: { type: "json" } }).then(
      (it) => it.default,
    );
    copied(cwd, version);
    const { stdout, stderr } = await ran(cwd, ["hello"]);
    expect(stderr).toContain("hello\n");
    expect(stdout).toContain("1 completed");
    const unknown = await run(["dispatch", "helo"], { cwd });
    expect(unknown.code).toBe(3);
  });

  test("are refused if it is another version", async () => {
    const cwd = project({ "jobs/a.ts": job });
    copied(cwd, "99.0.0");
    const { code, stderr } = await run(["collect"], { cwd });
    expect(stderr).toMatch(
      /jobs\/a\.ts:2 uses punctual 99\.0\.0 \(.*copy\/src\/\), this command is punctual \d/,
    );
    expect(code).toBe(7);
  });
});
