import type { Definition } from "../../job/definition.ts";
import type { Reports } from "../../operate/reports.ts";
import type { Punctual } from "../../punctual.ts";
import type { ScheduleInfo, StatusReport } from "../../status/report.ts";
import type { Trend } from "../../status/trend.ts";
import type { Inspection } from "../../store/maintenance.ts";
import { type Clock, SECOND } from "../../time.ts";
import type { ApiSettings } from "../server/route.ts";
import { CachedValue } from "./cached-value.ts";
import { SharedReads, STORE_TIMEOUT } from "./shared-reads.ts";
import type { SummaryContext } from "./views/run-summary.ts";
import { SPARK_POINTS } from "./views/trend.ts";

const INSPECTED_EVERY: number = 15 * SECOND;

/** Workers write their counts every ten seconds: trends of an hour are kept no longer. */
const HOUR_KEPT: number = 10 * SECOND;
const DAY_KEPT: number = 30 * SECOND;

/** The parts that the routes of one dashboard share. */
export class Services {
  readonly jobs: Punctual;
  /** Reads of the instance, each with a time limit. */
  readonly reports: Reports;
  readonly settings: ApiSettings;
  readonly clock: Clock;
  readonly reads: SharedReads;
  readonly trends: TrendCache;
  /** The database and its schema. Another process may migrate it while this one runs. */
  readonly inspection: CachedValue<Inspection>;

  constructor(jobs: Punctual, settings: ApiSettings) {
    this.jobs = jobs;
    this.reports = jobs.reading({ timeout: `${STORE_TIMEOUT}ms` });
    this.settings = settings;
    this.clock = jobs.clock;
    this.reads = new SharedReads(this.clock);
    this.trends = new TrendCache(this.clock, this.reports);
    this.inspection = new CachedValue(this.clock, INSPECTED_EVERY, async () => {
      // Opens the store, which creates the tables of a new SQLite database.
      await this.reports.now();
      return jobs.inspect();
    });
  }

  /** Returns the status; callers within a second share one. */
  status(): Promise<StatusReport> {
    return this.reads.get("status", () => this.reports.status());
  }

  /** Returns every schedule; callers within a second share one read. */
  schedules(): Promise<ScheduleInfo[]> {
    return this.reads.get("schedules", () => this.reports.schedules());
  }

  /** Returns the definition of a job; undefined: this process does not define it. */
  definition(name: string): Definition<never> | undefined {
    return this.jobs.definitions().find((definition) => definition.name === name);
  }

  async summaryContext(): Promise<SummaryContext> {
    const maxima = new Map(this.jobs.definitions().map(({ name, settings }) => [name, settings.retries.max]));
    return {
      now: Number(await this.reports.now()),
      redaction: this.settings.redaction,
      maxAttempts: (job) => maxima.get(job) ?? null,
    };
  }
}

/** Trends of all jobs and all queues, by name, for tables. */
class TrendCache {
  /** The last hour, in the points of a small chart. */
  readonly queues: CachedValue<Map<string, Trend>>;
  readonly jobs: CachedValue<Map<string, Trend>>;
  /** The last 24 hours, in one point. */
  readonly days: CachedValue<Map<string, Trend>>;

  constructor(clock: Clock, reports: Reports) {
    this.queues = new CachedValue(clock, HOUR_KEPT, () =>
      reports.trends({ by: "queue", points: SPARK_POINTS }),
    );
    this.jobs = new CachedValue(clock, HOUR_KEPT, () => reports.trends({ by: "job", points: SPARK_POINTS }));
    this.days = new CachedValue(clock, DAY_KEPT, () => reports.trends({ by: "job", over: "24h" }));
  }
}
