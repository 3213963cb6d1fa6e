import type {
  AuditOptions,
  BatchActionOptions,
  BatchesOptions,
  BulkOptions,
  Defaults,
  DispatchOptions,
  FailuresOptions,
  ForeverOptions,
  JobRateOptions,
  LimitOptions,
  LogsOptions,
  MuteOptions,
  PageOptions,
  PauseOptions,
  PauseQueueOptions,
  ProbeOptions,
  PruneOptions,
  Punctual,
  PunctualConfig,
  PunctualOptions,
  RateOptions,
  RatesOptions,
  ReadingOptions,
  RecurOptions,
  RerunOptions,
  RunOptions,
  RunsFilter,
  RunsQuery,
  SuperviseOptions,
  TrendOptions,
  TrendsOptions,
  UnderOptions,
  UniqueOptions,
  VerifyOptions,
} from "../../src/index.ts";
import type { ConcurrencyOptions } from "../../src/job/configurable.ts";
import type { MisfireOptions } from "../../src/job/recurrence.ts";
import type { KeepByState } from "../../src/run/retention.ts";
import type { RetryOptions } from "../../src/run/retries.ts";
import type { CronOptions } from "../../src/schedule/cron.ts";
import type { DrainOptions } from "../../src/testing/index.ts";
import { same } from "./support/same.ts";

/** Names of the options that may be left out, but not be given as undefined, under `exactOptionalPropertyTypes`. */
type Strict<Options> = {
  [Name in keyof Options]-?: Record<never, never> extends Pick<Options, Name>
    ? { [Given in Name]: undefined } extends Pick<Options, Name>
      ? never
      : Name
    : never;
}[keyof Options];

same<Strict<{ a: 1; b?: 2; c?: 3 | undefined }>, "b">();

same<Strict<AuditOptions>, never>();
same<Strict<BatchActionOptions>, never>();
same<Strict<BatchesOptions>, never>();
same<Strict<BulkOptions>, never>();
same<Strict<ConcurrencyOptions<unknown>>, never>();
same<Strict<CronOptions>, never>();
same<Strict<Defaults>, never>();
same<Strict<DispatchOptions>, never>();
same<Strict<DrainOptions>, never>();
same<Strict<FailuresOptions>, never>();
same<Strict<ForeverOptions>, never>();
same<Strict<JobRateOptions<unknown>>, never>();
same<Strict<KeepByState>, never>();
same<Strict<LimitOptions>, never>();
same<Strict<LogsOptions>, never>();
same<Strict<MisfireOptions>, never>();
same<Strict<MuteOptions>, never>();
same<Strict<PageOptions>, never>();
same<Strict<PauseOptions>, never>();
same<Strict<PauseQueueOptions>, never>();
same<Strict<ProbeOptions>, never>();
same<Strict<PruneOptions>, never>();
same<Strict<PunctualConfig>, never>();
same<Strict<PunctualOptions>, never>();
same<Strict<RateOptions>, never>();
same<Strict<RatesOptions>, never>();
same<Strict<ReadingOptions>, never>();
same<Strict<RecurOptions>, never>();
same<Strict<RerunOptions>, never>();
same<Strict<RetryOptions>, never>();
same<Strict<RunOptions>, never>();
same<Strict<RunsFilter>, never>();
same<Strict<RunsQuery>, never>();
same<Strict<SuperviseOptions>, never>();
same<Strict<TrendOptions>, never>();
same<Strict<TrendsOptions>, never>();
same<Strict<UnderOptions<unknown>>, never>();
same<Strict<UniqueOptions>, never>();
same<Strict<VerifyOptions>, never>();

declare const jobs: Punctual;
declare const unset: undefined;
jobs.install({ dryRun: unset });
jobs.cancel(1, { force: unset });
jobs.retry(1, { at: unset });
jobs.wait(1, { timeout: unset });
jobs
  .define("task", () => {})
  .keep({ failed: unset })
  .concurrency(1, { perKey: unset, by: unset })
  .attempts({ max: unset, backoff: unset })
  .misfire("all", { limit: unset });
