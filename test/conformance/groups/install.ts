import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TestClock } from "../../../src/testing/clock.ts";
import { toFirstSchema } from "../../support/first-schema.ts";
import { runScript } from "../support/processes.ts";
import { beat, claim, insert, insertOne, list, times } from "../support/requests.ts";
import type { Database, Opened } from "../support/stores.ts";

export function installing(database: Database): void {
  describe("install", () => {
    let at: Opened;
    let clock: TestClock;
    beforeEach(async () => {
      clock = new TestClock();
      at = await database.open(clock);
    });
    afterEach(() => at.teardown());

    test("a database without the tables is refused", async () => {
      await expect(at.store.checkSchema()).rejects.toMatchObject({ code: "NOT_INSTALLED" });
    });

    test("creates the tables, and does nothing the second time", async () => {
      const first = await at.store.install();
      expect(first.from).toBe(0);
      expect(first.to).toBeGreaterThan(0);
      expect(first.statements).not.toEqual([]);
      await at.store.checkSchema();
      const id = await insertOne(at.store);
      expect(await at.store.install()).toEqual({ from: first.to, to: first.to, statements: [] });
      expect(await at.store.find(id)).not.toBeNull();
    });

    test("migrates tables of the first version and keeps their data", async () => {
      await at.store.install();
      const id = await insertOne(at.store);
      for (const statement of toFirstSchema(database.name)) await at.sql(statement);
      await expect(at.store.checkSchema()).rejects.toMatchObject({ code: "NOT_INSTALLED" });
      expect(await at.store.install()).toMatchObject({ from: 1 });
      await at.store.checkSchema();
      expect((await at.store.inspect()).missing).toEqual([]);
      expect(await claim(at.store)).toMatchObject([{ id, logged: 0 }]);
    });

    test("by several processes: one installs, the others find it done", async () => {
      const stores = await Promise.all(times(4, () => at.another()));
      const reports = await Promise.all(stores.map((store) => store.install()));
      expect(reports.filter(({ statements }) => statements.length > 0)).toHaveLength(1);
      expect(new Set(reports.map(({ to }) => to)).size).toBe(1);
      await Promise.all(stores.map((store) => store.checkSchema()));
    });

    test("by several processes that start together: one installs, the others find it done", async () => {
      const counts = await Promise.all(times(5, () => runScript("installer.ts", at.url)));
      expect(counts.filter((count) => count !== "0")).toHaveLength(1);
      await at.store.checkSchema();
    });

    test("with dryRun returns the statements and changes nothing", async () => {
      const told = await at.store.install({ dryRun: true });
      await expect(at.store.checkSchema()).rejects.toMatchObject({ code: "NOT_INSTALLED" });
      expect(await at.store.install()).toEqual(told);
      expect(await at.store.install({ dryRun: true })).toEqual({
        from: told.to,
        to: told.to,
        statements: [],
      });
    });

    test("inspect() lists missing objects, with the statements that create them", async () => {
      const before = await at.store.inspect();
      expect(before).toMatchObject({
        schema: { found: 0 },
        missing: [],
        version: expect.stringMatching(/^\d/),
      });
      const { to } = await at.store.install();
      const whole = await at.store.inspect();
      expect(whole).toMatchObject({ schema: { found: to, needed: to }, missing: [], expired: { count: 0 } });
      const onTable = database.name === "mysql" || database.name === "mariadb" ? " on punctual_runs" : "";
      await at.sql(`drop index punctual_runs_scheduled${onTable}`);
      await at.sql("drop view punctual_failed");
      const { missing } = await at.store.inspect();
      expect(missing.map(({ name }) => name)).toEqual(["punctual_runs_scheduled", "punctual_failed"]);
      expect(missing.map(({ kind }) => kind)).toEqual(["index", "view"]);
      for (const { statement } of missing) await at.sql(statement);
      expect((await at.store.inspect()).missing).toEqual([]);
    });

    test("restore() creates missing objects while others write", async () => {
      await at.store.install();
      const onTable = database.name === "mysql" || database.name === "mariadb" ? " on punctual_runs" : "";
      for (const index of ["scheduled", "unique"])
        await at.sql(`drop index punctual_runs_${index}${onTable}`);
      await at.sql("drop view punctual_failed");
      const { missing } = await at.store.inspect();
      expect(missing).toHaveLength(3);
      const [ids] = await Promise.all([
        insert(at.store, ...times(20, () => ({}))),
        (async () => {
          for (const one of missing) await at.store.restore(one);
        })(),
      ]);
      expect((await at.store.inspect()).missing).toEqual([]);
      expect(await list(at.store, { limit: 100 })).toHaveLength(ids.length);
    });

    test("restore() refuses an index that cannot be created, and creates it once the obstacle is removed", async () => {
      await at.store.install();
      const onTable = database.name === "mysql" || database.name === "mariadb" ? " on punctual_runs" : "";
      await at.sql(`drop index punctual_runs_unique${onTable}`);
      await insert(at.store, {}, {});
      await at.sql("update punctual_runs set unique_key = 'twice'");
      const [unique] = (await at.store.inspect()).missing;
      await expect(at.store.restore(unique!)).rejects.toThrow();
      expect((await at.store.inspect()).missing).toHaveLength(1);
      await at.sql("update punctual_runs set unique_key = null");
      await at.store.restore(unique!);
      expect((await at.store.inspect()).missing).toEqual([]);
    });

    test("inspect() counts leases that have ended and were not reaped", async () => {
      await at.store.install();
      await insertOne(at.store);
      await claim(at.store, { limit: 1, lease: 1000 });
      expect((await at.store.inspect()).expired).toEqual({ count: 0, since: null });
      await clock.advance(5);
      expect((await at.store.inspect()).expired).toEqual({ count: 1, since: clock.now() - 4000 });
    });

    test("inspect() counts workers that died long ago, and forgetWorkers() deletes them", async () => {
      await at.store.install();
      await beat(at.store, "w1");
      await clock.advance("10m");
      expect((await at.store.inspect()).deadWorkers).toBe(0);
      await clock.advance("1s");
      expect((await at.store.inspect()).deadWorkers).toBe(1);
      await beat(at.store, "w2");
      expect(await at.store.forgetWorkers()).toBe(1);
      expect(await at.store.forgetWorkers()).toBe(0);
      expect((await at.store.status()).workers).toMatchObject([{ id: "w2" }]);
    });

    const migrateTo = (number: number, compatibleFrom: number | null) =>
      at.sql(
        "insert into punctual_migrations (number, applied_at, compatible_from) values (?, 0, ?)",
        number,
        compatibleFrom,
      );

    test("a newer schema that admits this code is usable, and install() does not change it", async () => {
      const { to } = await at.store.install();
      await migrateTo(to + 1, to);
      await migrateTo(to + 2, to - 1);
      await at.store.checkSchema();
      expect(await at.store.install()).toEqual({ from: to + 2, to: to + 2, statements: [] });
      expect(await at.store.install({ dryRun: true })).toEqual({ from: to + 2, to: to + 2, statements: [] });
      expect((await at.store.inspect()).schema).toEqual({ found: to + 2, needed: to, usable: true });
      const id = await insertOne(at.store);
      expect(await claim(at.store)).toMatchObject([{ id }]);
    });

    test("a newer schema is refused if one of its migrations does not admit this code", async () => {
      const { to } = await at.store.install();
      await migrateTo(to + 1, to + 1);
      await migrateTo(to + 2, to);
      const refusal = {
        code: "SCHEMA_TOO_NEW",
        message: expect.stringContaining(`schema ${to + 1} or newer`),
      };
      await expect(at.store.checkSchema()).rejects.toMatchObject(refusal);
      await expect(at.store.install()).rejects.toMatchObject(refusal);
      expect((await at.store.inspect()).schema.usable).toBe(false);
    });

    test("the statements of a dry run are the complete installation", async () => {
      const { statements } = await at.store.install({ dryRun: true });
      for (const statement of statements) await at.sql(statement);
      await at.store.checkSchema();
      expect((await at.store.inspect()).missing).toEqual([]);
      await insertOne(at.store);
    });

    test("a newer schema without compatibleFrom is refused", async () => {
      const { to } = await at.store.install();
      await migrateTo(to + 1, null);
      const refusal = { code: "SCHEMA_TOO_NEW", message: expect.stringContaining(String(to + 1)) };
      await expect(at.store.checkSchema()).rejects.toMatchObject(refusal);
      await expect(at.store.install()).rejects.toMatchObject(refusal);
      await expect(at.store.install({ dryRun: true })).rejects.toMatchObject(refusal);
    });

    test("another prefix has its own tables", async () => {
      await at.store.install();
      const other = await at.another({ prefix: "other_" });
      await expect(other.checkSchema()).rejects.toMatchObject({ code: "NOT_INSTALLED" });
      await other.install();
      await insertOne(other, { name: "theirs" });
      expect(await list(at.store, { limit: 10 })).toEqual([]);
      expect(await list(other, { limit: 10 })).toMatchObject([{ name: "theirs" }]);
    });
  });
}
