import { describe, expect, test } from "vitest";
import type { NewAuditEntry } from "../../../src/store/records.ts";
import { fresh } from "../support/fresh.ts";
import type { Database } from "../support/stores.ts";

const entry: NewAuditEntry = {
  user: "ana",
  role: "operator",
  action: "run.retry",
  target: "run 7 – ünïcode",
  details: '{"query":"state:failed","n":9007199254740993}',
  source: "dashboard",
};

export function audit(database: Database): void {
  describe("the audit trail", () => {
    const at = fresh(database);

    test("returns entries as they were recorded, the newest first", async () => {
      const first = await at.store.recordAction(entry);
      expect(first).toBe(await at.store.now());
      await at.clock.advance(1);
      await at.store.recordAction({ ...entry, user: null, role: null, details: null, source: "cli" });
      const found = await at.store.audit(10, null);
      expect(found).toMatchObject([
        { ...entry, user: null, role: null, details: null, source: "cli", at: first + 1000 },
        { ...entry, at: first },
      ]);
      expect(found[0]!.id).toBeGreaterThan(found[1]!.id);
    });

    test("is read page by page", async () => {
      for (const target of ["1", "2", "3", "4", "5"]) await at.store.recordAction({ ...entry, target });
      const targets: string[][] = [];
      for (let before: number | null = null; ; ) {
        const page = await at.store.audit(2, before);
        if (page.length === 0) break;
        targets.push(page.map(({ target }) => target));
        before = page.at(-1)!.id;
      }
      expect(targets).toEqual([["5", "4"], ["3", "2"], ["1"]]);
    });

    test("loses entries after 90 days, and none before", async () => {
      const prune = () =>
        at.store.prune({ finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null, batch: 1000 });
      await at.store.recordAction({ ...entry, target: "old" });
      await at.clock.advance("89 days");
      await at.store.recordAction({ ...entry, target: "new" });
      await prune();
      expect(await at.store.audit(10, null)).toHaveLength(2);
      await at.clock.advance("25 hours");
      await prune();
      expect(await at.store.audit(10, null)).toMatchObject([{ target: "new" }]);
    });
  });
}
