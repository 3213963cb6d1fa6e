import type { Migration } from "../sql/migrate.ts";
import { withoutSchema } from "./object-names.ts";

/** Schema 12: rates, and the starts that count towards them (note 61). */
export function schema12(name: string, hot: string): Migration {
  return {
    number: 12,
    // Older code leaves the runs of jobs with rates alone. A queue with a rate raises this number, see
    // `sql/sync-queues.ts`.
    compatibleFrom: 3,
    statements: (t) => [
      `alter table ${t.jobs} add column rate text`,
      `alter table ${t.queues} add column rate text`,
      `create table ${t.rates} (
         name ${name} primary key,
         starts text not null,
         empty_at bigint not null
       ) ${hot}`,
      `create index ${withoutSchema(t.rates)}_empty on ${t.rates} (empty_at)`,
    ],
  };
}
