import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { invariants } from "../../src/store/invariants.ts";
import { scene } from "./support/project-scene.ts";

/** A project with one waiting run, and direct access to its tables. */
async function project() {
  const made = scene();
  const mail = made.jobs.define("mail", () => {});
  const { id } = await mail.dispatch();
  return { ...made, id, db: new DatabaseSync(join(made.cwd, "jobs.db")) };
}

describe("verify", () => {
  test("lists the invariants that hold", async () => {
    const { call } = await project();
    const { code, stdout, stderr } = await call("verify");
    // A long sentence continues on an indented line.
    expect(stdout.trimEnd().replace(/\n +/g, " ").split("\n")).toEqual(
      Object.values(invariants).map((rule) => expect.stringContaining(rule)),
    );
    expect(stderr).toContain("0 violations in 1 unfinished run.");
    expect(code).toBe(0);
  });

  test("names what breaks an invariant, and exits with 1", async () => {
    const { call, db, id } = await project();
    db.exec("update punctual_runs set lease_token = 'x'; drop index punctual_runs_scheduled");
    const { code, stdout } = await call("verify", "--wait", "10ms");
    expect(stdout).toMatch(/ punctual_runs_scheduled is missing {2}\S+ punctual doctor$/m);
    expect(stdout).toContain(`Run ${id} of "mail" is waiting although it has a worker, a token or a lease.`);
    expect(code).toBe(1);
    const json = await call("verify", "--wait", "10ms", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      violations: [{ invariant: "unleased", subject: `run ${id}` }],
      runs: 1,
      complete: true,
      missing: ["punctual_runs_scheduled"],
    });
    expect(json.code).toBe(1);
  });

  test("says when it has not read every row", async () => {
    const { call, jobs } = await project();
    await jobs.dispatch("mail");
    const { code, stderr } = await call("verify", "--most", "1");
    expect(stderr).toContain("Not every row was read: allow more with --most.");
    expect(code).toBe(0);
  });
});
