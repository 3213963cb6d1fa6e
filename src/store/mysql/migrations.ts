import type { Migration } from "../sql/migrate.ts";
import { addColumn } from "./add-column.ts";
import { views } from "./views.ts";

/** Schema 5: the audit trail, links between runs, and facts that workers send with their heartbeats (note 45). */
export function schema5(table: string): Migration {
  return {
    number: 5,
    compatibleFrom: 3,
    statements: (t) => [
      `create table if not exists ${t.audit} (
         id bigint not null auto_increment primary key,
         at bigint not null,
         user_name longtext,
         role longtext,
         action longtext not null,
         target longtext not null,
         details longtext,
         source longtext not null
       ) ${table}`,
      ...addColumn(t.runs, "rerun_of", "bigint"),
      // JSON: see `WorkerFacts`.
      ...addColumn(t.workers, "facts", "longtext"),
      // No index: without partial ones, every run would be in each of them, and cost more to settle.
      ...addColumn(t.history, "rerun_of", "bigint"),
    ],
  };
}

/** Schema 6: attempts that do not count, runs that may have crashed, and views that show starts (note 46). */
export const schema6: Migration = {
  number: 6,
  compatibleFrom: 3,
  statements: (t) => [
    // Attempts that do not count towards the maximum of the retry policy.
    ...addColumn(t.runs, "uncounted", "int not null default 0"),
    ...addColumn(t.history, "uncounted", "int not null default 0"),
    // 1: a worker died that may have been executing the run.
    ...addColumn(t.runs, "suspect", "tinyint not null default 0"),
    ...views(t),
  ],
};

/** Schema 7: groups of failures that operators have muted (note 52). `name` is the type of names. */
export function schema7(name: string, table: string): Migration {
  return {
    number: 7,
    compatibleFrom: 3,
    statements: (t) => [
      `create table if not exists ${t.mutes} (
         fingerprint ${name} not null primary key,
         muted_at bigint not null,
         muted_by longtext,
         reason longtext,
         muted_until bigint
       ) ${table}`,
    ],
  };
}

/** Schema 8: a column of the gates for clusters with several writers, which compare only rows that change (note 53). */
export const schema8: Migration = {
  number: 8,
  compatibleFrom: 3,
  statements: (t) => addColumn(t.gates, "turn", "bigint not null default 0"),
};

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

/** Schema 11: the order in which runs of a queue start (note 59). */
export const schema11: Migration = {
  number: 11,
  compatibleFrom: 3,
  statements: (t) => [
    ...addColumn(t.queues, "fair", "smallint not null default 0"),
    ...addColumn(t.queues, "patience", "bigint"),
  ],
};

/** Schema 12: rates, and the starts that count towards them (note 61). */
export function schema12(table: string): Migration {
  return {
    number: 12,
    // Older code leaves the runs of jobs with rates alone. A queue with a rate raises this number, see
    // `sql/sync-queues.ts`.
    compatibleFrom: 3,
    statements: (t) => [
      ...addColumn(t.jobs, "rate", "text"),
      ...addColumn(t.queues, "rate", "text"),
      // The name of a limit: a lane, the length of the job's name, and two letters.
      `create table if not exists ${t.rates} (
         name varchar(400) not null primary key,
         starts text not null,
         empty_at bigint not null,
         key ${t.rates}_empty (empty_at)
       ) ${table}`,
    ],
  };
}

/** Schema 13: what operators ask of workers (note 63). Workers of older code ignore it. */
export const schema13: Migration = {
  number: 13,
  compatibleFrom: 3,
  statements: (t) => addColumn(t.workers, "request", "text"),
};

/** Schema 14: the errors of a job since its last success, so that a mute hides no other error (note 52). */
export const schema14: Migration = {
  number: 14,
  compatibleFrom: 3,
  statements: (t) => addColumn(t.jobs, "errors", "text"),
};

/** Schema 15: named limits, which jobs share, and what a start of a run costs (note 64). */
export function schema15(name: string, table: string): Migration {
  return {
    number: 15,
    // The first job under a named limit raises this number, see `sql/migrate.ts`.
    compatibleFrom: 3,
    statements: (t) => [
      ...addColumn(t.jobs, "under_limit", `${name}, add key ${t.jobs}_under (under_limit)`),
      ...addColumn(t.runs, "cost", "int"),
      `create table if not exists ${t.limits} (
         name ${name} not null primary key,
         lim int not null,
         rate text,
         defined_at bigint,
         defined_by ${name}
       ) ${table}`,
    ],
  };
}
