import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { TimeLimitedSql } from "../../src/store/sql/time-limit.ts";
import { SqliteDatabase } from "../../src/store/sqlite/database.ts";

const db = new SqliteDatabase(new DatabaseSync(":memory:"));

/** Blocks the event loop, as a long statement of SQLite does. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test("the statements of a reader share its time, on SQLite too", async () => {
  const limited = new TimeLimitedSql(db, { timeout: 1000 });
  expect(await limited.all("select ? as n", 1)).toEqual([{ n: 1 }]);
  block(1001);
  await expect(limited.all("select 2 as n")).rejects.toMatchObject({
    code: "QUERY_TIMED_OUT",
    message: expect.stringContaining("within 1 s"),
  });
  expect(await new TimeLimitedSql(db, { timeout: 1000 }).all("select 2 as n")).toEqual([{ n: 2 }]);
});

test("an aborted signal ends a reader, before and between statements", async () => {
  const abort = new AbortController();
  const limited = new TimeLimitedSql(db, { timeout: 60_000, signal: abort.signal });
  await limited.all("select 1 as n");
  const reason = new Error("the client has gone");
  const reading = limited.all("select 1 as n");
  abort.abort(reason);
  await expect(reading).rejects.toBe(reason);
  await expect(limited.all("select 1 as n")).rejects.toBe(reason);
});
