import { DatabaseMetrics, MOST_LABELS } from "../../metrics/database-metrics.ts";
import type { ProbeTarget } from "../../metrics/probe.ts";
import { processMetrics } from "../../metrics/process-metrics.ts";
import { CONTENT_TYPE, toText } from "../../metrics/prometheus.ts";
import { systemClock } from "../../time.ts";

const TEXT = "text/plain; charset=utf-8";

/** Paths that orchestrators ask without credentials. Their answers contain nothing but "ok" or "not ready". */
export const OPEN_PATHS: readonly string[] = ["/healthz", "/readyz"];

/** Path of the metrics, which contain the names of jobs and queues. */
export const METRICS_PATH = "/metrics";

/** Health, readiness and metrics of the process that serves a dashboard. */
export class ProbePages {
  readonly #jobs: ProbeTarget;
  readonly #database: DatabaseMetrics;

  constructor(jobs: ProbeTarget) {
    this.#jobs = jobs;
    this.#database = new DatabaseMetrics(jobs, MOST_LABELS, systemClock);
  }

  /** Answers one of `OPEN_PATHS`. Callers within a second share one question to the database. */
  async open(path: string): Promise<Response> {
    const isReady = path === "/healthz" || (await this.#database.whyNotReady()) === null;
    return new Response(isReady ? "ok\n" : "not ready: punctual doctor says why\n", {
      status: isReady ? 200 : 503,
      headers: { "content-type": TEXT },
    });
  }

  /**
   * Returns the metrics of the database and of this process. Not those of its attempts: a listener of their events
   * would slow the worker of an application down that only mounts the dashboard.
   */
  async metrics(): Promise<Response> {
    const families = [
      ...processMetrics(systemClock, null, this.#jobs.children()),
      ...(await this.#database.families()),
    ];
    return new Response(toText(families), { headers: { "content-type": CONTENT_TYPE } });
  }
}
