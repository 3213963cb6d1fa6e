import { describe, expect, test } from "vitest";
import type { JobError } from "../../../src/store/job-errors.ts";
import type { JobMinute, Store } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import { define } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

const OUTCOMES = ["completed", "retried", "failed", "skipped", "cancelled", "snoozed", "released"] as const;

export function tallies(database: Database): void {
  describe("tallies", () => {
    const at = fresh(database);
    const tally = (fields: Partial<JobMinute> = {}): JobMinute => ({
      name: "job",
      minute: 1,
      counts: {},
      busy: 0,
      lastRun: null,
      lastFailure: null,
      last: null,
      ...fields,
    });
    const job = async () => (await at.store.status()).jobs[0]!;

    test("are added up by job and minute", async () => {
      const counts = Object.fromEntries(
        [...OUTCOMES, "dispatched", "crashed"].map((what, n) => [what, n + 1]),
      );
      await at.store.flush([tally({ counts, busy: 10.4 })]);
      await at.store.flush([
        tally({ minute: 2, counts: { completed: 1 } }),
        tally({ counts, busy: 20 }),
        tally({ name: "other", counts: { failed: 1 } }),
      ]);
      const doubled = Object.fromEntries(Object.entries(counts).map(([what, n]) => [what, 2 * n]));
      const rows = await at.sql<Record<string, unknown>>(
        "select * from punctual_minutes order by name, minute",
      );
      expect(rows).toMatchObject([
        { name: "job", minute: 1, ...doubled, busy: 30 },
        { name: "job", minute: 2, completed: 1, failed: 0 },
        { name: "other", minute: 1, completed: 0, failed: 1 },
      ]);
    });

    test("move the job's last run forward only", async () => {
      await define(at.store, [{ name: "job" }]);
      expect(await job()).toMatchObject({ lastRun: null, lastError: null, fails: 0 });
      await at.store.flush([tally({ lastRun: 50 })]);
      await at.store.flush([tally({ lastRun: 40 })]);
      await at.store.flush([tally({ lastRun: null })]);
      expect((await job()).lastRun).toBe(50);
    });

    test("move the job's last failure forward only, beside its last success", async () => {
      await define(at.store, [{ name: "job" }]);
      expect((await job()).lastFailure).toBeNull();
      await at.store.flush([tally({ lastRun: 50, lastFailure: 70 })]);
      await at.store.flush([tally({ lastRun: 60, lastFailure: 40 })]);
      await at.store.flush([tally({ lastFailure: 65 })]);
      expect(await job()).toMatchObject({ lastRun: 60, lastFailure: 70 });
    });

    test("keep each kind of error since the last success, the latest last", async () => {
      await define(at.store, [{ name: "job" }]);
      const failed = (errors: JobError[], ok = false) =>
        at.store.flush([
          tally({ lastRun: ok ? 50 : null, last: { ok, failed: errors.length, error: "last", errors } }),
        ]);
      const [a, b, c] = ["a", "b", "c"].map((fingerprint, n) => ({
        fingerprint,
        message: `ünïcode ${fingerprint}`,
        at: 100 + n,
      }));
      await failed([a!, b!]);
      await failed([c!, { ...a!, at: 200 }]);
      expect((await job()).errors).toEqual([b, c, { ...a, at: 200 }]);
      // A flush of another worker may come late.
      await failed([{ ...a!, at: 150 }]);
      expect((await job()).errors).toEqual([b, c, { ...a, at: 200 }]);
      const many = Array.from({ length: 10 }, (_, n) => ({ ...a!, fingerprint: `f${n}`, at: 300 + n }));
      await failed(many);
      expect((await job()).errors).toEqual(many.slice(-8));
      await failed([b!], true);
      expect((await job()).errors).toEqual([b]);
      await failed([], true);
      expect((await job()).errors).toEqual([]);
    });

    test("of several workers lose no kind of error", async () => {
      await define(at.store, [{ name: "job" }]);
      const other = await at.another();
      const failed = (store: Store, fingerprint: string) =>
        store.flush([
          tally({
            last: { ok: false, failed: 1, error: "last", errors: [{ fingerprint, message: "", at: 1 }] },
          }),
        ]);
      await Promise.all([
        failed(at.store, "a"),
        failed(other, "b"),
        failed(at.store, "c"),
        failed(other, "d"),
      ]);
      const { errors, fails } = await job();
      expect(errors.map(({ fingerprint }) => fingerprint).sort()).toEqual(["a", "b", "c", "d"]);
      expect(fails).toBe(4);
    });

    test("count failures in a row until a success", async () => {
      await define(at.store, [{ name: "job" }]);
      await at.store.flush([tally({ last: { ok: false, failed: 2, error: "first", errors: [] } })]);
      await at.store.flush([tally({ last: { ok: false, failed: 3, error: "second", errors: [] } })]);
      expect(await job()).toMatchObject({ fails: 5, lastError: "second" });
      await at.store.flush([tally({ last: null })]);
      expect(await job()).toMatchObject({ fails: 5, lastError: "second" });
      await at.store.flush([tally({ last: { ok: true, failed: 1, error: "after it", errors: [] } })]);
      expect(await job()).toMatchObject({ fails: 1, lastError: "after it" });
      await at.store.flush([tally({ last: { ok: true, failed: 0, error: null, errors: [] } })]);
      expect(await job()).toMatchObject({ fails: 0, lastError: null });
    });

    test("of a job without a row are kept for the charts", async () => {
      await at.store.flush([tally({ name: "unknown", counts: { completed: 2 }, lastRun: 1 })]);
      expect(await at.sql("select name, completed from punctual_minutes")).toEqual([
        { name: "unknown", completed: 2 },
      ]);
      expect(await at.store.jobNames()).toEqual([]);
    });

    test("of two processes at once are both counted", async () => {
      const other = await at.another();
      const all = (names: string[]) => names.map((name) => tally({ name, counts: { completed: 1 } }));
      await Promise.all([at.store.flush(all(["a", "b", "c"])), other.flush(all(["c", "b", "a"]))]);
      expect(await at.sql("select name, completed from punctual_minutes order by name")).toEqual([
        { name: "a", completed: 2 },
        { name: "b", completed: 2 },
        { name: "c", completed: 2 },
      ]);
    });

    test("accept an empty list", async () => {
      await at.store.flush([]);
    });
  });
}
