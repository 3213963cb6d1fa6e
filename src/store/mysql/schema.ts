import type { Tables } from "../sql/database.ts";
import { GATES } from "../sql/gates.ts";
import type { Schema } from "../sql/migrate.ts";
import { addColumn } from "./add-column.ts";
import { collation, type Flavour } from "./dialect.ts";
import {
  schema5,
  schema6,
  schema7,
  schema8,
  schema10,
  schema11,
  schema12,
  schema13,
  schema14,
  schema15,
} from "./migrations.ts";
import { views } from "./views.ts";

/** Type of a name, queue, key or id, each of which has at most 191 bytes. */
const NAME = "varchar(191)";

/** Type of a lane, which is `name|key`. */
const LANE = "varchar(383)";

/**
 * The tables of MySQL and MariaDB. Times are UTC milliseconds.
 * States: 0 scheduled, 1 ready, 2 running; in history 3 completed, 4 failed, 5 cancelled, 6 skipped.
 *
 * Every statement can be repeated. Each one commits at once, so that an install() that was interrupted leaves some of
 * them done; the next install() runs them all again.
 */
export function schemaFor(flavour: Flavour): Schema {
  const table = `engine = InnoDB, row_format = dynamic, default character set utf8mb4 collate ${collation(flavour)}`;
  return {
    ledger: (t) =>
      `create table if not exists ${t.migrations} (number int not null primary key, applied_at bigint not null) ${table}`,

    async hasLedger(sql, t) {
      const found = await sql.all(
        "select 1 from information_schema.tables where table_schema = database() and table_name = ?",
        t.migrations,
      );
      return found.length > 0;
    },

    migrations: [
      {
        number: 1,
        statements: (t) => [...hot(t, table), ...cold(t, table), ...definitions(t, table), ...views(t)],
      },
      {
        number: 2,
        statements: (t) => [logs(t, table), ...addColumn(t.runs, "logged", "int not null default 0")],
      },
      {
        number: 3,
        statements: (t) => [
          ...addColumn(t.migrations, "compatible_from", "int"),
          ...addColumn(t.jobs, "last_failure", "bigint"),
          `create table if not exists ${t.aliases} (name ${NAME} not null primary key, job ${NAME} not null) ${table}`,
          ...addColumn(t.receipts, "nonce", "bigint"),
          // 1: the run crashed before and is now executed alone in its process.
          ...addColumn(t.runs, "isolated", "tinyint not null default 0"),
          // JSON: the hook or filter that has not returned for some seconds.
          ...addColumn(t.runs, "hook", "longtext"),
          ...addColumn(t.runs, "retries", "longtext"),
          ...addColumn(t.history, "retries", "longtext"),
          ...addColumn(t.history, "unique_scope", "tinyint"),
          // A limit counts every running run, also those inserted before there was a limit.
          `alter table ${t.runs} drop key ${t.runs}_counted,
             add key ${t.runs}_counted (state, owner, name, lane)`,
        ],
      },
      {
        number: 4,
        compatibleFrom: 3,
        statements: (t) => [
          // The number of the last exchange of each stream (note 35). Only older code writes workers.settle_seq.
          `create table if not exists ${t.exchanges} (
             worker ${NAME} not null,
             stream tinyint not null,
             seq bigint not null default 0,
             primary key (worker, stream)
           ) ${table}`,
          `create table if not exists ${t.rollups} (
             grain tinyint not null,
             scope tinyint not null,
             name ${NAME} not null,
             minute bigint not null,
             measure tinyint not null,
             bucket tinyint not null,
             total bigint not null,
             primary key (grain, scope, name, minute, measure, bucket),
             key ${t.rollups}_minute (grain, minute)
           ) ${table}`,
        ],
      },
      schema5(table),
      schema6,
      schema7(NAME, table),
      schema8,
      // All databases have the same numbers. 9 is for PostgreSQL alone (note 54).
      { number: 9, compatibleFrom: 3, statements: () => [] },
      schema10(NAME, table),
      schema11,
      schema12(table),
      schema13,
      schema14,
      schema15(NAME, table),
    ],
  };
}

function hot(t: Tables, table: string): string[] {
  return [
    // One index for each query of the worker, in the order that the query reads; "owner is null" counts as an equality.
    // The index of lanes leaves the owner out: a run with an owner is under no limit, and the key would be too long.
    // No index contains a column that lease renewals update: each renewal would have to write to the index.
    `create table if not exists ${t.runs} (
       id bigint not null primary key,
       name ${NAME} not null,
       queue ${NAME} not null,
       lane ${LANE} not null,
       limited tinyint not null,
       priority int not null,
       run_at bigint not null,
       state tinyint not null,
       args longtext,
       attempts int not null default 0,
       crashes int not null default 0,
       timeout bigint,
       lease_token ${NAME},
       locked_by ${NAME},
       child ${NAME},
       locked_until bigint,
       started_at bigint,
       cancelled_at bigint,
       schedule bigint,
       tick_at bigint,
       unique_key ${NAME},
       unique_scope tinyint,
       unique_until bigint,
       owner ${NAME},
       progress longtext,
       tags longtext,
       parent_id bigint,
       batch_id ${NAME},
       expires_at bigint,
       traceparent ${NAME},
       created_at bigint not null,
       key ${t.runs}_ready (state, limited, owner, queue, priority, run_at, id),
       key ${t.runs}_lanes (state, limited, queue, priority, lane, run_at, id),
       key ${t.runs}_owned (owner, state, priority, run_at, id),
       key ${t.runs}_scheduled (state, run_at, id),
       key ${t.runs}_leased (locked_by, state),
       key ${t.runs}_counted (state, limited, name, lane),
       unique key ${t.runs}_unique (unique_key),
       unique key ${t.runs}_tick (schedule, tick_at)
     ) ${table}`,
    `create table if not exists ${t.gates} (id smallint not null primary key) ${table}`,
    `insert into ${t.gates} (id) values ${Array.from({ length: GATES }, (_, id) => `(${id})`).join(", ")}
       on duplicate key update id = ${t.gates}.id`,
    // The mark identifies these tables, also after they were moved or replicated. It has a row of its own: a
    // serializable transaction that reads the mark locks its row, and must not block the row of the counter.
    `create table if not exists ${t.ids} (id tinyint not null primary key, next bigint not null, mark ${NAME} not null) ${table}`,
    `insert into ${t.ids} (id, next, mark) values (1, 0, ''), (2, 0, uuid()) on duplicate key update id = ${t.ids}.id`,
    `create table if not exists ${t.receipts} (
       id bigint not null primary key,
       created_at bigint not null,
       found tinyint not null default 0
     ) ${table}`,
  ];
}

