import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TestClock } from "../../src/testing/clock.ts";
import { runScript } from "./processes.ts";
import { insertOne, times } from "./requests.ts";
import type { Database, Opened } from "./stores.ts";

export function installing(database: Database): void {
  describe("install", () => {
    let at: Opened;
    beforeEach(async () => {
      at = await database.open(new TestClock());
    });
    afterEach(() => at.teardown());

    test("a database without the tables is refused", async () => {
      await expect(at.store.verify()).rejects.toMatchObject({ code: "NOT_INSTALLED" });
    });

    test("brings the tables, and the second time does nothing", async () => {
      const first = await at.store.install();
      expect(first.from).toBe(0);
      expect(first.to).toBeGreaterThan(0);
      expect(first.statements).not.toEqual([]);
      await at.store.verify();
      const id = await insertOne(at.store);
      expect(await at.store.install()).toEqual({ from: first.to, to: first.to, statements: [] });
      expect(await at.store.find(id)).not.toBeNull();
    });

    test("several at once: one does it, the others find it done", async () => {
      const stores = await Promise.all(times(4, () => at.another()));
      const reports = await Promise.all(stores.map((store) => store.install()));
      expect(reports.filter(({ statements }) => statements.length > 0)).toHaveLength(1);
      expect(new Set(reports.map(({ to }) => to)).size).toBe(1);
      await Promise.all(stores.map((store) => store.verify()));
    });

    test("several processes that start together: one does it, the others find it done", async () => {
      const counts = await Promise.all(times(5, () => runScript("installer.ts", at.url)));
      expect(counts.filter((count) => count !== "0")).toHaveLength(1);
      await at.store.verify();
    });

    test("a dry run tells the statements and changes nothing", async () => {
      const told = await at.store.install({ dryRun: true });
      await expect(at.store.verify()).rejects.toMatchObject({ code: "NOT_INSTALLED" });
      expect(await at.store.install()).toEqual(told);
      expect(await at.store.install({ dryRun: true })).toEqual({
        from: told.to,
        to: told.to,
        statements: [],
      });
    });

    test("a schema newer than the code is refused", async () => {
      const { to } = await at.store.install();
      await at.sql("insert into punctual_migrations (number, applied_at) values (?, 0)", to + 1);
      const refusal = { code: "SCHEMA_TOO_NEW", message: expect.stringContaining(String(to + 1)) };
      await expect(at.store.verify()).rejects.toMatchObject(refusal);
      await expect(at.store.install()).rejects.toMatchObject(refusal);
      await expect(at.store.install({ dryRun: true })).rejects.toMatchObject(refusal);
    });

    test("another prefix makes tables of its own", async () => {
      await at.store.install();
      const other = await at.another({ prefix: "other_" });
      await expect(other.verify()).rejects.toMatchObject({ code: "NOT_INSTALLED" });
      await other.install();
      await insertOne(other, { name: "theirs" });
      expect(await at.store.list({ limit: 10 })).toEqual([]);
      expect(await other.list({ limit: 10 })).toMatchObject([{ name: "theirs" }]);
    });
  });
}
