import type { Migration } from "../sql/migrate.ts";
import { addColumn } from "./add-column.ts";

/** Schema 5: the audit trail, links between runs, and facts that workers send with their heartbeats (note 45). */
export function schema5(table: string): Migration {
  return {
    number: 5,
    compatibleFrom: 3,
    statements: (t) => [
      `create table if not exists ${t.audit} (
         id bigint not null auto_increment primary key,
         at bigint not null,
         user_name longtext,
         role longtext,
         action longtext not null,
         target longtext not null,
         details longtext,
         source longtext not null
       ) ${table}`,
      ...addColumn(t.runs, "rerun_of", "bigint"),
      // JSON: see `WorkerFacts`.
      ...addColumn(t.workers, "facts", "longtext"),
      // No index: without partial ones, every run would be in each of them, and cost more to settle.
      ...addColumn(t.history, "rerun_of", "bigint"),
    ],
  };
}
