import { type Health, healthOf } from "../../../status/health.ts";
import { pruneJobCommand, shellQuote } from "../../../status/hints.ts";
import type { StatusReport } from "../../../status/report.ts";
import { plain } from "../../output/output.ts";
import { clock, counted, grouped, offset } from "../../render/formats.ts";
import type { Page } from "../../render/page.ts";
import { table } from "../../render/table.ts";
import { cut, widthOf, wrapHanging, wrapHint } from "../../render/width.ts";
import type { JobLease, JobSummary } from "../../views/job-state.ts";
import { limitColumns, limitRows } from "../../views/limit-columns.ts";
import type { Picture } from "../../views/live-view.ts";
import { jobColumns, queueColumns, workerColumns } from "../../views/status-columns.ts";

/** The report of one refresh, and the jobs selected by names and options. */
export interface Snapshot {
  report: StatusReport;
  views: JobSummary[];
  leases: ReadonlyMap<string, JobLease>;
}

export interface StatusPageOptions {
  sort: Order;
  queues?: boolean;
  workers?: boolean;
}

export function statusPicture(
  { report, views, leases }: Snapshot,
  { sort, queues, workers }: StatusPageOptions,
  database: string | null,
  page: Page,
): Picture {
  const head = [summaryLine(report, views, database, page), ""];
  if (queues || workers) {
    const limits = queues ? limitRows(report) : [];
    const tables = [
      ...(queues ? [table(queueColumns(report, page), report.queues, page)] : []),
      ...(limits.length > 0 ? [table(limitColumns(page), limits, page)] : []),
      ...(workers ? [table(workerColumns(report, page), report.workers, page)] : []),
    ];
    return { head, body: tables.flatMap((lines, index) => (index === 0 ? lines : ["", ...lines])), foot: [] };
  }
  if (report.defined === 0) return { head, body: emptyHint(report, page), foot: [] };
  if (views.length === 0) return { head, body: ["No job is failing."], foot: [] };
  const sortedJobs = sorted(views, sort);
  const [titles, ...body] = table(jobColumns(leases, report.now, page), sortedJobs, page);
  const foot = [...missingWorkerHint(report, page), hintLine(views, page)].filter((line) => line !== null);
  const subjects = sortedJobs.map(({ job }) => ({ job: job.name }));
  return { head: [...head, titles!], body, foot: foot.length === 0 ? [] : ["", ...foot], subjects };
}

function emptyHint(report: StatusReport, { proseWidth }: Page): string[] {
  const waiting = waitingText(report);
  const what = waiting === null ? "" : `, and ${waiting}`;
  return wrapHint(
    `The database has no jobs yet${what}. A worker writes its jobs there: punctual work`,
    proseWidth,
  );
}

function missingWorkerHint(report: StatusReport, { proseWidth }: Page): string[] {
  if (report.workers.some(({ parallel }) => parallel > 0)) return [];
  const held = heldByDead(report);
  const dead = `${counted(held, "run")} ${held === 1 ? "is" : "are"} held by a dead one`;
  const parts = [waitingText(report), held > 0 ? dead : null].filter((part) => part !== null);
  if (parts.length === 0) return [];
  return wrapHint(`No worker is alive, and ${parts.join(", ")}. Start one: punctual work`, proseWidth);
}

/** Number of runs that dead workers hold, also those whose leases have ended. */
function heldByDead({ silent, expired }: StatusReport): number {
  return silent.reduce((sum, { runs }) => sum + runs, expired);
}

/** `1 run waits`, `10,000 or more runs wait (12 paused)`; null: no run waits. Runs that a worker holds do not count. */
function waitingText(report: StatusReport): string | null {
  const { queues, jobs, capped } = report;
  const running = queues.reduce((sum, queue) => sum + queue.running, 0);
  // A claimed run counts as ready in its queue until it starts.
  const claimed = Math.max(0, heldByDead(report) - running);
  const waiting = queues.reduce((sum, { ready, scheduled }) => sum + ready + scheduled, 0) - claimed;
  if (waiting <= 0) return null;
  const closed = new Set(queues.filter(({ paused }) => paused).map(({ name }) => name));
  const paused =
    queues.reduce((sum, one) => sum + (one.paused ? one.ready + one.scheduled : 0), 0) +
    jobs.reduce((sum, job) => sum + (job.paused && !closed.has(job.queue) ? job.waiting : 0), 0);
  const runs = `${grouped(waiting)}${capped ? " or more" : ""} ${waiting === 1 ? "run waits" : "runs wait"}`;
  if (paused === 0) return runs;
  const all = waiting === 1 ? "paused" : "all paused";
  return `${runs} (${paused < waiting ? `${grouped(paused)} paused` : all})`;
}

/** The JSON document of `status`. */
export function statusDocument(snapshot: Snapshot): object {
  const { now, defined, running, idle, queues, limits, workers } = snapshot.report;
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
    limits,
    workers,
  };
}

/** The problems of a health, each sentence on lines of its own. */
export function problemLines(
  { level, sentences }: Pick<Health, "level" | "sentences">,
  width: number,
): string[] {
  return [`${level}:`, ...sentences.flatMap((sentence) => wrapHanging(plain(sentence), width))];
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
export function hintLine(views: JobSummary[], page: Page): string | null {
  const failing = views.filter(({ isFailing }) => isFailing);
  const late = views.filter(({ isLate }) => isLate);
  const paused = views.filter(({ state, job }) => state === "paused" && job.waiting > 0);
  const unknown = views.filter(({ state }) => state === "unknown");
  const counts = [
    ...(failing.length > 0 ? [`${failing.length} failing`] : []),
    ...(late.length > 0 ? [`${late.length} late`] : []),
    ...(paused.length > 0 ? [`${paused.length} paused with runs waiting`] : []),
    ...(unknown.length > 0 ? [`${unknown.length} without a worker`] : []),
  ];
  if (counts.length === 0) return null;
  const details = [
    ...(failing.length > 1 ? ["punctual status --failing"] : []),
    ...[...failing, ...late, ...paused]
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
function isNameable({ job }: JobSummary): boolean {
  return plain(job.name) === job.name;
}

/** Columns by which `status` can be sorted. */
export const orderNames = ["name", "queue", "priority", "last", "next", "fails", "seen"] as const;
export type Order = (typeof orderNames)[number];

const never = Number.POSITIVE_INFINITY;

/** Sort key; smaller comes first. */
const keys: Record<Order, (view: JobSummary) => string | number> = {
  name: () => 0,
  queue: ({ job }) => job.queue,
  priority: ({ job }) => job.priority,
  last: ({ job }) => -Math.max(Number(job.lastRun ?? 0), Number(job.lastFailure ?? 0)),
  next: ({ job }) => Number(job.nextRun ?? never),
  fails: ({ job }) => -job.fails,
  seen: ({ job }) => Number(job.seenAt ?? 0),
};

/** Returns the jobs sorted by a column; jobs that are equal there are sorted by name. */
export function sorted(views: readonly JobSummary[], order: Order): JobSummary[] {
  const key = keys[order];
  const compare = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0);
  return [...views].sort((a, b) => compare(key(a), key(b)) || compare(a.job.name, b.job.name));
}

const FEWEST_SPACES = 3;
const MOST_SPACES = 8;

/** `Defined: 10 | Running: 2 | Idle: 8`, followed by as many further figures as fit. */
export function summaryLine(
  report: StatusReport,
  views: JobSummary[],
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
