import type { Migration } from "../sql/migrate.ts";
import { withoutSchema } from "./object-names.ts";
import { TIMELINE } from "./timeline.ts";
import { views } from "./views.ts";

/** Schema 5: the audit trail, links between runs, and facts that workers send with their heartbeats (note 45). */
export const schema5: Migration = {
  number: 5,
  compatibleFrom: 3,
  statements(t) {
    const runs = withoutSchema(t.runs);
    const history = withoutSchema(t.history);
    return [
      `create table ${t.audit} (
         id bigserial primary key,
         at bigint not null,
         user_name text,
         role text,
         action text not null,
         target text not null,
         details text,
         source text not null
       )`,
      `alter table ${t.runs} add column rerun_of bigint`,
      `alter table ${t.history} add column rerun_of bigint`,
      // JSON: see `WorkerFacts`.
      `alter table ${t.workers} add column facts text`,
      `create index ${runs}_parent on ${t.runs} (parent_id, id) where parent_id is not null`,
      `create index ${runs}_rerun on ${t.runs} (rerun_of, id) where rerun_of is not null`,
      // Partial: most finished runs are in none of them, and cost nothing more.
      `create index ${history}_parent on ${t.history} (parent_id, id) where parent_id is not null`,
      `create index ${history}_rerun on ${t.history} (rerun_of, id) where rerun_of is not null`,
      `create index ${history}_tick on ${t.history} (schedule, tick_at) where schedule is not null`,
      `create index ${history}_job_failed on ${t.history} (name, id) where state = 4`,
    ];
  },
};

/** Schema 6: attempts that do not count, runs that may have crashed, and views that show starts (note 46). */
export const schema6: Migration = {
  number: 6,
  compatibleFrom: 3,
  statements: (t) => [
    // Attempts that do not count towards the maximum of the retry policy.
    `alter table ${t.runs} add column uncounted integer not null default 0`,
    `alter table ${t.history} add column uncounted integer not null default 0`,
    // 1: a worker died that may have been executing the run.
    `alter table ${t.runs} add column suspect smallint not null default 0`,
    ...views(t),
  ],
};

/** Schema 7: groups of failures that operators have muted (note 52). */
export function schema7(name: string): Migration {
  return {
    number: 7,
    compatibleFrom: 3,
    statements: (t) => [
      `create table ${t.mutes} (
         fingerprint ${name} primary key,
         muted_at bigint not null,
         muted_by text,
         reason text,
         muted_until bigint
       )`,
    ],
  };
}

/** Schema 8: a column of the gates that only clusters of MySQL and MariaDB use (note 53). The tables stay the same. */
export const schema8: Migration = {
  number: 8,
  compatibleFrom: 3,
  statements: (t) => [`alter table ${t.gates} add column turn bigint not null default 0`],
};

/** Schema 9: the timeline on which ids were last taken (note 54). */
export const schema9: Migration = {
  number: 9,
  compatibleFrom: 3,
  statements: (t) => [
    `create table ${t.ids} (id smallint primary key, timeline text not null)`,
    `insert into ${t.ids} (id, timeline) values (1, '')`,
    // A user who may not read the timeline can still install.
    `do $$ begin update ${t.ids} set timeline = coalesce(${TIMELINE}, '');
     exception when insufficient_privilege then null; end $$`,
  ],
};

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

/** Schema 11: the order in which runs of a queue start (note 59). */
export const schema11: Migration = {
  number: 11,
  compatibleFrom: 3,
  statements: (t) => [
    `alter table ${t.queues} add column fair smallint not null default 0`,
    `alter table ${t.queues} add column patience bigint`,
  ],
};

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

/** Schema 13: what operators ask of workers (note 63). Workers of older code ignore it. */
export const schema13: Migration = {
  number: 13,
  compatibleFrom: 3,
  statements: (t) => [`alter table ${t.workers} add column request text`],
};

/** Schema 14: the errors of a job since its last success, so that a mute hides no other error (note 52). */
export const schema14: Migration = {
  number: 14,
  compatibleFrom: 3,
  statements: (t) => [`alter table ${t.jobs} add column errors text`],
};

/** Schema 15: named limits, which jobs share, and what a start of a run costs (note 64). */
export function schema15(name: string): Migration {
  return {
    number: 15,
    // The first job under a named limit raises this number, see `sql/migrate.ts`.
    compatibleFrom: 3,
    statements: (t) => [
      `alter table ${t.jobs} add column under_limit ${name}`,
      `create index ${withoutSchema(t.jobs)}_under on ${t.jobs} (under_limit) where under_limit is not null`,
      `alter table ${t.runs} add column cost integer`,
      `create table ${t.limits} (
         name ${name} primary key,
         lim integer not null,
         rate text,
         defined_at bigint,
         defined_by ${name}
       )`,
    ],
  };
}
