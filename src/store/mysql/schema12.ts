import type { Migration } from "../sql/migrate.ts";
import { addColumn } from "./add-column.ts";

/** Schema 12: rates, and the starts that count towards them (note 61). */
export function schema12(table: string): Migration {
  return {
    number: 12,
    // Older code leaves the runs of jobs with rates alone. A queue with a rate raises this number, see
    // `sql/sync-queues.ts`.
    compatibleFrom: 3,
    statements: (t) => [
      ...addColumn(t.jobs, "rate", "text"),
      ...addColumn(t.queues, "rate", "text"),
      // The name of a limit: a lane, the length of the job's name, and two letters.
      `create table if not exists ${t.rates} (
         name varchar(400) not null primary key,
         starts text not null,
         empty_at bigint not null,
         key ${t.rates}_empty (empty_at)
       ) ${table}`,
    ],
  };
}
