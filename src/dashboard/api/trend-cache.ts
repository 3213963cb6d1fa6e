import type { Reports } from "../../operate/reports.ts";
import type { Trend } from "../../status/trend.ts";
import { type Clock, SECOND } from "../../time.ts";
import { CachedValue } from "./cached-value.ts";
import { SPARK_POINTS } from "./views/trend.ts";

/** Workers write their counts every ten seconds. */
const HOUR_KEPT: number = 10 * SECOND;
const DAY_KEPT: number = 30 * SECOND;

/** Trends of all jobs and all queues, by name, for tables. */
export class TrendCache {
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
