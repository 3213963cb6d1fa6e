import { describe, expect, test } from "vitest";
import type { DatabaseName } from "../../src/store/store.ts";
import { fresh } from "./support/fresh.ts";
import { sqlite } from "./support/sqlite-database.ts";
import { type Opened, selected } from "./support/stores.ts";

interface Column {
  place: string;
  name: string;
  /** The type by the database's name; not every database has one for columns of views. */
  type: string | null;
}

const MYSQL = `select c.table_name as place, c.column_name as name, if(t.table_type = 'VIEW', null, c.data_type) as type
  from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
  where table_schema = database()`;

const QUERIES: Record<DatabaseName, string> = {
  sqlite: `select m.name as place, c.name, iif(m.type = 'view', null, c.type) as type
    from sqlite_master m, pragma_table_info(m.name) c where m.type in ('table', 'view') and m.name like 'punctual%'`,
  postgres: `select c.table_name as place, c.column_name as name, case when t.table_type = 'VIEW' then null else c.data_type end as type
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where table_schema not in ('pg_catalog', 'information_schema')`,
  mysql: MYSQL,
  mariadb: MYSQL,
};

/** The columns of each table and view, with their types. */
async function columnsOf(name: DatabaseName, { sql }: Opened): Promise<Map<string, string[]>> {
  const kindOf = ({ type }: Column) => (type === null ? "" : /int/i.test(type) ? " number" : " text");
  const columns = Map.groupBy(await sql<Column>(QUERIES[name]), ({ place }) => place);
  return new Map(
    [...columns].map(([place, of]) => [place, of.map((column) => column.name + kindOf(column)).sort()]),
  );
}

const servers = selected.filter(({ name }) => name !== "sqlite");

if (servers.length === 0) test.todo("no server is selected");

describe.each(servers)("the schema of $name", (database) => {
  const here = fresh(database, "once");
  const there = fresh(sqlite, "once");

  test("has all tables and views of SQLite, with the same columns", async () => {
    const expected = await columnsOf("sqlite", there);
    expect(expected.size).toBeGreaterThan(10);
    const found = await columnsOf(database.name, here);
    const shared = new Map([...found].filter(([place]) => expected.has(place)));
    expect(Object.fromEntries(shared)).toEqual(Object.fromEntries(expected));
  });
});
