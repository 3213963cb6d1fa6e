import { createPool } from "mysql2";
import { createPool as createPromisePool } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import * as dialect from "../../src/store/mysql/dialect.ts";
import { asConnection, asPool, isMysqlHandle } from "../../src/store/mysql/driver.ts";
import { toValues } from "../../src/store/mysql/query.ts";
import { schemaFor } from "../../src/store/mysql/schema.ts";
import { tablesWith } from "../../src/store/sql/database.ts";

const t = tablesWith("p_");

describe("parameters", () => {
  test("a limit is sent as text, every other number as a number", () => {
    const text = "select a from t where id in (?, ?) and n = ? order by id limit ?";
    expect(toValues(text, [1, 2n, 3, 4])).toEqual([1, 2, 3, "4"]);
    expect(toValues("(select 1 where a = ? LIMIT ?)", ["x", 5])).toEqual(["x", 5]);
    expect(toValues("select ? limit ? for update", [null, 7])).toEqual([null, "7"]);
  });
});

describe("statements", () => {
  test("a list of ids is padded with its last id, so that few texts are prepared", () => {
    expect(dialect.paddedIds([7, 8, 9])).toEqual([7, 8, 9, 9]);
    expect(dialect.paddedIds([7])).toEqual([7]);
    expect(dialect.paddedIds([])).toBe(null);
    const most = Array.from({ length: 512 }, (_, index) => index);
    expect(dialect.paddedIds(most)).toEqual(most);
    expect(dialect.paddedIds([...most, 512])).toBe(null);
    expect(dialect.updateListed("t", { a: "?", b: "r.b + 1" }, [7, 7], ["x"])).toEqual({
      text: "update t r force index (primary) set r.a = ?, r.b = r.b + 1 where r.id in (?, ?)",
      params: ["x", 7, 7],
    });
  });

  test("an upsert uses the new values by name", () => {
    expect(
      dialect.upsert({
        table: "m",
        key: ["a"],
        columns: ["a", "n"],
        update: ["a", { column: "n", to: "m.n + excluded.n" }],
        rows: 2,
      }),
    ).toBe(
      "insert into m (a, n) values (?, ?), (?, ?) on duplicate key update a = values(a), n = m.n + values(n)",
    );
  });

  test("an upsert without updates leaves the row unchanged", () => {
    expect(dialect.upsert({ table: "m", key: ["a", "b"], columns: ["a", "b"] })).toBe(
      "insert into m (a, b) values (?, ?) on duplicate key update a = m.a",
    );
  });

  test("an update sets columns in the order given", () => {
    expect(dialect.updateFrom("runs", { b: "v.b", a: "r.a + 1" }, "x", "r.state = 1")).toBe(
      "update x v straight_join runs r force index (primary) on r.id = v.id set r.b = v.b, r.a = r.a + 1 where r.state = 1",
    );
  });

  test("rows have the collation of the tables", () => {
    const mysql = dialect.rows("mysql", { id: "integer", token: "text" });
    expect(mysql).toContain("id bigint path '$[0]'");
    expect(mysql).toContain("token longtext character set utf8mb4 collate utf8mb4_0900_bin path '$[1]'");
    expect(dialect.rows("mariadb", { token: "text" })).toContain("collate utf8mb4_nopad_bin");
    expect(mysql.match(/\?/g)).toHaveLength(1);
  });
});

describe("the schema", () => {
  test("every statement can be repeated", () => {
    for (const server of ["mysql", "mariadb"] as const) {
      const schema = schemaFor(server);
      const statements = [schema.ledger(t), ...schema.migrations.flatMap((one) => one.statements(t))];
      // A step that checks whether it was done before; its last three statements do what the first one selects.
      const step =
        /^set @punctual_step = \(select if\(count|^(prepare|execute|deallocate prepare) punctual_step/;
      const known =
        /^create table if not exists|^create or replace|on duplicate key update|^alter table \S+ drop key (\S+),\s+add key \1 /;
      for (const statement of statements) {
        expect(statement).toMatch(new RegExp(`${known.source}|${step.source}`));
      }
    }
  });
});

describe("handles", () => {
  test("pools of both kinds are recognised by their shape", async () => {
    const callbacks = createPool({ host: "127.0.0.1" });
    const promises = createPromisePool({ host: "127.0.0.1" });
    expect(isMysqlHandle(callbacks)).toBe(true);
    expect(isMysqlHandle(promises)).toBe(true);
    expect(asPool(promises)).toBe(promises);
    expect(typeof asPool(callbacks)?.getConnection).toBe("function");
    expect(asConnection(promises)).toBe(null);
    await promises.end();
    callbacks.end();
  });

  test.each([
    null,
    undefined,
    1,
    "mysql://h/d",
    {},
    { query() {} },
    { execute() {}, query() {}, getConnection() {} },
  ])("%o is not a handle", (value) => {
    expect(isMysqlHandle(value)).toBe(false);
  });
});
