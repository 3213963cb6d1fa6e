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

/** Schema 6: attempts that do not count, runs that may have crashed, and views that show starts (note 46). */
export const schema6: Migration = {
  number: 6,
  compatibleFrom: 3,
  statements: (t) => [
    // Attempts that do not count towards the maximum of the retry policy.
    `alter table ${t.runs} add column uncounted integer not null default 0`,
    `alter table ${t.history} add column uncounted integer not null default 0`,
    // 1: a worker died that may have been executing the run.
    `alter table ${t.runs} add column suspect integer not null default 0`,
    // A claimed run is running once its start is written, and ready until then.
    `drop view ${t.prefix}pending`,
    `drop view ${t.prefix}running`,
    `create view ${t.prefix}pending as
       select id, name, queue, priority, case state when 0 then 'scheduled' else 'ready' end as state,
              strftime('%Y-%m-%d %H:%M:%f', run_at / 1000.0, 'unixepoch') as run_at,
              attempts, crashes, args, unique_key, tags,
              strftime('%Y-%m-%d %H:%M:%f', created_at / 1000.0, 'unixepoch') as created_at
         from ${t.runs} where state in (0, 1) or (state = 2 and started_at is null)
       union all
       select null, s.job, coalesce(s.queue, j.queue), j.priority, 'next tick',
              strftime('%Y-%m-%d %H:%M:%f', s.next_tick / 1000.0, 'unixepoch'), 0, 0, s.args, null, null, null
         from ${t.schedules} s join ${t.jobs} j on j.name = s.job
        where s.next_tick is not null and s.paused_at is null and j.paused_at is null`,
    `create view ${t.prefix}running as
       select id, name, queue, priority, attempts, crashes, locked_by as worker, child,
              strftime('%Y-%m-%d %H:%M:%f', started_at / 1000.0, 'unixepoch') as started_at,
              strftime('%Y-%m-%d %H:%M:%f', locked_until / 1000.0, 'unixepoch') as locked_until,
              args, progress, tags
         from ${t.runs} where state = 2 and started_at is not null`,
  ],
};

/** Schema 7: groups of failures that operators have muted (note 52). */
export const schema7: Migration = {
  number: 7,
  compatibleFrom: 3,
  statements: (t) => [
    `create table ${t.mutes} (
       fingerprint text primary key,
       muted_at integer not null,
       muted_by text,
       reason text,
       muted_until integer
     ) strict`,
  ],
};

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

/** Schema 11: the order in which runs of a queue start (note 59). */
export const schema11: Migration = {
  number: 11,
  compatibleFrom: 3,
  statements: (t) => [
    `alter table ${t.queues} add column fair integer not null default 0`,
    `alter table ${t.queues} add column patience integer`,
  ],
};

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
