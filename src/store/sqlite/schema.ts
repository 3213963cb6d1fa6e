import type { Schema } from "../sql/migrate.ts";
import {
  schema5,
  schema6,
  schema7,
  schema10,
  schema11,
  schema12,
  schema13,
  schema14,
  schema15,
} from "./migrations.ts";

/**
 * The tables of SQLite. Times are UTC milliseconds.
 * States: 0 scheduled, 1 ready, 2 running; in history 3 completed, 4 failed, 5 cancelled, 6 skipped.
 */
export const schema: Schema = {
  ledger: (t) =>
    `create table if not exists ${t.migrations} (number integer primary key, applied_at integer not null) strict`,

  async hasLedger(sql, t) {
    const found = await sql.all(
      "select 1 from sqlite_schema where type = 'table' and name = ?",
      t.migrations,
    );
    return found.length > 0;
  },

  migrations: [
    {
      number: 1,
      statements: (t) => [
        `create table ${t.runs} (
           id integer primary key autoincrement,
           name text not null,
           queue text not null,
           lane text not null,
           limited integer not null,
           priority integer not null,
           run_at integer not null,
           state integer not null,
           args text,
           attempts integer not null default 0,
           crashes integer not null default 0,
           timeout integer,
           lease_token text,
           locked_by text,
           child text,
           locked_until integer,
           started_at integer,
           cancelled_at integer,
           schedule integer,
           tick_at integer,
           unique_key text,
           unique_scope integer,
           unique_until integer,
           owner text,
           progress text,
           tags text,
           parent_id integer,
           batch_id text,
           expires_at integer,
           traceparent text,
           created_at integer not null
         ) strict`,
        // One index for each query of the worker, in the order of the query. A run is in two or three of them.
        `create index ${t.runs}_ready on ${t.runs} (queue, priority, run_at, id) where state = 1 and limited = 0 and owner is null`,
        `create index ${t.runs}_limited on ${t.runs} (queue, priority, run_at, id) where state = 1 and limited = 1 and owner is null`,
        `create index ${t.runs}_lanes on ${t.runs} (queue, priority, lane, run_at, id) where state = 1 and limited = 1 and owner is null`,
        `create index ${t.runs}_owned on ${t.runs} (owner, state, priority, run_at, id) where owner is not null`,
        `create index ${t.runs}_scheduled on ${t.runs} (run_at, id) where state = 0`,
        // No index contains a column that lease renewals update: each renewal would have to write to the index.
        `create index ${t.runs}_leased on ${t.runs} (locked_by) where state = 2`,
        `create index ${t.runs}_counted on ${t.runs} (name, lane, queue) where state = 2 and limited = 1`,
        `create index ${t.runs}_cancelled on ${t.runs} (locked_by) where state = 2 and cancelled_at is not null`,
        `create unique index ${t.runs}_unique on ${t.runs} (unique_key) where unique_key is not null`,
        `create unique index ${t.runs}_tick on ${t.runs} (schedule, tick_at) where schedule is not null`,

        `create table ${t.history} (
           id integer primary key,
           name text not null,
           queue text not null,
           lane text not null,
           limited integer not null,
           priority integer not null,
           run_at integer not null,
           state integer not null,
           args text,
           attempts integer not null,
           crashes integer not null,
           timeout integer,
           worker text,
           child text,
           started_at integer,
           finished_at integer not null,
           keep_until integer,
           error text,
           fingerprint text,
           result text,
           schedule integer,
           tick_at integer,
           unique_key text,
           unique_until integer,
           owner text,
           progress text,
           tags text,
           parent_id integer,
           batch_id text,
           traceparent text,
           created_at integer not null
         ) strict`,
        `create index ${t.history}_keep on ${t.history} (keep_until) where keep_until is not null`,
        `create index ${t.history}_name on ${t.history} (name, id)`,
        `create index ${t.history}_failed on ${t.history} (id) where state = 4`,
        `create index ${t.history}_unique on ${t.history} (unique_key, unique_until) where unique_until is not null`,

        `create table ${t.attempts} (
           run_id integer not null,
           attempt integer not null,
           outcome text not null,
           worker text,
           started_at integer,
           finished_at integer not null,
           error text,
           fingerprint text,
           primary key (run_id, attempt)
         ) strict, without rowid`,

        `create table ${t.jobs} (
           name text primary key,
           queue text not null,
           priority integer not null,
           lim integer not null,
           key_lim integer not null,
           cron text,
           fingerprint text not null,
           defined_at integer not null,
           defined_by text,
           paused_at integer,
           paused_by text,
           paused_reason text,
           last_run integer,
           last_error text,
           fail_count integer not null default 0,
           seen_at integer,
           created_at integer not null
         ) strict, without rowid`,
        `create index ${t.jobs}_paused on ${t.jobs} (name) where paused_at is not null`,

        `create table ${t.schedules} (
           id integer primary key autoincrement,
           job text not null,
           slot text not null,
           cron text not null,
           timezone text not null,
           args text,
           queue text,
           fingerprint text not null,
           last_tick integer,
           next_tick integer,
           resumed_at integer,
           paused_at integer,
           paused_by text,
           paused_reason text,
           missed integer not null default 0,
           created_at integer not null,
           unique (job, slot)
         ) strict`,
        `create index ${t.schedules}_next on ${t.schedules} (next_tick) where next_tick is not null`,

        `create table ${t.queues} (
           name text primary key,
           lim integer not null default 0,
           defined_at integer,
           defined_by text,
           paused_at integer,
           paused_by text,
           paused_reason text,
           paused_until integer
         ) strict, without rowid`,

        `create table ${t.workers} (
           id text primary key,
           host text not null,
           pid integer not null,
           parallel integer not null,
           queues text,
           settle_seq integer not null default 0,
           started_at integer not null,
           seen_at integer not null
         ) strict, without rowid`,

        `create table ${t.minutes} (
           minute integer not null,
           name text not null,
           dispatched integer not null default 0,
           completed integer not null default 0,
           retried integer not null default 0,
           failed integer not null default 0,
           skipped integer not null default 0,
           cancelled integer not null default 0,
           snoozed integer not null default 0,
           released integer not null default 0,
           crashed integer not null default 0,
           busy integer not null default 0,
           primary key (minute, name)
         ) strict, without rowid`,

        `create view ${t.prefix}pending as
           select id, name, queue, priority, case state when 0 then 'scheduled' else 'ready' end as state,
                  strftime('%Y-%m-%d %H:%M:%f', run_at / 1000.0, 'unixepoch') as run_at,
                  attempts, crashes, args, unique_key, tags,
                  strftime('%Y-%m-%d %H:%M:%f', created_at / 1000.0, 'unixepoch') as created_at
             from ${t.runs} where state in (0, 1)
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
             from ${t.runs} where state = 2`,
        `create view ${t.prefix}failed as
           select id, name, queue, attempts, crashes, worker, child, error,
                  strftime('%Y-%m-%d %H:%M:%f', finished_at / 1000.0, 'unixepoch') as finished_at, args, tags
             from ${t.history} where state = 4`,
      ],
    },
    {
      number: 2,
      statements: (t) => [
        `create table ${t.logs} (
           run_id integer not null,
           position integer not null,
           attempt integer not null,
           at integer not null,
           message text not null,
           data text,
           primary key (run_id, position)
         ) strict, without rowid`,
        `alter table ${t.runs} add column logged integer not null default 0`,
      ],
    },
    {
      number: 3,
      statements: (t) => [
        `alter table ${t.migrations} add column compatible_from integer`,
        `alter table ${t.jobs} add column last_failure integer`,
        // 1: the run crashed before and is now executed alone in its process.
        `alter table ${t.runs} add column isolated integer not null default 0`,
        `create table ${t.aliases} (name text primary key, job text not null) strict, without rowid`,
        // JSON: the hook or filter that has not returned for some seconds.
        `alter table ${t.runs} add column hook text`,
        `alter table ${t.runs} add column retries text`,
        `alter table ${t.history} add column retries text`,
        `alter table ${t.history} add column unique_scope integer`,
        // A limit counts every running run, also those inserted before there was a limit.
        `drop index ${t.runs}_counted`,
        `create index ${t.runs}_counted on ${t.runs} (name, lane, queue, owner) where state = 2`,
      ],
    },
    {
      number: 4,
      compatibleFrom: 3,
      statements: (t) => [
        // Claims of a worker that does not define every job (note 40).
        `create index ${t.runs}_free_lanes on ${t.runs} (queue, priority, lane, run_at) where state = 1 and limited = 0 and owner is null`,
        // The number of the last exchange of each stream (note 35). Only older code writes workers.settle_seq.
        `create table ${t.exchanges} (
           worker text not null,
           stream integer not null,
           seq integer not null default 0,
           primary key (worker, stream)
         ) strict, without rowid`,
        `create table ${t.rollups} (
           grain integer not null,
           scope integer not null,
           name text not null,
           minute integer not null,
           measure integer not null,
           bucket integer not null,
           total integer not null,
           primary key (grain, scope, name, minute, measure, bucket)
         ) strict, without rowid`,
        `create index ${t.rollups}_minute on ${t.rollups} (grain, minute)`,
      ],
    },
    schema5,
    schema6,
    schema7,
    // All databases have the same numbers. 8 changes the gates of servers (note 53), 9 is for PostgreSQL alone (note
    // 54).
    { number: 8, compatibleFrom: 3, statements: () => [] },
    { number: 9, compatibleFrom: 3, statements: () => [] },
    schema10,
    schema11,
    schema12,
    schema13,
    schema14,
    schema15,
  ],
};
