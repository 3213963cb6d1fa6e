import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { translate } from "../../src/store/sqlite/errors.ts";

/** The error of SQLite for these statements, of which the last one fails. */
function fault(...statements: string[]): unknown {
  const db = new DatabaseSync(":memory:");
  try {
    for (const statement of statements) db.exec(statement);
  } catch (error) {
    return error;
  } finally {
    db.close();
  }
  throw new Error("nothing failed");
}

const filled = "insert into t select zeroblob(1000) from generate_series";

test.each([
  ["a duplicate", "DATA_REJECTED", ["create table t (a primary key)", "insert into t values (1), (1)"]],
  ["a missing value", "DATA_REJECTED", ["create table t (a not null)", "insert into t values (null)"]],
  [
    "a text as an integer",
    "DATA_REJECTED",
    ["create table t (a integer) strict", "insert into t values ('x')"],
  ],
  ["a value that is too long", "DATA_REJECTED", ["select zeroblob(2000000000)"]],
  [
    "a trigger's refusal",
    "DATABASE",
    [
      "create table t (a)",
      "create trigger r before insert on t begin select raise(abort, 'no'); end",
      "insert into t values (1)",
    ],
  ],
  ["a mistake in the statement", "DATABASE", ["select from"]],
  [
    "a full database",
    "DATABASE_FAILING",
    [
      "create table t (a)",
      "pragma max_page_count = 3",
      filled.replace("generate_series", "(values (1), (2), (3), (4), (5), (6), (7), (8), (9))"),
    ],
  ],
  ["a file that must not be written", "DATABASE_READ_ONLY", ["pragma query_only = on", "create table t (a)"]],
])("%s becomes %s", (_what, code, statements) => {
  expect(translate(fault(...statements))).toMatchObject({ code });
});

test.each([
  [7, "DATABASE_FAILING"],
  [10 | (3 << 8), "DATABASE_FAILING"],
  [11, "DATABASE_FAILING"],
  [13, "DATABASE_FAILING"],
  [20, "DATA_REJECTED"],
  [5, "DATABASE_BUSY"],
  [6 | (1 << 8), "DATABASE_BUSY"],
])("the result code %i becomes %s", (errcode, code) => {
  expect(translate(Object.assign(new Error("x"), { errcode }))).toMatchObject({ code });
});
