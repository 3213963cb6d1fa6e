import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { type Ended, project, run } from "./support/punctual.ts";

const job = { "jobs/a.ts": 'import { Job } from "punctual";\nJob.schedule("a", () => {}).queue("mail");\n' };
const config = (text: string) => ({ ...job, "punctual.config.ts": `export default ${text};\n` });

describe("an invalid config is refused in one sentence", () => {
  test.each([
    ['{ databse: "sqlite:./a.db" }', 'The config has no option "databse". Did you mean "database"?'],
    ['{ database: "./a.db" }', `The config's "database": Expected a database URL`],
    ["{ database: 5 }", `The config's "database": Expected a database URL`],
    ["{ jobs: [] }", `The config's "jobs": Expected a file name or glob`],
    ["{ jobs: [5] }", `The config's "jobs": Expected a file name or glob`],
    ["{ queues: [] }", `The config's "queues": Expected options by queue`],
    [
      "{ queues: { mail: { concurency: 1 } } }",
      'Queue "mail" has no option "concurency". Did you mean "concurrency"?',
    ],
    ["{ queues: { mail: { concurrency: -1 } } }", `The config's "queues": Expected concurrency`],
    ['{ retention: { failled: "1d" } }', 'Did you mean "failed"?'],
    ['{ retention: "a while" }', `The config's "retention": Expected keep() as seconds`],
    ["{ defaults: { retry: 3 } }", 'defaults has no option "retry". Did you mean "retries"?'],
    ['{ prefix: "a b" }', `The config's "prefix": Expected a table prefix`],
    ["{ parallel: 0 }", `The config's "parallel": Expected it as a whole number of at least 1`],
    ["{ workers: 1.5 }", `The config's "workers": Expected it as a whole number`],
    ["[]", "The config expected its options as an object"],
    ["null", "The config expected its options as an object"],
    ['() => { throw new Error("no secret"); }', "punctual.config.ts: no secret"],
  ])("%s", async (text, message) => {
    const { code, stderr } = await run(["collect"], { cwd: project(config(text)) });
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(code).toBe(6);
  });

  test("without a default export, or with an error while loading", async () => {
    const without = await run(["collect"], {
      cwd: project({ "punctual.config.ts": "export const a = 1;\n" }),
    });
    expect(without.stderr).toContain("punctual.config.ts has no default export.");
    expect(without.code).toBe(6);
    const broken = await run(["status"], { cwd: project({ "punctual.config.ts": "\nenum A { B }\n" }) });
    expect(broken.stderr).toContain("punctual.config.ts:2  enum is not supported");
    expect(broken.code).toBe(6);
  });
});

describe("the config is found", () => {
  const here = async (cwd: string, args: string[] = [], env = {}): Promise<Ended> =>
    run(["install", ...args], { cwd, env });

  test.each(["ts", "mts", "js", "mjs"])("as punctual.config.%s", async (ending) => {
    const cwd = project({ [`punctual.config.${ending}`]: 'export default { database: "sqlite:./c.db" };\n' });
    await here(cwd);
    expect(existsSync(join(cwd, "c.db"))).toBe(true);
  });

  test("by --config, PUNCTUAL_CONFIG and package.json, in this order", async () => {
    const cwd = project({
      "one.ts": 'export default { database: "sqlite:./one.db" };\n',
      "two.ts": 'export default { database: "sqlite:./two.db" };\n',
      "three.ts": 'export default { database: "sqlite:./three.db" };\n',
      "package.json": '{ "type": "module", "punctual": { "config": "three.ts" } }',
    });
    await here(cwd, ["--config", "one.ts"], { PUNCTUAL_CONFIG: "two.ts" });
    expect(["one", "two", "three"].map((name) => existsSync(join(cwd, `${name}.db`)))).toEqual([
      true,
      false,
      false,
    ]);
    await here(cwd, [], { PUNCTUAL_CONFIG: "two.ts" });
    expect(existsSync(join(cwd, "two.db"))).toBe(true);
    await here(cwd);
    expect(existsSync(join(cwd, "three.db"))).toBe(true);
  });

  test("or an error names the missing file", async () => {
    const cwd = project();
    const { code, stderr } = await here(cwd, ["--config", "gone.ts"]);
    expect(stderr).toContain(`There is no config file gone.ts in ${cwd}: --config names it.`);
    expect((await here(cwd, ["--config", "/gone.ts"])).stderr).toContain(
      "There is no config file /gone.ts: --config names it.",
    );
    expect(code).toBe(6);
  });

  test("in the folder of --cwd, with the variables of --env-file", async () => {
    const cwd = project({
      "app/punctual.config.ts": "export default () => ({ database: process.env.MY_DATABASE });\n",
      "app/.env": "MY_DATABASE=sqlite:./from-env.db\n",
    });
    const { code } = await here(cwd, ["--cwd", "app", "--env-file", "app/.env"]);
    expect(code).toBe(0);
    expect(existsSync(join(cwd, "app/from-env.db"))).toBe(true);
    expect((await here(cwd, ["--cwd", "gone"])).code).toBe(2);
    expect(await here(cwd, ["--cwd", "app/.env"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is no folder app/.env (--cwd)"),
    });
    expect(await here(cwd, ["--config", "app"])).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("app (named by --config) is a folder"),
    });
    // Node itself reads this option, before our code runs.
    expect((await here(cwd, ["--env-file", "gone"])).stderr).toContain("gone: not found");
  });
});

test("the database is that of --db, else of the environment, else of the config", async () => {
  const cwd = project(config('{ database: "sqlite:./config.db" }'));
  const env = { PUNCTUAL_DATABASE_URL: "sqlite:./env.db" };
  const there = () => ["flag", "env", "config"].filter((name) => existsSync(join(cwd, `${name}.db`)));
  await run(["collect", "--db", "sqlite:./flag.db"], { cwd, env });
  expect(there()).toEqual(["flag"]);
  await run(["collect"], { cwd, env });
  expect(there()).toEqual(["flag", "env"]);
  await run(["collect"], { cwd });
  expect(there()).toEqual(["flag", "env", "config"]);
});

test("mode, queues, retention, defaults and prefix reach the jobs", async () => {
  const text = `({ mode }) => ({
    database: "sqlite:./" + mode + ".db", prefix: "mine_", queues: { mail: { concurrency: 3 } },
    retention: { completed: "forever" }, defaults: { priority: 7 },
  })`;
  const cwd = project(config(text));
  const { code, stderr } = await run(["dispatch", "a", "--sync"], { cwd, env: { PUNCTUAL_ENV: "staging" } });
  expect(stderr).toContain("completed");
  expect(code).toBe(0);
  const jobs = new Punctual(`sqlite:${cwd}/staging.db`, { prefix: "mine_", logger: false });
  const { jobs: all, queues } = await jobs.status();
  expect(all).toMatchObject([{ name: "a", queue: "mail", priority: 7 }]);
  expect(queues).toMatchObject([{ name: "mail", limit: 3 }]);
  await jobs.prune({ finished: "36500d" });
  expect((await jobs.runs({ state: "completed" })).runs).toHaveLength(1);
  await jobs.stop();
});
