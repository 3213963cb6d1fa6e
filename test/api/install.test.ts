import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "./support/child.ts";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

describe("install()", () => {
  test("creates the tables, and does nothing the second time", async () => {
    const { jobs } = open();
    const first = await jobs.install();
    expect(first.from).toBe(0);
    expect(first.to).toBeGreaterThan(0);
    expect(first.statements.some((statement) => statement.includes("create table punctual_runs"))).toBe(true);
    expect(await jobs.install()).toEqual({ from: first.to, to: first.to, statements: [] });
  });

  test("with dryRun only returns the statements", async () => {
    const db = new DatabaseSync(":memory:");
    const { jobs } = open({ install: false }, db);
    const plan = await jobs.install({ dryRun: true });
    expect(plan.statements.length).toBeGreaterThan(0);
    expect(db.prepare("select count(*) as n from sqlite_schema").get()).toEqual({ n: 0 });
    const done = await jobs.install();
    expect(done).toEqual(plan);
    expect((await jobs.install({ dryRun: true })).statements).toEqual([]);
  });

  test("refuses unknown options", async () => {
    const { jobs } = open();
    await expectRefusal(
      () => jobs.install({ dryrun: true } as object),
      "INVALID_OPTION",
      'no option "dryrun"',
      'Did you mean "dryRun"?',
    );
  });

  test("that is called several times at once installs once", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const several = [open({}, `sqlite:${path}`), open({}, `sqlite:${path}`), open({}, `sqlite:${path}`)];
    const reports = await Promise.all(several.map(({ jobs }) => jobs.install()));
    expect(reports.filter((report) => report.statements.length > 0)).toHaveLength(1);
  });

  test("at the same time as other calls opens one database", async () => {
    const { jobs } = open();
    jobs.schedule("greet", () => {});
    const [, run] = await Promise.all([jobs.install(), jobs.dispatch("greet"), jobs.install()]);
    expect((await jobs.find(run.id))?.name).toBe("greet");
  });
});

describe("install: false", () => {
  test("makes every call reject until install() was called", async () => {
    const db = new DatabaseSync(":memory:");
    const { jobs } = open({ install: false }, db);
    jobs.schedule("greet", () => {});
    for (const work of [
      () => jobs.dispatch("greet"),
      () => jobs.run(),
      () => jobs.status(),
      () => jobs.find(1),
    ]) {
      await expectRefusal(
        work,
        "NOT_INSTALLED",
        'prefix "punctual_"',
        "has no Punctual tables",
        "Call install()",
      );
    }
    await jobs.install();
    expect((await jobs.dispatch("greet")).inserted).toBe(true);
    expect(await jobs.run()).toBe(1);
  });
});

describe("a newer schema", () => {
  test("is refused", async () => {
    const db = new DatabaseSync(":memory:");
    await open({}, db).jobs.install();
    db.exec("insert into punctual_migrations (number, applied_at) values (999, 0)");
    const { jobs } = open({}, db);
    jobs.schedule("greet", () => {});
    const refused = (work: () => unknown) =>
      expectRefusal(
        work,
        "SCHEMA_TOO_NEW",
        "at schema 999",
        "code for schema 999 or newer",
        "Update punctual",
      );
    await refused(() => jobs.dispatch("greet"));
    await refused(() => jobs.install());
    await refused(() => jobs.install({ dryRun: true }));
    await refused(() => jobs.dispatch("greet"));
    await refused(() => jobs.run());
    db.exec("delete from punctual_migrations where number = 999");
    expect((await jobs.dispatch("greet")).inserted).toBe(true);
  });
});
