import "./node-version.ts";

export { type ConfigSource, defineConfig, type PunctualConfig } from "./config.ts";
export type { Dispatch, DispatchOptions, UniqueOptions } from "./dispatch/dispatch.ts";
export { type ErrorCode, PermanentError, PunctualError } from "./errors.ts";
export type { EventName, Events } from "./events/events.ts";
export type { Logger } from "./events/logger.ts";
export { type Facade, Job } from "./facade.ts";
export type { AdHocDispatch } from "./job/adhoc.ts";
export type { BatchDispatch } from "./job/batch-dispatch.ts";
export type { Catalog, JobTypes } from "./job/catalog.ts";
export type { Definition } from "./job/definition.ts";
export type { Dispatchable, Draft, DraftList, JobDraft } from "./job/dispatchable.ts";
export type { ClassMethod, Handler, JobClass, Resolve } from "./job/handlers.ts";
export type { LimitOptions, UnderOptions } from "./job/named-limits.ts";
export type { QueueSettings } from "./job/queue-orders.ts";
export type { JobRateOptions, RateOptions } from "./job/rates.ts";
export type { RecurOptions } from "./job/recurrence.ts";
export type { RerunOptions } from "./job/rerun.ts";
export type { StandardSchema } from "./job/schema.ts";
export type { Defaults } from "./job/settings.ts";
export { type Probe, type ProbeOptions, type ProbeTarget, startProbe } from "./metrics/probe.ts";
export type { ChildMetrics } from "./metrics/process-metrics.ts";
export type { AuditEntry, AuditOptions, AuditPage, OperatorAction } from "./operate/audit.ts";
export type { BatchActionOptions } from "./operate/batch-operations.ts";
export type { BatchesOptions, BatchesPage } from "./operate/batch-reads.ts";
export type { BulkOptions, BulkReport, BulkTarget, SkipReason } from "./operate/bulk.ts";
export type { FailureGroup, FailureReport, FailuresOptions, MuteOptions } from "./operate/failures.ts";
export type { PauseOptions, PauseQueueOptions } from "./operate/pause.ts";
export type { PruneOptions } from "./operate/prune-options.ts";
export type { RateChoice, RatesOptions } from "./operate/rate-search.ts";
export type { Reading, ReadingOptions } from "./operate/reading.ts";
export type {
  LogsOptions,
  PageOptions,
  RecentTicks,
  RunsPage,
  StoredLogLine,
  StoredRun,
  StoredRunsPage,
} from "./operate/reports.ts";
export type { RunsFilter, RunsQuery } from "./operate/run-query.ts";
export type { VerifyOptions, VerifyReport } from "./operate/verify.ts";
export type { PunctualOptions } from "./options.ts";
export { Punctual } from "./punctual.ts";
export type { Batch, BatchAddition, BatchCallbackInfo, BatchInfo, BatchStatus } from "./run/batch.ts";
export type { RunContext } from "./run/context.ts";
export type { Failure } from "./run/failure.ts";
export type { AttemptInfo, LogLine, RunInfo, TickInfo } from "./run/info.ts";
export type { JsonValue } from "./run/payload.ts";
export { type Progress, readProgress } from "./run/progress.ts";
export type { Keep } from "./run/retention.ts";
export type { Jitter, RetryPolicy } from "./run/retries.ts";
export type { Run } from "./run/run.ts";
export type { FinishedState, Outcome, RunState } from "./run/states.ts";
export { type Health, healthOf } from "./status/health.ts";
export type { RateInfo } from "./status/rates.ts";
export type {
  JobErrorInfo,
  JobReport,
  MuteInfo,
  PauseInfo,
  QueueReport,
  ScheduleInfo,
  StatusReport,
} from "./status/report.ts";
export type {
  Percentiles,
  Trend,
  TrendOptions,
  TrendPoint,
  TrendSpan,
  TrendsOptions,
} from "./status/trend.ts";
export type { WorkerInfo, WorkerReport, WorkerRequestInfo, WorkerRunInfo } from "./status/workers.ts";
export type { Invariant, Violation } from "./store/invariants.ts";
export type {
  Inspection,
  InstallReport,
  MissingObject,
  PruneForecast,
  PruneReport,
} from "./store/maintenance.ts";
export type { RateKind } from "./store/reads.ts";
export type { ValueField, WorkerActivity, WorkerFacts } from "./store/records.ts";
export type { RunCount } from "./store/search.ts";
export type { SuperviseOptions } from "./supervisor/options.ts";
export type { ChildInfo } from "./supervisor/supervisor.ts";
export type { Clock, Duration, Instant } from "./time.ts";
export type { ForeverOptions, RunOptions } from "./worker/options.ts";
export type { RepairReport } from "./worker/repair.ts";
