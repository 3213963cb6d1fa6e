import type { Migration } from "../sql/migrate.ts";

/** Schema 10: batches, their members, and the counts of their members by the process that wrote them (note 56). */
export const schema10: Migration = {
  number: 10,
  compatibleFrom: 3,
  statements: (t) => [
    `create table ${t.batches} (
       id integer primary key autoincrement,
       name text not null,
       cancels integer not null,
       callbacks text,
       created_at integer not null,
       sealed_at integer,
       failed_at integer,
       cancelled_at integer,
       finished_at integer,
       retried_at integer,
       keep_until integer,
       turn integer not null default 0,
       added integer not null default 0,
       completed integer not null default 0,
       failed integer not null default 0,
       cancelled integer not null default 0,
       skipped integer not null default 0
     ) strict`,
    `create index ${t.batches}_unfinished on ${t.batches} (id) where finished_at is null`,
    `create index ${t.batches}_keep on ${t.batches} (keep_until) where keep_until is not null`,
    `create table ${t.batch_members} (
       batch integer not null,
       run_id integer not null,
       primary key (batch, run_id)
     ) strict, without rowid`,
    `create table ${t.batch_counts} (
       batch integer not null,
       who text not null,
       added integer not null default 0,
       completed integer not null default 0,
       failed integer not null default 0,
       cancelled integer not null default 0,
       skipped integer not null default 0,
       primary key (batch, who)
     ) strict, without rowid`,
  ],
};
