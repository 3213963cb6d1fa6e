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

describe("no database given", () => {
  test("is ./punctual.db, and says so", async () => {
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

  test("is PUNCTUAL_DATABASE_URL where it is set, and nothing needs to be said", async () => {
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
    "%s uses that of punctual.config.ts, with its prefix and defaults, as the command line does",
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

  test("PUNCTUAL_DATABASE_URL comes before the config's database, its prefix holds all the same", async () => {
    const cwd = config('export default () => ({ database: "sqlite:./configured.db", prefix: "shop_" });');
    const ended = await runScript(script, { cwd, env: { PUNCTUAL_DATABASE_URL: "sqlite:./other.db" } });
    expect(ended).toEqual({ code: 0, stdout: "hello Ada\nran 1\n", stderr: "" });
    expect(existsSync(join(cwd, "configured.db"))).toBe(false);
    const db = new DatabaseSync(join(cwd, "other.db"));
    expect(db.prepare("select count(*) as n from shop_history").get()).toEqual({ n: 1 });
    db.close();
  });

  test("an instance that names its database takes nothing from the config", async () => {
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
  ])("a config that cannot be used is refused: %s", async (text, message) => {
    const cwd = config(text);
    const caught = `import { Punctual } from "punctual";
      try { new Punctual(); } catch (error) { console.log(error.code + " " + error.message); }`;
    const ended = await runScript(caught, { cwd });
    expect(ended.stdout).toMatch(/^CONFIG_NOT_LOADED punctual\.config\.ts/);
    expect(ended.stdout).toContain(message);
    expect(existsSync(join(cwd, "punctual.db"))).toBe(false);
  });

  test("a bad one in the environment is refused, without its password", async () => {
    const script = `import { Punctual } from "punctual";
      try { new Punctual(); } catch (error) { console.log(error.code + " " + error.message); }`;
    const ended = await runScript(script, { env: { PUNCTUAL_DATABASE_URL: "redis://u:secret@host/1" } });
    expect(ended.stdout).toMatch(/^DATABASE_URL .*begins with "redis:"/);
    expect(ended.stdout + ended.stderr).not.toContain("secret");
  });

  test("options alone mean the same", async () => {
    const cwd = temporaryFolder();
    const script = `import { Punctual } from "punctual"; const jobs = new Punctual({ logger: false }); ${works}`;
    expect(await runScript(script, { cwd })).toEqual({ code: 0, stdout: "hello Ada\nran 1\n", stderr: "" });
    expect(existsSync(join(cwd, "punctual.db"))).toBe(true);
  });

  test("an undefined before the options is still a mistake", async () => {
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

  test("imported and not used it makes nothing, and a bad URL harms nobody", async () => {
    const cwd = temporaryFolder();
    const ended = await runScript(`import { Job } from "punctual"; console.log(typeof Job);`, {
      cwd,
      env: { PUNCTUAL_DATABASE_URL: "nonsense" },
    });
    expect(ended).toEqual({ code: 0, stdout: "object\n", stderr: "" });
    expect(existsSync(join(cwd, "punctual.db"))).toBe(false);
  });

  test("its methods can be taken off it", async () => {
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

test("a producer that never stops its instance ends all the same", async () => {
  const script = `import { Punctual } from "punctual";
    const jobs = new Punctual("sqlite:./jobs.db", { logger: false });
    jobs.declare("elsewhere");
    const run = await jobs.dispatch("elsewhere", { a: 1 }).delay(60);
    jobs.dispatch("ad hoc", () => {}).delay(60);
    console.log(run.inserted);`;
  expect(await runScript(script)).toEqual({ code: 0, stdout: "true\n", stderr: "" });
});
