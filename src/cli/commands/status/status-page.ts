import { type Health, healthOf } from "../../../status/health.ts";
import { pruneJobCommand, shellQuote } from "../../../status/hints.ts";
import type { StatusReport } from "../../../status/report.ts";
import { plain } from "../../output/output.ts";
import { clock, counted, offset } from "../../render/formats.ts";
import type { Page } from "../../render/page.ts";
import { table } from "../../render/table.ts";
import { cut, widthOf } from "../../render/width.ts";
import type { JobLease, JobView } from "../../views/job-state.ts";
import type { Picture } from "../../views/live-view.ts";
import { jobColumns, queueColumns, workerColumns } from "../../views/status-columns.ts";

/** The report of one refresh, and the jobs selected by names and options. */
export interface Snapshot {
  report: StatusReport;
  views: JobView[];
  leases: ReadonlyMap<string, JobLease>;
}

export interface PageOptions {
  sort: Order;
  queues?: boolean;
  workers?: boolean;
}

export function statusPicture(
  { report, views, leases }: Snapshot,
  { sort, queues, workers }: PageOptions,
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
  if (report.defined === 0) return { head, body: [emptyHint(report)], foot: [] };
  if (views.length === 0) return { head, body: ["No job is failing."], foot: [] };
  const inOrder = sorted(views, sort);
  const [titles, ...body] = table(jobColumns(leases, report.now, page), inOrder, page);
  const foot = [missingWorkerHint(report), hintLine(views, page)].filter((line) => line !== null);
  const subjects = inOrder.map(({ job }) => ({ job: job.name }));
  return { head: [...head, titles!], body, foot: foot.length === 0 ? [] : ["", ...foot], subjects };
}

function emptyHint(report: StatusReport): string {
  const waiting = waitingText(report);
  const what = waiting === null ? "" : `, and ${waiting}`;
  return `The database has no jobs yet${what}. A worker writes its jobs there: punctual work`;
}

function missingWorkerHint(report: StatusReport): string | null {
  if (report.workers.some(({ parallel }) => parallel > 0)) return null;
  const held = report.silent.reduce((sum, { runs }) => sum + runs, 0);
  const dead = `${counted(held, "run")} ${held === 1 ? "is" : "are"} held by a dead one`;
  const parts = [waitingText(report), held > 0 ? dead : null].filter((part) => part !== null);
  return parts.length === 0 ? null : `No worker is alive, and ${parts.join(", ")}. Start one: punctual work`;
}

/** `1 run waits`; null: no run waits. */
function waitingText({ queues }: StatusReport): string | null {
  const waiting = queues.reduce((sum, { ready, scheduled }) => sum + ready + scheduled, 0);
  return waiting === 0 ? null : `${counted(waiting, "run")} ${waiting === 1 ? "waits" : "wait"}`;
}

/** The JSON document of `status`. */
export function statusDocument(snapshot: Snapshot): object {
  const { now, defined, running, idle, queues, workers } = snapshot.report;
  return {
    now,
    defined,
    running,
    idle,
    health: healthIn(snapshot),
    jobs: snapshot.views.map(({ job, state, isFailing, isLate, remark }) => {
      const lease = snapshot.leases.get(job.name);
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
export function healthIn({ report, views }: Snapshot): Health {
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

/** The hint below a status, `1 failing, 1 late. Details: punctual show send-invoice`; null: nothing is wrong. */
export function hintLine(views: JobView[], page: Page): string | null {
  const failing = views.filter(({ isFailing }) => isFailing);
  const late = views.filter(({ isLate }) => isLate);
  const unknown = views.filter(({ state }) => state === "unknown");
  const counts = [
    ...(failing.length > 0 ? [`${failing.length} failing`] : []),
    ...(late.length > 0 ? [`${late.length} late`] : []),
    ...(unknown.length > 0 ? [`${unknown.length} without a worker`] : []),
  ];
  if (counts.length === 0) return null;
  const details = [
    ...(failing.length > 1 ? ["punctual list failures"] : []),
    ...[...failing, ...late]
      .filter(isNameable)
      .slice(0, 1)
      .map(({ job }) => `punctual show ${shellQuote(job.name)}`),
    ...views
      .filter((view) => view.isGone && isNameable(view))
      .slice(0, 1)
      .map(({ job }) => pruneJobCommand(job.name)),
  ];
  const width = page.width ?? Number.POSITIVE_INFINITY;
  const head = `${counts.join(", ")}.`;
  let line = head;
  for (const detail of details) {
    const longer = `${line}${line === head ? " Details: " : ` ${page.icons.dot} `}${detail}`;
    if (widthOf(longer) <= width) line = longer;
  }
  return cut(line, width, page.icons.ellipsis);
}

/** Whether the name of the job can be typed: it contains no control characters. */
function isNameable({ job }: JobView): boolean {
  return plain(job.name) === job.name;
}

/** Columns by which `status` can be sorted. */
export const orderNames = ["name", "queue", "priority", "last", "next", "fails", "seen"] as const;
export type Order = (typeof orderNames)[number];

const never = Number.POSITIVE_INFINITY;

/** Sort key; smaller comes first. */
const keys: Record<Order, (view: JobView) => string | number> = {
  name: () => 0,
  queue: ({ job }) => job.queue,
  priority: ({ job }) => job.priority,
  last: ({ job }) => -Math.max(Number(job.lastRun ?? 0), Number(job.lastFailure ?? 0)),
  next: ({ job }) => Number(job.nextRun ?? never),
  fails: ({ job }) => -job.fails,
  seen: ({ job }) => Number(job.seenAt ?? 0),
};

/** Returns the jobs sorted by a column; jobs that are equal there are sorted by name. */
export function sorted(views: readonly JobView[], order: Order): JobView[] {
  const key = keys[order];
  const compare = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0);
  return [...views].sort((a, b) => compare(key(a), key(b)) || compare(a.job.name, b.job.name));
}

const FEWEST_SPACES = 3;
const MOST_SPACES = 8;

/** `Defined: 10 | Running: 2 | Idle: 8`, followed by as many further figures as fit. */
export function summaryLine(
  report: StatusReport,
  views: JobView[],
  database: string | null,
  page: Page,
): string {
  const left = `Defined: ${report.defined} | Running: ${report.running} | Idle: ${report.idle}`;
  const { queues, workers, now } = report;
  const paused = queues.filter((queue) => queue.paused).length;
  const late = views.filter(({ isLate }) => isLate).length;
  const parts = [
    `Queues: ${queues.length}${paused > 0 ? ` (${paused} paused)` : ""}`,
    `Workers: ${workers.filter(({ parallel }) => parallel > 0).length} live`,
    ...(late > 0 ? [`Late: ${late}`] : []),
    ...(database === null ? [] : [`db ${plain(database)}`]),
    `${clock(now, page.zone)} ${offset(now, page.zone)}`,
  ];
  const room = (page.width ?? Number.POSITIVE_INFINITY) - left.length;
  // If there is no room, the database is dropped first, because it is long and the user knows it; then from the right.
  const width = () => widthOf(parts.join(" | ")) + FEWEST_SPACES;
  if (width() > room && database !== null) parts.splice(-2, 1);
  while (parts.length > 0 && width() > room) parts.pop();
  if (parts.length === 0) return page.paint("bold", left);
  const right = parts.join(" | ");
  const spaces = page.width === null ? MOST_SPACES : Math.min(MOST_SPACES, room - widthOf(right));
  return `${page.paint("bold", left)}${" ".repeat(spaces)}${page.paint("dim", right)}`;
}
