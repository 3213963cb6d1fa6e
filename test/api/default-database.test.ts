import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { runScript, temporaryFolder } from "./support/child.ts";

const works = `
  jobs.schedule("greet", (args) => console.log("hello " + args.name));
  await jobs.dispatch("greet", { name: "Ada" });
  console.log("ran " + (await jobs.run()));
  await jobs.stop();`;

describe("an instance without a database", () => {
  test("uses ./punctual.db, and logs that", async () => {
    const cwd = temporaryFolder();
    const script = `import { Punctual } from "punctual"; const jobs = new Punctual(); ${works}`;
    const ended = await runScript(script, { cwd });
    expect(ended).toEqual({
      code: 0,
      stdout: "hello Ada\nran 1\n",
      stderr: "punctual: no database given: using sqlite:./punctual.db\n",
    });
    expect(existsSync(join(cwd, "punctual.db"))).toBe(true);
  });

  test("uses PUNCTUAL_DATABASE_URL if it is set, and logs nothing", async () => {
    const cwd = temporaryFolder();
    const script = `import { Punctual } from "punctual"; const jobs = new Punctual(); ${works}`;
    const ended = await runScript(script, { cwd, env: { PUNCTUAL_DATABASE_URL: "sqlite:./other.db" } });
    expect(ended).toEqual({ code: 0, stdout: "hello Ada\nran 1\n", stderr: "" });
    expect(existsSync(join(cwd, "other.db"))).toBe(true);
    expect(existsSync(join(cwd, "punctual.db"))).toBe(false);
  });

  const config = (text: string) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "punctual.config.ts"), text);
    return cwd;
  };
  const script = `import { Punctual } from "punctual"; const jobs = new Punctual(); ${works}`;

  test.each([
    ["new Punctual()", "const jobs = new Punctual();"],
    ["Job", "const jobs = Job;"],
  ])(
    "%s uses the database, prefix and defaults of punctual.config.ts, as the command line does",
    async (_, made) => {
      const cwd = config(
        'const database: string = "sqlite:./configured.db"; export default { database, prefix: "shop_", defaults: { queue: "mail" } };',
      );
      const text = `import { Job, Punctual } from "punctual"; ${made}
      ${works.replace("await jobs.stop();", "console.log((await jobs.find(1)).queue); await jobs.stop();")}`;
      const ended = await runScript(text, { cwd });
      expect(ended).toEqual({ code: 0, stdout: "hello Ada\nran 1\nmail\n", stderr: "" });
      expect(existsSync(join(cwd, "punctual.db"))).toBe(false);
      const db = new DatabaseSync(join(cwd, "configured.db"));
      expect(db.prepare("select name, queue from shop_history").all()).toEqual([
        { name: "greet", queue: "mail" },
      ]);
      db.close();
    },
  );

  test("prefers PUNCTUAL_DATABASE_URL to the config's database, and keeps its prefix", async () => {
    const cwd = config('export default () => ({ database: "sqlite:./configured.db", prefix: "shop_" });');
    const ended = await runScript(script, { cwd, env: { PUNCTUAL_DATABASE_URL: "sqlite:./other.db" } });
    expect(ended).toEqual({ code: 0, stdout: "hello Ada\nran 1\n", stderr: "" });
    expect(existsSync(join(cwd, "configured.db"))).toBe(false);
    const db = new DatabaseSync(join(cwd, "other.db"));
    expect(db.prepare("select count(*) as n from shop_history").get()).toEqual({ n: 1 });
    db.close();
  });

  test("that names its database ignores the config", async () => {
    const cwd = config("throw new Error('nobody reads this');");
    const named = script.replace("new Punctual()", 'new Punctual("sqlite:./named.db")');
    expect(await runScript(named, { cwd })).toEqual({ code: 0, stdout: "hello Ada\nran 1\n", stderr: "" });
  });

  test.each([
    ["throw new Error('no vault');", "cannot be loaded: no vault"],
    ["export const database = 'sqlite:./a.db';", "has no default export"],
    ["export default { databse: 'sqlite:./a.db' };", 'no option "databse"'],
    ["export default async () => ({ database: 'sqlite:./a.db' });", "exports an async function"],
    ["await 1; export default {};", "cannot be loaded"],
  ])("refuses an invalid config: %s", async (text, message) => {
    const cwd = config(text);
    const caught = `import { Punctual } from "punctual";
      try { new Punctual(); } catch (error) { console.log(error.code + " " + error.message); }`;
    const ended = await runScript(caught, { cwd });
    expect(ended.stdout).toMatch(/^CONFIG_NOT_LOADED punctual\.config\.ts/);
    expect(ended.stdout).toContain(message);
    expect(existsSync(join(cwd, "punctual.db"))).toBe(false);
  });

  test("refuses an invalid URL in the environment, without its password in the message", async () => {
    const script = `import { Punctual } from "punctual";
      try { new Punctual(); } catch (error) { console.log(error.code + " " + error.message); }`;
    const ended = await runScript(script, { env: { PUNCTUAL_DATABASE_URL: "redis://u:secret@host/1" } });
    expect(ended.stdout).toMatch(/^DATABASE_URL .*begins with "redis:"/);
    expect(ended.stdout + ended.stderr).not.toContain("secret");
  });

  test("may be created with options alone", async () => {
    const cwd = temporaryFolder();
    const script = `import { Punctual } from "punctual"; const jobs = new Punctual({ logger: false }); ${works}`;
    expect(await runScript(script, { cwd })).toEqual({ code: 0, stdout: "hello Ada\nran 1\n", stderr: "" });
    expect(existsSync(join(cwd, "punctual.db"))).toBe(true);
  });

  test("refuses undefined before the options", async () => {
    const script = `import { Punctual } from "punctual";
      try { new Punctual(undefined, { logger: false }); } catch (error) { console.log(error.code); }`;
    const cwd = temporaryFolder();
    expect((await runScript(script, { cwd })).stdout).toBe("DATABASE_URL\n");
    expect(existsSync(join(cwd, "punctual.db"))).toBe(false);
  });
});

