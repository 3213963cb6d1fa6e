import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { project, run } from "./support/punctual.ts";
import { EVIL, STEERING, seed, seeded, UTF8 } from "./support/seed.ts";

describe("status", () => {
  test("prints the counts, a line for each job, and hints to standard error", async () => {
    const { call } = await seeded();
    const { code, stdout, stderr } = await call("status");
    expect(code).toBe(0);
    const [first, empty, titles, ...rows] = stdout.trimEnd().split("\n");
    expect(first).toMatch(
      /^Defined: 8 \| Running: 1 \| Idle: 7 {8}Queues: 4 \(1 paused\) \| Workers: 2 live \| Late: 1 \| db sqlite .* \| \d\d:\d\d:\d\d UTC$/,
    );
    expect(empty).toBe("");
    expect(titles!.trim().split(/ {2,}/)).toEqual([
      "Name",
      "Queue",
      "Priority",
      "Cron",
      "Last Run",
      "Next Run",
      "Leased",
      "Fails",
      "Seen",
      "Error",
    ]);
    expect(rows.map((row) => row.split(/ {2,}/)[0])).toEqual([
      "⏸ digest-emails",
      "✕ evil boj",
      "✕ import-feed",
      "! nightly-export",
      "? old-report",
      "◐ rollup-hourly",
      "✕ send-invoice",
      "● sync-stripe",
    ]);
    expect(stdout).toMatch(
      /nightly-export +heavy +-5 +0 14 \* \* \* +✓ 25h ago +4m overdue +– +0 .*no live worker serves "heavy"/,
    );
    expect(stdout).toMatch(/rollup-hourly .*◐ 1m\d\ds +in .* +web-2:4411 \d\ds +0/);
    expect(stdout).toMatch(/send-invoice .* ✕ (now|\S+ ago) .* [1-9]\d* /);
    expect(stdout).toMatch(/old-report .*not in code \(punctual prune --job old-report\)/);
    expect(stdout).toMatch(/digest-emails .*paused→\w{3}/);
    expect(stdout).not.toMatch(STEERING);
    expect(stderr).toMatch(/3 failing, 1 late, 1 without a worker\. Details: /);
  });

  test("filters by name, by pattern and by failure", async () => {
    const { call } = await seeded();
    const names = async (...args: string[]) =>
      JSON.parse((await call("status", "--json", ...args)).stdout).jobs.map(
        ({ name }: { name: string }) => name,
      );
    expect(await names("sync-stripe")).toEqual(["sync-stripe"]);
    expect(await names("*-e*", "old-report")).toEqual(["digest-emails", "nightly-export", "old-report"]);
    expect(await names("--failing")).toEqual([EVIL, "import-feed", "send-invoice"]);
  });

  test("exits with 3 for an unknown job, with a similar name", async () => {
    const { call } = await seeded();
    const { code, stdout, stderr } = await call("status", "synk-stripe");
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain('Did you mean "sync-stripe"?');
  });

  test("--check exits with 4 if there is a problem, else with 0", async () => {
    const { call } = await seeded();
    const bad = await call("status", "--check");
    expect(bad.code).toBe(4);
    expect(bad.stdout).toBe("");
    expect(bad.stderr).toContain("nightly-export");
    expect(bad.stderr).toContain("send-invoice");
    expect(bad.stderr).not.toMatch(STEERING);
    expect((await call("status", "--check", "sync-stripe", "rollup-hourly")).code).toBe(0);
    const json = JSON.parse((await call("status", "--check", "--json")).stdout);
    expect(json.health.level).toBe("stalled");
    expect(json.health.sentences.length).toBeGreaterThan(2);
    const codes = [
      call("status", "--check", "stalled"),
      call("status", "--check=stalled", "send-invoice"),
      call("status", "--check", "send-invoice"),
    ].map(async (ended) => (await ended).code);
    expect(await Promise.all(codes)).toEqual([4, 0, 4]);
  });

  test("a value that is attached to its option is not a job name", async () => {
    const { call } = await seeded();
    const level = await call("status", "--check=sync-stripe");
    expect(level.stderr).toContain(
      'Expected the level of --check as degraded or stalled, got "sync-stripe".',
    );
    expect((await call("status", "--check=stalld")).stderr).toContain('Did you mean "stalled"?');
    const interval = await call("status", "--watch=sync-stripe");
    expect(interval.stderr).toContain("Expected --watch as seconds or text such as");
    expect((await call("status", "-wsync-stripe")).stderr).toBe(interval.stderr);
    expect([level.code, interval.code]).toEqual([2, 2]);
  });

  test("prints queues and workers in separate tables", async () => {
    const { call } = await seeded();
    const { stdout } = await call("status", "--queues", "--workers");
    expect(stdout).toMatch(/! heavy +open +1 /);
    expect(stdout).toMatch(/newsletters +paused until/);
    expect(stdout).toMatch(/web-1:4400 +w-web-1 +working +10 +default, emails/);
  });

  test("exits with 2 for an unknown order", async () => {
    const { call } = await seeded();
    const { code, stderr } = await call("status", "--sort", "luck");
    expect(code).toBe(2);
    expect(stderr).toContain("name, queue, priority, last, next, fails, seen");
  });

  test("uses ASCII if the terminal cannot display Unicode", async () => {
    const cwd = project();
    const { db } = await seed(cwd);
    const { stdout } = await run(["status", "--db", db], { cwd, env: { LC_ALL: "C" } });
    expect(stdout).toMatch(/^\[!!\] import-feed/m);
    expect(stdout).toMatch(/^\[\|\|\] digest-emails/m);
    expect(stdout).toMatch(/^[\n -~]*$/);
  });
});

test("creates no database", async () => {
  const cwd = project();
  const [named, unnamed, absolute] = await Promise.all([
    run(["status", "--db", "sqlite:./mistyped.db"], { cwd }),
    run(["list"], { cwd }),
    run(["list", "--db", "sqlite:/nope/x.db"], { cwd }),
  ]);
  expect([named.code, unnamed.code, absolute.code]).toEqual([5, 5, 5]);
  expect(named.stderr).toContain(`There is no database ./mistyped.db in ${cwd}. `);
  expect(unnamed.stderr).toContain(`There is no database ./punctual.db in ${cwd}. `);
  expect(absolute.stderr).toContain("There is no database /nope/x.db. Name an existing one with --db,");
  expect(readdirSync(cwd).filter((file) => file.includes(".db"))).toEqual([]);
});

test("uses colours on terminals, and if they are requested", async () => {
  const cwd = project();
  const { db } = await seed(cwd);
  const isColored = async (env: Record<string, string>, ...args: string[]) => {
    const { stdout } = await run(["status", "--db", db, ...args], { cwd, env: { ...UTF8, ...env } });
    return stdout.includes("\x1b[");
  };
  expect(
    await Promise.all([
      isColored({}),
      isColored({ NO_COLOR: "1" }),
      isColored({ FORCE_COLOR: "1" }, "--no-color"),
      isColored({ FORCE_COLOR: "1" }),
      isColored({ NO_COLOR: "1" }, "--color", "always"),
    ]),
  ).toEqual([false, false, false, true, true]);
});
