import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { TestClock } from "../../src/testing/index.ts";

describe("verify()", () => {
  let folder: string;
  let clock: TestClock;
  let jobs: Punctual;
  let db: DatabaseSync;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "verify-"));
    clock = new TestClock();
    jobs = new Punctual(`sqlite:${join(folder, "jobs.db")}`, { clock, logger: false });
    await jobs.define("mail", () => {}).dispatch();
    db = new DatabaseSync(join(folder, "jobs.db"));
  });
  afterEach(async () => {
    db.close();
    await jobs.stop();
    await rm(folder, { recursive: true });
  });

  const breakLease = () => db.exec("update punctual_runs set lease_token = 'x'");

  test("answers at once if nothing is broken", async () => {
    expect(await jobs.verify()).toEqual({ violations: [], runs: 1, complete: true });
  });

  test("reports a violation that stands in two looks", async () => {
    breakLease();
    const report = jobs.verify();
    await clock.advance(2);
    expect((await report).violations).toMatchObject([{ invariant: "unleased", subject: "run 1" }]);
  });

  test("reports no violation that a second look does not confirm", async () => {
    breakLease();
    const report = jobs.verify({ wait: 5 });
    await clock.advance(4);
    db.exec("update punctual_runs set lease_token = null");
    await clock.advance(1);
    expect((await report).violations).toEqual([]);
  });

  test.each([
    [{ most: 0 }, "INVALID_OPTION"],
    [{ wait: "soon" }, "INVALID_DURATION"],
    [{ wiat: 1 }, "INVALID_OPTION"],
  ])("refuses %j", async (options, code) => {
    await expect(jobs.verify(options as object)).rejects.toMatchObject({ code });
  });
});