describe("the facade", () => {
  test("is the default instance, opened on first use", async () => {
    const cwd = temporaryFolder();
    const ended = await runScript(`import { Job } from "punctual"; const jobs = Job; ${works}`, {
      cwd,
      env: { PUNCTUAL_DATABASE_URL: "sqlite:./facade.db" },
    });
    expect(ended).toEqual({ code: 0, stdout: "hello Ada\nran 1\n", stderr: "" });
    expect(existsSync(join(cwd, "facade.db"))).toBe(true);
  });

  test("that is not used creates no file, even with an invalid URL", async () => {
    const cwd = temporaryFolder();
    const ended = await runScript(`import { Job } from "punctual"; console.log(typeof Job);`, {
      cwd,
      env: { PUNCTUAL_DATABASE_URL: "nonsense" },
    });
    expect(ended).toEqual({ code: 0, stdout: "object\n", stderr: "" });
    expect(existsSync(join(cwd, "punctual.db"))).toBe(false);
  });

  test("has methods that can be called without it", async () => {
    const script = `import { Job } from "punctual";
      const { schedule, dispatch, run, stop } = Job;
      schedule("greet", () => console.log("hello"));
      await dispatch("greet");
      await run();
      await stop();`;
    const ended = await runScript(script, { env: { PUNCTUAL_DATABASE_URL: "sqlite::memory:" } });
    expect(ended).toEqual({ code: 0, stdout: "hello\n", stderr: "" });
  });
});

test("does not keep a producer alive that never stops it", async () => {
  const script = `import { Punctual } from "punctual";
    const jobs = new Punctual("sqlite:./jobs.db", { logger: false });
    jobs.declare("elsewhere");
    const run = await jobs.dispatch("elsewhere", { a: 1 }).delay(60);
    jobs.dispatch("ad hoc", () => {}).delay(60);
    console.log(run.inserted);`;
  expect(await runScript(script)).toEqual({ code: 0, stdout: "true\n", stderr: "" });
});
