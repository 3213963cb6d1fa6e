import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { project } from "./support/punctual.ts";
import { EVIL, STEERING, seed, seeded } from "./support/seed.ts";

describe("list", () => {
  test("prints runs, newest first", async () => {
    const { call } = await seeded();
    const { code, stdout, stderr } = await call("list");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [titles, ...rows] = stdout.trimEnd().split("\n");
    expect(titles!.trim().split(/ +/)).toEqual([
      "Id",
      "Job",
      "Queue",
      "State",
      "Attempt",
      "When",
      "Took",
      "Progress",
      "Error",
    ]);
    expect(rows.map((row) => Number(row.slice(1, 5)))).toEqual([7, 6, 5, 4, 3, 2, 1]);
    expect(stdout).toMatch(
      /✕ +3 +send-invoice +emails +failed +1 +(now|.* ago) +.*connect ETIMEDOUT 10\.0\.0\.1:25 for invoice 41/,
    );
    expect(stdout).not.toMatch(STEERING);
  });

  test("takes a query that begins with a negation", async () => {
    const { call } = await seeded();
    const all = JSON.parse((await call("list", "--json")).stdout).runs as { queue: string }[];
    const { stdout } = await call("list", "--json", "--where", "-queue:emails");
    expect(JSON.parse(stdout).runs).toEqual(all.filter(({ queue }) => queue !== "emails"));
    expect(all.some(({ queue }) => queue === "emails")).toBe(true);
  });

  test.each([
    ["list", "--json"],
    ["list", "--jsonl"],
    ["list", "failures", "--jsonl"],
    ["list", "jobs", "--json"],
    ["status", "--json"],
    ["show", EVIL, "--json"],
  ])("%s %s %s escapes control and bidi characters, and hides passwords of URLs", async (...args) => {
    const { call } = await seeded();
    const { code, stdout } = await call(...args);
    expect(code).toBe(0);
    expect(stdout).not.toMatch(STEERING);
    expect(stdout).not.toContain("pa55");
    const [first] = args.includes("--jsonl") ? stdout.split("\n") : [stdout];
    expect(Object.keys(JSON.parse(first!))).not.toEqual([]);
    if (args[0] !== "list" || args[1] === "jobs")
      expect(stdout).toContain("evil\\u001b[2J\\u0007\\u202eboj\\u009b2J");
  });

  test("prints one page, and the command for the next", async () => {
    const { call } = await seeded();
    const { stdout, stderr } = await call("list", "--limit", "3");
    expect(stdout.trimEnd().split("\n")).toHaveLength(4);
    expect(stderr).toBe("Next page: punctual list --limit 3 --before 5\n");
    const next = JSON.parse((await call("list", "--limit", "3", "--before", "5", "--json")).stdout);
    expect(next.runs.map(({ id }: { id: number }) => id)).toEqual([4, 3, 2]);
  });

  test("--where searches, says how far back, and refuses unknown fields", async () => {
    const { call } = await seeded();
    const [found, all, none, wrong] = await Promise.all([
      call("list", "--where", "state:failed payload.id:41"),
      call("list", "--json", "--where", "job:send-* after:1h"),
      call("list", "--where", "queue:nowhere is:waiting"),
      call("list", "--where", "state:done"),
    ]);
    expect(found.stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(found.stderr).toContain("Only finished runs of the last 7 days are listed.");
    const { runs, next, bounded } = JSON.parse(all.stdout);
    expect(runs.map(({ id }: { id: number }) => id)).toEqual([4, 3]);
    expect({ next, bounded }).toEqual({ next: null, bounded: false });
    expect(none).toMatchObject({ code: 0, stdout: "", stderr: "No runs that match.\n" });
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('Did you mean "completed"?');
  });

  test("prints the command for the next page with the same query", async () => {
    const { call } = await seeded();
    const { stderr } = await call("list", "--limit", "1", "--where", "job:send-invoice state:failed");
    expect(stderr).toContain(
      "Next page: punctual list --where 'job:send-invoice state:failed' --limit 1 --before 4",
    );
  });

  test("--columns prints the given columns in that order, and lists them in its error", async () => {
    const { call } = await seeded();
    const { stdout } = await call("list", "--columns", "tags,id");
    expect(stdout.split("\n")[0]!.trim().split(/ +/)).toEqual(["Tags", "Id"]);
    const none = await call("list", "--columns=", "--where", "job:none");
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--columns expected names of columns: id,"),
    });
    const { code, stderr } = await call("list", "--columns", "id,quue");
    expect(code).toBe(2);
    expect(stderr).toContain('Did you mean "queue"?');
  });

  test("--jsonl prints a line for each run, without secrets", async () => {
    const { call } = await seeded();
    const { stdout } = await call("list", "--jsonl");
    const runs = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(runs.map(({ id }) => id)).toEqual([7, 6, 5, 4, 3, 2, 1]);
    expect(runs[4].args).toEqual({ id: 41, password: "[hidden]" });
  });

  test("groups failures by their error", async () => {
    const { call } = await seeded();
    const { stdout } = await call("list", "failures");
    expect(stdout).toMatch(/\n +2 +send-invoice .* 4 +SmtpError: connect ETIMEDOUT/);
    const { failures } = JSON.parse((await call("list", "failures", "--json")).stdout);
    expect(failures[0]).toMatchObject({ count: 2, jobs: ["send-invoice"], example: 4 });
  });

  test.each(["jobs", "queues", "workers", "schedules"])("%s", async (kind) => {
    const { call } = await seeded();
    const { code, stdout } = await call("list", kind);
    expect(code).toBe(0);
    expect(stdout.split("\n").length).toBeGreaterThan(3);
    expect(Object.keys(JSON.parse((await call("list", kind, "--json")).stdout))).toEqual(["v", kind]);
  });

  test("actions are shown in words, and in full as JSON", async () => {
    const { call } = await seeded();
    expect((await call("cancel", "1")).code).toBeLessThan(2);
    expect((await call("pause", "queue", "emails", "--reason", "later")).code).toBe(0);
    const { stdout } = await call("list", "actions");
    expect(stdout).toMatch(/^When +Who +Action +Target/);
    expect(stdout).toMatch(/queue.pause +emails .*reason later/);
    const { actions, next } = JSON.parse((await call("list", "actions", "--json", "--limit", "1")).stdout);
    expect(actions).toMatchObject([{ action: "queue.pause", details: { reason: "later" } }]);
    expect(next).toBe(actions[0].id);
    expect((await call("list", "actions", "--before", String(next))).stdout).not.toContain("queue.pause");
    expect((await call("list", "actions", "--where", "x")).code).toBe(2);
  });

  test("exits with 2 for an unknown list or an invalid search", async () => {
    const { call } = await seeded();
    expect((await call("list", "horses")).code).toBe(2);
    expect((await call("list", "queues", "--where", "x")).code).toBe(2);
    expect((await call("list", "--limit", "none")).code).toBe(2);
  });

  test("ends quietly when its reader closes the pipe", async () => {
    const cwd = project();
    const { db } = await seed(cwd);
    const main = resolve(import.meta.dirname, "../../src/cli/main.ts");
    const command = `set -o pipefail; '${process.execPath}' '${main}' list --jsonl --db ${db} | head -1`;
    const { stdout, stderr } = await promisify(execFile)("bash", ["-c", command], { cwd });
    expect(JSON.parse(stdout).id).toBe(7);
    expect(stderr).toBe("");
  });
});
