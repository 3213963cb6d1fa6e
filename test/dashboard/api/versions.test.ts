import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Overview, Problem } from "../../../src/dashboard/api/contract.ts";
import { Punctual } from "../../../src/index.ts";
import { TestClock } from "../../../src/testing/index.ts";
import { version } from "../../../src/version.ts";
import { serve } from "../support/api.ts";

let folder: string;
let jobs: Punctual;
let clock: TestClock;
let db: DatabaseSync;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "punctual-versions-"));
  const file = join(folder, "jobs.db");
  clock = new TestClock();
  jobs = new Punctual(`sqlite:${file}`, { clock, logger: false });
  await jobs.install();
  db = new DatabaseSync(file);
});
afterEach(async () => {
  db.close();
  await jobs.stop();
  rmSync(folder, { recursive: true });
});

/** Adds a live worker whose last heartbeat had these facts. */
function addWorker(id: string, facts: { version: string } | null): void {
  db.prepare(
    "insert into punctual_workers (id, host, pid, parallel, started_at, seen_at, facts) values (?, 'web', 1, 5, ?, ?, ?)",
  ).run(
    id,
    clock.now(),
    clock.now(),
    facts && JSON.stringify({ memory: 0, load: 0, lag: 0, children: [], ...facts }),
  );
}

/** Records a migration that this code does not know, as newer code would. */
function migrate(number: number, compatibleFrom: number): void {
  db.prepare("insert into punctual_migrations (number, applied_at, compatible_from) values (?, ?, ?)").run(
    number,
    clock.now(),
    compatibleFrom,
  );
}

const known = (): number =>
  (db.prepare("select max(number) as known from punctual_migrations").get() as { known: number }).known;

describe("the overview", () => {
  test("counts live workers by version, and leaves out those that do not know theirs", async () => {
    addWorker("a", { version: "0.0.1" });
    addWorker("b", { version: version() });
    addWorker("c", { version: version() });
    addWorker("old", null);
    addWorker("bundled", { version: "" });
    const { body } = await serve(jobs).viewer.get<Overview>("/overview");
    expect(body.versions).toEqual({
      dashboard: version(),
      workers: [
        { version: version(), count: 2 },
        { version: null, count: 1 },
        { version: "0.0.1", count: 1 },
      ],
      schema: { found: known(), known: known() },
      writable: true,
    });
  });
});

describe("a database that another process has migrated while the dashboard runs", () => {
  test("is written if its migrations allow the dashboard's code", async () => {
    const { operator, viewer } = serve(jobs);
    const before = known();
    await viewer.get("/overview");
    migrate(before + 1, before);
    await clock.advance("1m");
    const { body } = await viewer.get<Overview>("/overview");
    expect(body.versions).toMatchObject({ schema: { found: before + 1, known: before }, writable: true });
    expect((await operator.post("/queues/mail/pause")).status).toBe(200);
  });

  test("is read but not written if they need newer code", async () => {
    const { admin, viewer } = serve(jobs);
    const { id } = await jobs.define("report", () => {}).dispatch();
    const before = known();
    await viewer.get("/overview");
    migrate(before + 1, before + 1);
    await clock.advance("1m");
    const { body } = await viewer.get<Overview>("/overview");
    expect(body.versions).toMatchObject({ schema: { found: before + 1, known: before }, writable: false });
    const refused = await admin.post<Problem>(`/runs/${id}/cancel`);
    expect(refused).toMatchObject({ status: 503, body: { code: "SCHEMA_TOO_NEW" } });
    expect(refused.body.detail).toContain("Nothing was changed");
    expect(await jobs.state(id)).toBe("ready");
    expect((await admin.delete<Problem>(`/runs/${id}`)).body.code).toBe("SCHEMA_TOO_NEW");
    expect((await admin.post<Problem>("/runs/bulk", { action: "cancel", ids: [id] })).body.code).toBe(
      "SCHEMA_TOO_NEW",
    );
  });
});
