import type { Migration } from "../sql/migrate.ts";
import { addColumn, unlessThere } from "./repeatable.ts";

/** Schema 5: what operators did, links between runs, what a worker tells with its heartbeat (note 45). */
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
      // In one statement, so that the table is read once. `runs` gets no index: it would cost every dispatch and claim.
      ...unlessThere(
        { table: t.history, column: "rerun_of" },
        `alter table ${t.history} add column rerun_of bigint,
           add key ${t.history}_parent (parent_id, id),
           add key ${t.history}_rerun (rerun_of, id),
           add key ${t.history}_tick (schedule, tick_at),
           add key ${t.history}_fingerprint (fingerprint, id),
           add key ${t.history}_job_failed (name, state, id)`,
      ),
    ],
  };
}
