import { refuseUnsafe } from "../server/database-products.ts";
import { GATES } from "../sql/gates.ts";
import type { Schema } from "../sql/migrate.ts";
import { idSequence } from "./dialect.ts";
import { checkVersion } from "./errors.ts";
import {
  schema5,
  schema6,
  schema7,
  schema8,
  schema9,
  schema10,
  schema11,
  schema12,
  schema13,
  schema14,
  schema15,
} from "./migrations.ts";
import { inSchemaOf, schemaOf, withoutSchema } from "./object-names.ts";
import { views } from "./views.ts";

/** Names are compared by bytes, whatever the collation of the database. */
const NAME = 'text collate "C"';

/**
 * Storage of a table whose rows come and go. Autovacuum starts at a number of dead rows, not at a fraction of the
 * table, which would be too many dead rows while the table holds many delayed runs. Free space in each page lets an
 * update that changes no indexed column stay out of the indexes (HOT).
 */
const QUEUE =
  "with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0)";

/** Storage of a table with few rows that are updated often: half of each page stays free for new row versions. */
const HOT = "with (fillfactor = 50)";

/**
 * The tables of PostgreSQL. Times are UTC milliseconds.
 * States: 0 scheduled, 1 ready, 2 running; in history 3 completed, 4 failed, 5 cancelled, 6 skipped.
 */
