import { describe, expect, test } from "vitest";
import { fresh } from "../support/fresh.ts";
import { claim, insertOne } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** Changes of a schema commit at once on these servers. */
export function repeatedInstall(database: Database): void {
  describe(`${database.name}: an install that died`, () => {
    const at = fresh(database, "once");

    test("is completed by the next, at whichever statement it stopped", async () => {
      const id = await insertOne(at.store);
      await at.sql("delete from punctual_migrations where number > 1");
      expect(await at.store.install()).toMatchObject({ from: 1 });
      await at.sql("delete from punctual_migrations");
      await at.sql("drop table punctual_logs");
      expect(await at.store.install()).toMatchObject({ from: 0 });
      await at.store.checkSchema();
      expect((await at.store.inspect()).missing).toEqual([]);
      expect(await claim(at.store)).toMatchObject([{ id, logged: 0 }]);
    });
  });
}
