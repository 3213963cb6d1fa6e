import type { Migration } from "../sql/migrate.ts";

/** Schema 12: rates, and the starts that count towards them (note 61). */
export const schema12: Migration = {
  number: 12,
  // Older code leaves the runs of jobs with rates alone. A queue with a rate raises this number, see
  // `sql/sync-queues.ts`.
  compatibleFrom: 3,
  statements: (t) => [
    `alter table ${t.jobs} add column rate text`,
    `alter table ${t.queues} add column rate text`,
    `create table ${t.rates} (
       name text primary key,
       starts text not null,
       empty_at integer not null
     ) strict, without rowid`,
    `create index ${t.rates}_empty on ${t.rates} (empty_at)`,
  ],
};
