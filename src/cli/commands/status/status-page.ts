import { type Health, healthOf } from "../../../status/health.ts";
import type { StatusReport } from "../../../status/report.ts";
import { counted } from "../../render/numbers.ts";
import type { Page } from "../../render/page.ts";
import { table } from "../../render/table.ts";
import { hintLine } from "../../views/hints.ts";
import { jobColumns } from "../../views/job-columns.ts";
import type { JobView } from "../../views/job-state.ts";
import type { JobLease } from "../../views/leases.ts";
import type { Picture } from "../../views/live-view.ts";
import { queueColumns } from "../../views/queue-columns.ts";
import { workerColumns } from "../../views/worker-columns.ts";
import { type Order, ordered } from "./sort.ts";
import { summaryLine } from "./summary.ts";

/** The report of one refresh, and the jobs selected by names and options. */
export interface Taken {
  report: StatusReport;
  views: JobView[];
  leases: ReadonlyMap<string, JobLease>;
}

export interface Shown {
  sort: Order;
  queues?: boolean;
  workers?: boolean;
}

export function statusPicture(
  { report, views, leases }: Taken,
  { sort, queues, workers }: Shown,
  database: string | null,
  page: Page,
): Picture {
  const head = [summaryLine(report, views, database, page), ""];
  if (queues || workers) {
    const tables = [
      ...(queues ? [table(queueColumns(report, page), report.queues, page)] : []),
      ...(workers ? [table(workerColumns(report, page), report.workers, page)] : []),
    ];
    return { head, body: tables.flatMap((lines, index) => (index === 0 ? lines : ["", ...lines])), foot: [] };
  }
  if (report.defined === 0) return { head, body: [nothingKnown(report)], foot: [] };
  if (views.length === 0) return { head, body: ["No job is failing."], foot: [] };
  const inOrder = ordered(views, sort);
  const [titles, ...body] = table(jobColumns(leases, report.now, page), inOrder, page);
  const foot = [nobodyWorks(report), hintLine(views, page)].filter((line) => line !== null);
  const subjects = inOrder.map(({ job }) => ({ job: job.name }));
  return { head: [...head, titles!], body, foot: foot.length === 0 ? [] : ["", ...foot], subjects };
}

function nothingKnown(report: StatusReport): string {
  const waiting = whatWaits(report);
  const what = waiting === null ? "" : `, and ${waiting}`;
  return `The database has no jobs yet${what}. A worker writes its jobs there: punctual work`;
}

function nobodyWorks(report: StatusReport): string | null {
  if (report.workers.some(({ parallel }) => parallel > 0)) return null;
  const held = report.silent.reduce((sum, { runs }) => sum + runs, 0);
  const dead = `${counted(held, "run")} ${held === 1 ? "is" : "are"} held by a dead one`;
  const parts = [whatWaits(report), held > 0 ? dead : null].filter((part) => part !== null);
  return parts.length === 0 ? null : `No worker is alive, and ${parts.join(", ")}. Start one: punctual work`;
}

/** `1 run waits`; null: no run waits. */
function whatWaits({ queues }: StatusReport): string | null {
  const waiting = queues.reduce((sum, { ready, scheduled }) => sum + ready + scheduled, 0);
  return waiting === 0 ? null : `${counted(waiting, "run")} ${waiting === 1 ? "waits" : "wait"}`;
}

/** The JSON document of `status`. */
export function statusDocument(taken: Taken): object {
  const { now, defined, running, idle, queues, workers } = taken.report;
  return {
    now,
    defined,
    running,
    idle,
    health: healthIn(taken),
    jobs: taken.views.map(({ job, state, isFailing, isLate, remark }) => {
      const lease = taken.leases.get(job.name);
      return {
        ...job,
        state,
        isFailing,
        isLate,
        remark,
        startedAt: lease?.startedAt ?? null,
      };
    }),
    queues,
    workers,
  };
}

/** Health of the selected jobs. */
export function healthIn({ report, views }: Taken): Health {
  if (views.length === report.jobs.length) return healthOf(report);
  const jobs = views.map(({ job }) => job);
  const names = new Set(jobs.map(({ name }) => name));
  const queues = new Set(jobs.map(({ queue }) => queue));
  return healthOf({
    ...report,
    jobs,
    queues: report.queues.filter(({ name }) => queues.has(name)),
    late: report.late.filter(({ job }) => names.has(job)),
    silent: report.silent.filter((worker) => worker.jobs.some((job) => names.has(job))),
    expired: 0,
  });
}