export const schema: Schema = {
  // Creates only objects that are missing: a user without the privilege to create can still run install().
  ledger(t) {
    const schema = schemaOf(t);
    const createSchema = schema
      ? `if to_regnamespace('${schema}') is null then create schema ${schema}; end if;`
      : "";
    return `do $$ begin ${createSchema}
      if to_regclass('${t.migrations}') is null then
        create table ${t.migrations} (number bigint primary key, applied_at bigint not null);
      end if;
    end $$`;
  },

  async hasLedger(sql, t) {
    const [found] = await sql.all<{ product: string; version: number; ledger: number }>(
      `select version() as product, cast(current_setting('server_version_num') as integer) as version,
              case when to_regclass(?) is null then 0 else 1 end as ledger`,
      t.migrations,
    );
    refuseUnsafe(found!.product);
    checkVersion(found!.version);
    return found!.ledger === 1;
  },

  migrations: [
    {
      number: 1,
      statements(t) {
        const runs = withoutSchema(t.runs);
        const history = withoutSchema(t.history);
        const jobs = withoutSchema(t.jobs);
        const schedules = withoutSchema(t.schedules);
        return [
          `create sequence ${idSequence(t)}`,
          `create table ${t.runs} (
             id bigint primary key default nextval('${idSequence(t)}'),
             name ${NAME} not null,
             queue ${NAME} not null,
             lane ${NAME} not null,
             limited smallint not null,
             priority integer not null,
             run_at bigint not null,
             state smallint not null,
             args text,
             attempts integer not null default 0,
             crashes integer not null default 0,
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
             unique_scope smallint,
             unique_until bigint,
             owner ${NAME},
             progress text,
             tags text,
             parent_id bigint,
             batch_id ${NAME},
             expires_at bigint,
             traceparent text,
             created_at bigint not null
           ) ${QUEUE}`,
          `alter sequence ${idSequence(t)} owned by ${t.runs}.id`,
          // One index for each query of the worker, in the order of the query. A run is in two or three of them.
          `create index ${runs}_ready on ${t.runs} (queue, priority, run_at, id) where state = 1 and limited = 0 and owner is null`,
          `create index ${runs}_limited on ${t.runs} (queue, priority, run_at, id) where state = 1 and limited = 1 and owner is null`,
          `create index ${runs}_lanes on ${t.runs} (queue, priority, lane, run_at, id) where state = 1 and limited = 1 and owner is null`,
          `create index ${runs}_owned on ${t.runs} (owner, state, priority, run_at, id) where owner is not null`,
          `create index ${runs}_scheduled on ${t.runs} (run_at, id) where state = 0`,
          // No index contains a column that lease renewals update: each renewal would have to write to the index.
          `create index ${runs}_leased on ${t.runs} (locked_by) where state = 2`,
          `create index ${runs}_counted on ${t.runs} (name, lane, queue) where state = 2 and limited = 1`,
          `create index ${runs}_cancelled on ${t.runs} (locked_by) where state = 2 and cancelled_at is not null`,
          `create unique index ${runs}_unique on ${t.runs} (unique_key) where unique_key is not null`,
          `create unique index ${runs}_tick on ${t.runs} (schedule, tick_at) where schedule is not null`,

          `create table ${t.history} (
             id bigint primary key,
             name ${NAME} not null,
             queue ${NAME} not null,
             lane ${NAME} not null,
             limited smallint not null,
             priority integer not null,
             run_at bigint not null,
             state smallint not null,
             args text,
             attempts integer not null,
             crashes integer not null,
             timeout bigint,
             worker ${NAME},
             child ${NAME},
             started_at bigint,
             finished_at bigint not null,
             keep_until bigint,
             error text,
             fingerprint ${NAME},
             result text,
             schedule bigint,
             tick_at bigint,
             unique_key ${NAME},
             unique_until bigint,
             owner ${NAME},
             progress text,
             tags text,
             parent_id bigint,
             batch_id ${NAME},
             traceparent text,
             created_at bigint not null
           )`,
          `create index ${history}_keep on ${t.history} (keep_until) where keep_until is not null`,
          `create index ${history}_name on ${t.history} (name, id)`,
          `create index ${history}_failed on ${t.history} (id) where state = 4`,
          `create index ${history}_unique on ${t.history} (unique_key, unique_until) where unique_until is not null`,

          `create table ${t.attempts} (
             run_id bigint not null,
             attempt integer not null,
             outcome ${NAME} not null,
             worker ${NAME},
             started_at bigint,
             finished_at bigint not null,
             error text,
             fingerprint ${NAME},
             primary key (run_id, attempt)
           )`,

          `create table ${t.jobs} (
             name ${NAME} primary key,
             queue ${NAME} not null,
             priority integer not null,
             lim integer not null,
             key_lim integer not null,
             cron text,
             fingerprint ${NAME} not null,
             defined_at bigint not null,
             defined_by ${NAME},
             paused_at bigint,
             paused_by ${NAME},
             paused_reason text,
             last_run bigint,
             last_error text,
             fail_count bigint not null default 0,
             seen_at bigint,
             created_at bigint not null
           ) ${HOT}`,
          `create index ${jobs}_paused on ${t.jobs} (name) where paused_at is not null`,

          `create table ${t.schedules} (
             id bigserial primary key,
             job ${NAME} not null,
             slot ${NAME} not null,
             cron text not null,
             timezone text not null,
             args text,
             queue ${NAME},
             fingerprint ${NAME} not null,
             last_tick bigint,
             next_tick bigint,
             resumed_at bigint,
             paused_at bigint,
             paused_by ${NAME},
             paused_reason text,
             missed bigint not null default 0,
             created_at bigint not null,
             unique (job, slot)
           ) ${HOT}`,
          `create index ${schedules}_next on ${t.schedules} (next_tick) where next_tick is not null`,

          `create table ${t.queues} (
             name ${NAME} primary key,
             lim integer not null default 0,
             defined_at bigint,
             defined_by ${NAME},
             paused_at bigint,
             paused_by ${NAME},
             paused_reason text,
             paused_until bigint
           )`,

          `create table ${t.workers} (
             id ${NAME} primary key,
             host text not null,
             pid bigint not null,
             parallel integer not null,
             queues text,
             settle_seq bigint not null default 0,
             started_at bigint not null,
             seen_at bigint not null
           ) ${HOT}`,

          `create table ${t.minutes} (
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
           ) ${HOT}`,

          `create table ${t.gates} (id smallint primary key)`,
          `insert into ${t.gates} (id) select generate_series(0, ${GATES - 1})`,

          `create table ${t.receipts} (
             id bigint primary key,
             created_at bigint not null,
             found smallint not null default 0
           )`,

          ...views(t),
        ];
      },
    },
    {
      number: 2,
      statements: (t) => [
        `create table ${t.logs} (
           run_id bigint not null,
           position bigint not null,
           attempt integer not null,
           at bigint not null,
           message text not null,
           data text,
           primary key (run_id, position)
         )`,
        `alter table ${t.runs} add column logged integer not null default 0`,
      ],
    },
    {
      number: 3,
      statements: (t) => [
        `alter table ${t.migrations} add column compatible_from bigint`,
        `alter table ${t.jobs} add column last_failure bigint`,
        `create table ${t.aliases} (name ${NAME} primary key, job ${NAME} not null)`,
        `alter table ${t.receipts} add column nonce bigint`,
        // 1: the run crashed before and is now executed alone in its process.
        `alter table ${t.runs} add column isolated smallint not null default 0`,
        // JSON: the hook or filter that has not returned for some seconds.
        `alter table ${t.runs} add column hook text`,
        `alter table ${t.runs} add column retries text`,
        `alter table ${t.history} add column retries text`,
        `alter table ${t.history} add column unique_scope smallint`,
        // A limit counts every running run, also those inserted before there was a limit.
        `drop index ${inSchemaOf(t, `${withoutSchema(t.runs)}_counted`)}`,
        `create index ${withoutSchema(t.runs)}_counted on ${t.runs} (name, lane, queue, owner) where state = 2`,
      ],
    },
    {
      number: 4,
      compatibleFrom: 3,
      statements: (t) => [
        // Claims of a worker that does not define every job (note 40).
        `create index ${withoutSchema(t.runs)}_free_lanes on ${t.runs} (queue, priority, lane, run_at, id) where state = 1 and limited = 0 and owner is null`,
        // The number of the last exchange of each stream (note 35). Only older code writes workers.settle_seq.
        `create table ${t.exchanges} (
           worker ${NAME} not null,
           stream smallint not null,
           seq bigint not null default 0,
           primary key (worker, stream)
         ) ${HOT}`,
        `create table ${t.rollups} (
           grain smallint not null,
           scope smallint not null,
           name ${NAME} not null,
           minute bigint not null,
           measure smallint not null,
           bucket smallint not null,
           total bigint not null,
           primary key (grain, scope, name, minute, measure, bucket)
         ) ${HOT}`,
        `create index ${withoutSchema(t.rollups)}_minute on ${t.rollups} (grain, minute)`,
      ],
    },
    schema5,
    schema6,
    schema7(NAME),
    schema8,
    schema9,
    schema10(NAME, HOT),
    schema11,
    schema12(NAME, HOT),
    schema13,
    schema14,
    schema15(NAME),
  ],
};
