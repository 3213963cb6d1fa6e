import type { DatabaseName } from "../../src/store/store.ts";

/** The statements that take a database from the newest schema back to the first: extend them with each migration. */
export function toFirstSchema(database: DatabaseName): string[] {
  const history = ["parent", "rerun", "tick", "job_failed"].map((name) => `punctual_history_${name}`);
  const onMysql = database === "mysql" || database === "mariadb";
  return [
    ...(database === "postgres" ? ["drop table punctual_ids"] : []),
    "drop table punctual_batches",
    "drop table punctual_batch_members",
    "drop table punctual_batch_counts",
    "drop table punctual_rates",
    "drop table punctual_limits",
    ...(onMysql ? [] : ["drop index punctual_jobs_under"]),
    "alter table punctual_jobs drop column under_limit",
    "alter table punctual_runs drop column cost",
    "alter table punctual_jobs drop column rate",
    "alter table punctual_queues drop column rate",
    "alter table punctual_queues drop column fair",
    "alter table punctual_queues drop column patience",
    "alter table punctual_workers drop column request",
    "alter table punctual_jobs drop column errors",
    "drop table punctual_mutes",
    "drop table punctual_audit",
    ...(onMysql
      ? []
      : [...history, "punctual_runs_parent", "punctual_runs_rerun"].map((index) => `drop index ${index}`)),
    "alter table punctual_history drop column rerun_of",
    "alter table punctual_runs drop column rerun_of",
    "alter table punctual_workers drop column facts",
    "drop table punctual_exchanges",
    ...(database === "sqlite" || database === "postgres" ? ["drop index punctual_runs_free_lanes"] : []),
    "drop table punctual_rollups",
    "drop table punctual_logs",
    "drop table punctual_aliases",
    "alter table punctual_runs drop column uncounted",
    "alter table punctual_history drop column uncounted",
    "alter table punctual_runs drop column suspect",
    "alter table punctual_runs drop column logged",
    "alter table punctual_jobs drop column last_failure",
    "alter table punctual_runs drop column isolated",
    "alter table punctual_runs drop column hook",
    "alter table punctual_runs drop column retries",
    "alter table punctual_history drop column retries",
    "alter table punctual_history drop column unique_scope",
    "alter table punctual_migrations drop column compatible_from",
    ...(database === "sqlite"
      ? []
      : ["alter table punctual_receipts drop column nonce", "alter table punctual_gates drop column turn"]),
    "delete from punctual_migrations where number > 1",
  ];
}
