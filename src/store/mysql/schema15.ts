import type { Migration } from "../sql/migrate.ts";
import { addColumn } from "./add-column.ts";

/** Schema 15: named limits, which jobs share, and what a start of a run costs (note 64). */
export function schema15(name: string, table: string): Migration {
  return {
    number: 15,
    // The first job under a named limit raises this number, see `sql/migrate.ts`.
    compatibleFrom: 3,
    statements: (t) => [
      ...addColumn(t.jobs, "under_limit", `${name}, add key ${t.jobs}_under (under_limit)`),
      ...addColumn(t.runs, "cost", "int"),
      `create table if not exists ${t.limits} (
         name ${name} not null primary key,
         lim int not null,
         rate text,
         defined_at bigint,
         defined_by ${name}
       ) ${table}`,
    ],
  };
}
