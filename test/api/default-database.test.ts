import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runScript, temporaryFolder } from "./child.ts";

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
    const jobs = new Punctual("sqlite:./jobs.db");
    jobs.declare("elsewhere");
    const run = await jobs.dispatch("elsewhere", { a: 1 }).delay(60);
    jobs.dispatch("ad hoc", () => {}).delay(60);
    console.log(run.inserted);`;
  expect(await runScript(script)).toEqual({ code: 0, stdout: "true\n", stderr: "" });
});
