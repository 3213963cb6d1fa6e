import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock, yieldToEventLoop } from "../../../src/time.ts";
import { insertOne } from "../support/requests.ts";
import type { Database, Opened } from "../support/stores.ts";

export function watching(database: Database): void {
  describe("watch", () => {
    let at: Opened;
    const stops: (() => void)[] = [];
    beforeEach(async () => {
      at = await database.open(systemClock);
      await at.store.install();
    });
    afterEach(async () => {
      for (const stop of stops.splice(0)) stop();
      await at.teardown();
    });

    /** Inserts from another connection until the watcher is called: it need not notice what happened before. */
    async function calledBy(insertElsewhere: () => Promise<unknown>): Promise<void> {
      let called = false;
      stops.push(
        at.store.watch(() => {
          called = true;
        }),
      );
      while (!called) {
        await insertElsewhere();
        await yieldToEventLoop();
      }
    }

    test("an insert of another connection calls back", async () => {
      const other = await at.another();
      await calledBy(() => insertOne(other));
    });

    test("every watcher is called", async () => {
      const other = await at.another();
      await Promise.all([calledBy(() => insertOne(other)), calledBy(() => insertOne(other))]);
    });

    test("a watcher that was stopped is not called", async () => {
      const other = await at.another();
      let calls = 0;
      at.store.watch(() => calls++)();
      await calledBy(() => insertOne(other));
      expect(calls).toBe(0);
    });
  });
}
