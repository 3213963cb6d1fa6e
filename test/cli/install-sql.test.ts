import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { TestClock } from "../../src/testing/clock.ts";
import { type Database, selected } from "../conformance/support/stores.ts";
import { findProgram } from "../servers/programs.ts";
import { project, run } from "./support/punctual.ts";

const JOB = `
  import { Job } from "punctual";
  Job.schedule("hello", () => { console.log("hello from the worker"); });
`;

/** Pipes a script into the program that an administrator would use. */
function pipe(url: string, script: string): void {
  const { file, args, env } = clientFor(new URL(url));
  const { status, stderr, error } = spawnSync(file, args, {
    input: script,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  expect({ status, stderr, error }).toEqual({ status: 0, stderr: "", error: undefined });
}

function clientFor(url: URL): { file: string; args: string[]; env?: Record<string, string> } {
  if (url.protocol === "sqlite:") return { file: "sqlite3", args: ["-bail", url.pathname] };
  if (url.protocol.startsWith("postgres"))
    return { file: "psql", args: ["-X", "-q", "-v", "ON_ERROR_STOP=1", url.href] };
  const { hostname, port, username, password, pathname } = url;
  return {
    file: findProgram("mariadb") ?? "mysql",
    args: ["--no-defaults", "-h", hostname, "-P", port, "-u", username, pathname.slice(1)],
    env: { MYSQL_PWD: decodeURIComponent(password) },
  };
}

const canPipe = ({ name }: Database) => name !== "sqlite" || findProgram("sqlite3") !== undefined;

describe.each(selected.filter(canPipe))("install --sql on $name", (database) => {
  test("prints a script that the client runs unchanged; workers start, and install has nothing to do", async () => {
    const at = await database.open(new TestClock());
    try {
      const cwd = project({ "jobs/hello.ts": JOB });
      const call = (...args: string[]) => run([...args, "--db", at.url], { cwd });
      const { code, stdout } = await call("install", "--sql");
      expect(code).toBe(0);
      expect((await call("install", "--dry-run")).stdout.replaceAll(/\d{13}/g, "")).toBe(
        stdout.replaceAll(/\d{13}/g, ""),
      );
      expect((await call("install", "--check")).code).toBe(5);
      pipe(at.url, stdout);
      const again = await call("install");
      expect([again.code, again.stderr]).toEqual([0, expect.stringMatching(/^schema \d+: nothing to do\n$/)]);
      expect((await call("install", "--sql")).stdout).toMatch(/^-- Punctual: schema \d+, nothing to do\.\n$/);
      expect((await call("dispatch", "hello")).code).toBe(0);
      const worked = await call("work", "--until-empty");
      expect([worked.code, worked.stdout]).toEqual([0, expect.stringContaining("hello from the worker")]);
      expect((await call("doctor", "--json")).stdout).not.toContain("is missing");
    } finally {
      await at.teardown();
    }
  });
});

test("creates no file, and its script is one transaction", async () => {
  const cwd = project();
  const db = "--db=sqlite:./jobs.db";
  const { stdout } = await run(["install", "--sql", db], { cwd });
  const file = new DatabaseSync(join(cwd, "other.db"));
  file.exec("create table punctual_minutes (taken text)");
  expect(() => file.exec(stdout)).toThrow("already exists");
  file.exec("rollback");
  expect(file.prepare("select name from sqlite_master").all()).toEqual([{ name: "punctual_minutes" }]);
  file.exec("drop table punctual_minutes");
  file.exec(stdout);
  file.close();
  expect((await run(["install", "--check", "--db=sqlite:./other.db"], { cwd })).code).toBe(0);
});
