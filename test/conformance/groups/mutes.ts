import { describe, expect, test } from "vitest";
import { fresh } from "../support/fresh.ts";
import type { Database } from "../support/stores.ts";

export function mutes(database: Database): void {
  describe("mutes of failure groups", () => {
    const at = fresh(database);
    const note = { by: "ana", reason: "known – ünïcode" };
    const prune = () =>
      at.store.prune({ finishedFor: null, jobsUnseenFor: null, orphansOlderThan: null, batch: 1000 });

    test("are returned as they were made, the latest first, also in a status", async () => {
      const now = await at.store.now();
      await at.store.mute({ fingerprint: "a1", until: null, ...note });
      await at.clock.advance(1);
      await at.store.mute({ fingerprint: "b2", until: now + 60_000, by: null, reason: null });
      const expected = [
        { fingerprint: "b2", since: now + 1000, until: now + 60_000, by: null, reason: null },
        { fingerprint: "a1", since: now, until: null, ...note },
      ];
      expect(await at.store.mutes()).toEqual(expected);
      expect((await at.store.status()).mutes).toEqual(expected);
    });

    test("replace an earlier mute of the same group", async () => {
      await at.store.mute({ fingerprint: "a1", until: null, ...note });
      await at.clock.advance(1);
      const until = (await at.store.now()) + 5000;
      await at.store.mute({ fingerprint: "a1", until, by: "bo", reason: null });
      expect(await at.store.mutes()).toEqual([
        { fingerprint: "a1", since: await at.store.now(), until, by: "bo", reason: null },
      ]);
    });

    test("end at their time, and are pruned then", async () => {
      const until = (await at.store.now()) + 10_000;
      await at.store.mute({ fingerprint: "a1", until, ...note });
      await at.store.mute({ fingerprint: "b2", until: null, ...note });
      await at.clock.advance(9);
      await prune();
      expect(await at.store.mutes()).toHaveLength(2);
      await at.clock.advance(1);
      expect(await at.store.mutes()).toMatchObject([{ fingerprint: "b2" }]);
      expect(await at.store.unmute("a1")).toBe(false);
      await prune();
      expect(await at.store.mutes()).toMatchObject([{ fingerprint: "b2" }]);
    });

    test("end when they are unmuted; case matters", async () => {
      await at.store.mute({ fingerprint: "a1", until: null, ...note });
      expect(await at.store.unmute("A1")).toBe(false);
      expect(await at.store.unmute("a1")).toBe(true);
      expect(await at.store.unmute("a1")).toBe(false);
      expect(await at.store.mutes()).toEqual([]);
    });
  });
}
