import type { Migration } from "../sql/migrate.ts";

/** Schema 15: named limits, which jobs share, and what a start of a run costs (note 64). */
export const schema15: Migration = {
  number: 15,
  // The first job under a named limit raises this number, see `sql/migrate.ts`.
  compatibleFrom: 3,
  statements: (t) => [
    `alter table ${t.jobs} add column under_limit text`,
    `create index ${t.jobs}_under on ${t.jobs} (under_limit) where under_limit is not null`,
    `alter table ${t.runs} add column cost integer`,
    `create table ${t.limits} (
       name text primary key,
       lim integer not null,
       rate text,
       defined_at integer,
       defined_by text
     ) strict, without rowid`,
  ],
};
