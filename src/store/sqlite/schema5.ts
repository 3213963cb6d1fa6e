import type { Migration } from "../sql/migrate.ts";

/** Schema 5: the audit trail, links between runs, and facts that workers send with their heartbeats (note 45). */
export const schema5: Migration = {
  number: 5,
  compatibleFrom: 3,
  statements: (t) => [
    `create table ${t.audit} (
       id integer primary key autoincrement,
       at integer not null,
       user_name text,
       role text,
       action text not null,
       target text not null,
       details text,
       source text not null
     ) strict`,
    `alter table ${t.runs} add column rerun_of integer`,
    `alter table ${t.history} add column rerun_of integer`,
    // JSON: see `WorkerFacts`.
    `alter table ${t.workers} add column facts text`,
    `create index ${t.runs}_parent on ${t.runs} (parent_id, id) where parent_id is not null`,
    `create index ${t.runs}_rerun on ${t.runs} (rerun_of, id) where rerun_of is not null`,
    // Partial: most finished runs are in none of them, and cost nothing more.
    `create index ${t.history}_parent on ${t.history} (parent_id, id) where parent_id is not null`,
    `create index ${t.history}_rerun on ${t.history} (rerun_of, id) where rerun_of is not null`,
    `create index ${t.history}_tick on ${t.history} (schedule, tick_at) where schedule is not null`,
    `create index ${t.history}_job_failed on ${t.history} (name, id) where state = 4`,
  ],
};
