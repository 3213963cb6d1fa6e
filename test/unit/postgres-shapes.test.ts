import pg from "pg";
import { expect, test } from "vitest";
import { isClient, isPool, isPostgresHandle } from "../../src/store/postgres/driver.ts";
import { channelOf } from "../../src/store/postgres/notifications.ts";
import { schema } from "../../src/store/postgres/schema.ts";
import { isNumber, withNumbers } from "../../src/store/server/adapters.ts";
import { tablesWith } from "../../src/store/sql/database.ts";

test("handles are recognised by their shape", () => {
  const pool = new pg.Pool();
  const client = new pg.Client();
  expect([isPool(pool), isClient(pool), isPostgresHandle(pool)]).toEqual([true, false, true]);
  expect([isPool(client), isClient(client), isPostgresHandle(client)]).toEqual([false, true, true]);
  for (const other of [null, undefined, 1, "x", {}, () => {}, { query() {}, connect() {} }]) {
    expect(isPostgresHandle(other)).toBe(false);
  }
});

test("channels differ by schema and prefix, not by the case of the prefix", () => {
  const names = [channelOf(null, "a_"), channelOf(null, "b_"), channelOf("s", "a_"), channelOf("S", "a_")];
  expect(new Set(names).size).toBe(4);
  expect(channelOf(null, "A_")).toBe(channelOf(null, "a_"));
  const long = channelOf("s".repeat(63), "a_");
  expect(long.length).toBeLessThanOrEqual(63);
  expect(long).not.toBe(channelOf("s".repeat(63), "b_"));
});

test("every number of the schema is converted to a number, and no text", () => {
  const statements = schema.migrations.flatMap((one) => one.statements(tablesWith("p_"))).join("\n");
  const columns = [...statements.matchAll(/^\s+(\w+) (bigint|bigserial|integer|smallint|text)\b/gm)];
  expect(columns.length).toBeGreaterThan(100);
  // The id of a worker is text; no worker is read through a caller's transaction.
  const wrong = columns.filter(([, name, type]) => name !== "id" && isNumber(name!) !== (type !== "text"));
  expect(wrong.map(([, name]) => name)).toEqual([]);
});

test("rows of other libraries are converted", () => {
  expect(
    withNumbers([{ id: "12", name: "12", run_at: 5n, error: null, tags: '["1"]', priority: 3 }]),
  ).toEqual([{ id: 12, name: "12", run_at: 5, error: null, tags: '["1"]', priority: 3 }]);
});
