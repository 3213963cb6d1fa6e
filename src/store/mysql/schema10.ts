import type { Migration } from "../sql/migrate.ts";

/** Schema 10: batches, their members, and the counts of their members by the process that wrote them (note 56). */
export function schema10(name: string, table: string): Migration {
  return {
    number: 10,
    compatibleFrom: 3,
    statements: (t) => [
      `create table if not exists ${t.batches} (
         id bigint not null primary key,
         name ${name} not null,
         cancels tinyint not null,
         callbacks longtext,
         created_at bigint not null,
         sealed_at bigint,
         failed_at bigint,
         cancelled_at bigint,
         finished_at bigint,
         retried_at bigint,
         keep_until bigint,
         turn bigint not null default 0,
         added bigint not null default 0,
         completed bigint not null default 0,
         failed bigint not null default 0,
         cancelled bigint not null default 0,
         skipped bigint not null default 0,
         key ${t.batches}_unfinished (finished_at, id),
         key ${t.batches}_keep (keep_until)
       ) ${table}`,
      `create table if not exists ${t.batch_members} (
         batch bigint not null,
         run_id bigint not null,
         primary key (batch, run_id)
       ) ${table}`,
      `create table if not exists ${t.batch_counts} (
         batch bigint not null,
         who ${name} not null,
         added bigint not null default 0,
         completed bigint not null default 0,
         failed bigint not null default 0,
         cancelled bigint not null default 0,
         skipped bigint not null default 0,
         primary key (batch, who)
       ) ${table}`,
    ],
  };
}