function cold(t: Tables, table: string): string[] {
  return [
    `create table if not exists ${t.history} (
       id bigint not null primary key,
       name ${NAME} not null,
       queue ${NAME} not null,
       lane ${LANE} not null,
       limited tinyint not null,
       priority int not null,
       run_at bigint not null,
       state tinyint not null,
       args longtext,
       attempts int not null,
       crashes int not null,
       timeout bigint,
       worker ${NAME},
       child ${NAME},
       started_at bigint,
       finished_at bigint not null,
       keep_until bigint,
       error longtext,
       fingerprint ${NAME},
       result longtext,
       schedule bigint,
       tick_at bigint,
       unique_key ${NAME},
       unique_until bigint,
       owner ${NAME},
       progress longtext,
       tags longtext,
       parent_id bigint,
       batch_id ${NAME},
       traceparent ${NAME},
       created_at bigint not null,
       key ${t.history}_keep (keep_until),
       key ${t.history}_name (name, id),
       key ${t.history}_failed (state, id),
       key ${t.history}_unique (unique_key, unique_until)
     ) ${table}`,
    `create table if not exists ${t.attempts} (
       run_id bigint not null,
       attempt int not null,
       outcome ${NAME} not null,
       worker ${NAME},
       started_at bigint,
       finished_at bigint not null,
       error longtext,
       fingerprint ${NAME},
       primary key (run_id, attempt)
     ) ${table}`,
  ];
}

function logs(t: Tables, table: string): string {
  return `create table if not exists ${t.logs} (
       run_id bigint not null,
       position bigint not null,
       attempt int not null,
       at bigint not null,
       message text not null,
       data text,
       primary key (run_id, position)
     ) ${table}`;
}

function definitions(t: Tables, table: string): string[] {
  return [
    `create table if not exists ${t.jobs} (
       name ${NAME} not null primary key,
       queue ${NAME} not null,
       priority int not null,
       lim int not null,
       key_lim int not null,
       cron longtext,
       fingerprint ${NAME} not null,
       defined_at bigint not null,
       defined_by ${NAME},
       paused_at bigint,
       paused_by ${NAME},
       paused_reason longtext,
       last_run bigint,
       last_error longtext,
       fail_count int not null default 0,
       seen_at bigint,
       created_at bigint not null,
       key ${t.jobs}_paused (paused_at)
     ) ${table}`,
    `create table if not exists ${t.schedules} (
       id bigint not null auto_increment primary key,
       job ${NAME} not null,
       slot ${NAME} not null,
       cron longtext not null,
       timezone ${NAME} not null,
       args longtext,
       queue ${NAME},
       fingerprint ${NAME} not null,
       last_tick bigint,
       next_tick bigint,
       resumed_at bigint,
       paused_at bigint,
       paused_by ${NAME},
       paused_reason longtext,
       missed bigint not null default 0,
       created_at bigint not null,
       unique key ${t.schedules}_slot (job, slot),
       key ${t.schedules}_next (next_tick)
     ) ${table}`,
    `create table if not exists ${t.queues} (
       name ${NAME} not null primary key,
       lim int not null default 0,
       defined_at bigint,
       defined_by ${NAME},
       paused_at bigint,
       paused_by ${NAME},
       paused_reason longtext,
       paused_until bigint
     ) ${table}`,
    `create table if not exists ${t.workers} (
       id ${NAME} not null primary key,
       host varchar(255) not null,
       pid bigint not null,
       parallel int not null,
       queues longtext,
       settle_seq bigint not null default 0,
       started_at bigint not null,
       seen_at bigint not null
     ) ${table}`,
    `create table if not exists ${t.minutes} (
       minute bigint not null,
       name ${NAME} not null,
       dispatched bigint not null default 0,
       completed bigint not null default 0,
       retried bigint not null default 0,
       failed bigint not null default 0,
       skipped bigint not null default 0,
       cancelled bigint not null default 0,
       snoozed bigint not null default 0,
       released bigint not null default 0,
       crashed bigint not null default 0,
       busy bigint not null default 0,
       primary key (minute, name)
     ) ${table}`,
  ];
}
