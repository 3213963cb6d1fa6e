import type { Migration } from "../sql/migrate.ts";
import { withoutSchema } from "./object-names.ts";

/** Schema 10: batches, their members, and the counts of their members by the process that wrote them (note 56). */
export function schema10(name: string, hot: string): Migration {
  return {
    number: 10,
    compatibleFrom: 3,
    statements(t) {
      const batches = withoutSchema(t.batches);
      return [
        `create table ${t.batches} (
           id bigint primary key,
           name ${name} not null,
           cancels smallint not null,
           callbacks text,
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
           skipped bigint not null default 0
         ) ${hot}`,
        `create index ${batches}_unfinished on ${t.batches} (id) where finished_at is null`,
        `create index ${batches}_keep on ${t.batches} (keep_until) where keep_until is not null`,
        `create table ${t.batch_members} (
           batch bigint not null,
           run_id bigint not null,
           primary key (batch, run_id)
         )`,
        `create table ${t.batch_counts} (
           batch bigint not null,
           who ${name} not null,
           added bigint not null default 0,
           completed bigint not null default 0,
           failed bigint not null default 0,
           cancelled bigint not null default 0,
           skipped bigint not null default 0,
           primary key (batch, who)
         ) ${hot}`,
      ];
    },
  };
}
