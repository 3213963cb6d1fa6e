import { describe, expect, test } from "vitest";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  claim,
  define,
  defineLimited,
  found,
  ids,
  insert,
  LIMITED,
  list,
  names,
  newRun,
  settle,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** Names that are all different. */
const NAMES = [
  "name",
  "Name",
  "NAME",
  "name ",
  " name",
  "name\t",
  "náme",
  // The same letter, composed of an a and an accent.
  "na\u0301me",
  "nàme",
  "straße",
  "strasse",
  "🕰️",
  "🕰",
  "⏰",
  "👩‍👩‍👧",
  "نام",
  "%",
  "_",
  "na_e",
  "nam%",
  "?",
  "$1",
  ":name",
  "'",
  '"',
  "`",
  "\\",
  "\\'",
  "\\u0041",
  "'; drop table punctual_runs; --",
  "null",
  "0",
  "00",
  "1e3",
  "true",
  "[]",
  "{}",
  "a\nb",
  "constructor",
  "__proto__",
  "x".repeat(191),
  `${"x".repeat(190)}y`,
  "é".repeat(95),
];

export function unicodeNames(database: Database): void {
  describe("names", () => {
    const at = fresh(database);

    test("of jobs are compared byte by byte", async () => {
      await define(
        at.store,
        NAMES.map((name, n) => ({ name, priority: n })),
      );
      expect((await at.store.jobNames()).sort()).toEqual([...NAMES].sort());
      for (const [n, name] of NAMES.entries()) {
        expect(await at.store.job(name)).toMatchObject({ name, priority: n });
      }
      const inserted = await insert(at.store, ...NAMES.map((name) => ({ name })));
      for (const [n, name] of NAMES.entries()) {
        expect(ids(await list(at.store, { name, limit: 10 }))).toEqual([inserted[n]]);
      }
      const exclude = NAMES.filter((_, n) => n % 2 === 0);
      expect(names(await claim(at.store, { exclude }))).toEqual(NAMES.filter((_, n) => n % 2 === 1));
    });

    test("of queues are compared byte by byte", async () => {
      await defineLimited(at.store);
      await insert(
        at.store,
        ...NAMES.map((queue) => ({ queue })),
        ...NAMES.map((queue) => ({ queue, ...LIMITED })),
      );
      const paused = NAMES.filter((_, n) => n % 3 === 0);
      for (const queue of paused) await at.store.pauseQueue(queue, true, null);
      for (const [n, queue] of NAMES.entries()) {
        const runs = await claim(at.store, { queues: [queue] });
        expect(runs.map((run) => run.queue)).toEqual(n % 3 === 0 ? [] : [queue, queue]);
      }
      for (const queue of paused) await at.store.pauseQueue(queue, false, null);
      const left = await claim(at.store);
      expect(left.map((run) => run.queue).sort()).toEqual([...paused, ...paused].sort());
      const { queues } = await at.store.status();
      expect(queues.map(({ name }) => name).sort()).toEqual(["default", ...NAMES].sort());
    });

    test("that are almost the same have separate limits", async () => {
      await define(
        at.store,
        NAMES.map((name) => ({ name, limit: 2, keyLimit: 1 })),
        { queues: NAMES.map((name) => ({ name, limit: 2 })) },
      );
      const keys = NAMES.slice(0, 10);
      await insert(at.store, ...NAMES.flatMap((name) => [1, 2, 3].map(() => ({ name, queue: name }))));
      expect(await claim(at.store, { limit: 1000 })).toHaveLength(2 * NAMES.length);
      await define(at.store, [{ name: "keyed", keyLimit: 1 }]);
      await insert(
        at.store,
        ...keys.flatMap((key) => [1, 2].map(() => ({ name: "keyed", key, queue: "keys" }))),
      );
      const keyed = await claim(at.store, { queues: ["keys"] });
      expect(keyed.map(({ lane }) => lane).sort()).toEqual(keys.map((key) => `keyed|${key}`).sort());
    });

    test("of unique keys, keys, tags, batches, owners and workers are compared byte by byte", async () => {
      const answers = await at.store.insert(
        NAMES.map((name) =>
          newRun({
            key: name,
            tags: [name],
            batchId: name,
            owner: name,
            unique: { key: name, until: "finished", for: 0 },
          }),
        ),
      );
      expect(answers.every(({ inserted }) => inserted)).toBe(true);
      for (const [n, name] of NAMES.entries()) {
        const id = answers[n]!.id;
        expect(await found(at.store, id)).toMatchObject({
          tags: [name],
          batchId: name,
          owner: name,
          uniqueKey: name,
        });
        expect(ids(await list(at.store, { batchId: name, limit: 10 }))).toEqual([id]);
        expect(ids(await list(at.store, { tag: name, limit: 10 }))).toEqual([id]);
        await beat(at.store, name);
        const runs = await claim(at.store, { worker: name });
        expect(ids(runs)).toEqual([id]);
        expect((await found(at.store, id)).worker).toBe(name);
        expect(await settle(at.store, runs[0]!, "completed")).toBe(true);
      }
      expect((await at.store.status()).workers.map(({ id }) => id).sort()).toEqual([...NAMES].sort());
    });

    test("of keys are searched byte by byte", async () => {
      const inserted = await insert(at.store, ...NAMES.map((key) => ({ name: "a|b", key })));
      for (const [n, key] of NAMES.entries()) {
        expect(ids(await list(at.store, { key, limit: 10 }))).toEqual([inserted[n]]);
        expect((await found(at.store, inserted[n]!)).key).toBe(key);
      }
    });
  });
}
