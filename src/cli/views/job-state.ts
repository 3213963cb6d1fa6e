import type { RunInfo } from "../../run/info.ts";
import { pruneJobCommand } from "../../status/hints.ts";
import { REMOVED_AFTER, type StatusReport, undefinedTimes } from "../../status/report.ts";
import { pauseNote } from "../../status/why.ts";
import { type WorkerReport, whyUndone } from "../../status/workers.ts";
import { serves } from "../../store/queue-selection.ts";
import { isClaiming } from "../../store/worker-records.ts";
import { span } from "../render/formats.ts";

export type StatusJob = StatusReport["jobs"][number];

/** State of a job in `status`. If several apply, the first of this list wins. */
export type JobState = "unknown" | "paused" | "late" | "running" | "failing" | "idle";

export interface JobSummary {
  job: StatusJob;
  state: JobState;
  isFailing: boolean;
  isLate: boolean;
  /** Whether no worker has defined the job for a day: it was removed from the code. */
  isGone: boolean;
  /** End of the queue's pause; null: not paused, or until it is resumed. */
  pausedUntil: Date | null;
  /** Number of waiting runs, such as `12`; `1000+` if counting stopped at a cap. */
  waiting: string;
  /** Text of the last column. */
  remark: string | null;
}

export function viewsOf(report: StatusReport): JobSummary[] {
  const queues = new Map(report.queues.map((queue) => [queue.name, queue]));
  const unseenFor = undefinedTimes(report);
  const late = new Set(report.late.map(({ job }) => job));
  return report.jobs.map((job) => {
    const ms = unseenFor(job);
    const unseen = job.seenAt === null ? "no worker has defined it yet" : undefinedNote(ms, job);
    const isLate = unseen === null && late.has(job.name);
    return {
      ...viewOf(job, report, { queue: queues.get(job.queue), unseen, isLate }),
      isGone: ms !== null && ms >= REMOVED_AFTER,
    };
  });
}

function viewOf(
  job: StatusJob,
  report: StatusReport,
  found: { queue: StatusReport["queues"][number] | undefined; unseen: string | null; isLate: boolean },
): Omit<JobSummary, "isGone"> {
  const { queue, unseen, isLate } = found;
  const isPaused = job.paused || queue?.paused === true;
  // A job that failed last and was removed from the code would otherwise count as failing for ever.
  const hasFailed = job.fails > 0 && unseen === null;
  const isFailing = hasFailed && job.mute === null;
  const state = unseen !== null ? "unknown" : isPaused ? "paused" : isLate ? "late" : null;
  return {
    job,
    state: state ?? (job.running > 0 ? "running" : isFailing ? "failing" : "idle"),
    isFailing,
    isLate,
    pausedUntil: queue?.pausedUntil ?? null,
    waiting: `${job.waiting}${report.capped ? "+" : ""}`,
    remark:
      unseen ??
      (isLate ? whyLate(job, report) : null) ??
      silence(job, report) ??
      (hasFailed && job.lastError !== null ? `${isFailing ? "" : "muted: "}${job.lastError}` : null) ??
      (pauseNote(job.pause ?? queue?.pause ?? null).trim() || null),
  };
}

function undefinedNote(unseen: number | null, { name }: StatusJob): string | null {
  if (unseen === null) return null;
  return unseen < REMOVED_AFTER
    ? `no worker has defined it for ${span(unseen)}`
    : `not in code (${pruneJobCommand(name)})`;
}

/** The remark that a worker which holds runs of the job may be dead; null: no such worker. */
function silence({ name }: StatusJob, { silent, now }: StatusReport): string | null {
  const worker = silent.find(({ jobs }) => jobs.includes(name));
  if (!worker) return null;
  const { trace } = worker;
  return trace === null
    ? "a dead worker holds it"
    : `no sign of life from ${trace.host}:${trace.pid} for ${span(Number(now) - Number(trace.seenAt))}`;
}

function whyLate(job: StatusJob, { workers }: StatusReport): string | null {
  const claiming = workers.filter(isClaiming);
  if (!claiming.some(({ schedules }) => schedules))
    return whyUndone(workers, ({ schedules }) => schedules, "no live worker ticks schedules");
  const isServing = (worker: WorkerReport) => serves(worker, job.queue);
  if (claiming.some(isServing)) return null;
  return whyUndone(workers, isServing, `no live worker serves "${job.queue}"`);
}

/** The lease of a job's runs that ends first. */
export interface JobLease {
  worker: string;
  until: Date | null;
  startedAt: Date | null;
  /** Number of other running runs of the job. */
  others: number;
}

/** Returns, for each job, the lease that ends first. */
export function leasesOf(running: RunInfo[], report: StatusReport): Map<string, JobLease> {
  const leases = new Map<string, JobLease>();
  for (const run of running) {
    const known = leases.get(run.name);
    if (known && Number(known.until) <= Number(run.lockedUntil)) {
      known.others++;
      continue;
    }
    leases.set(run.name, {
      worker: workerName(run.worker, report) ?? "a dead worker",
      until: run.lockedUntil,
      startedAt: run.startedAt,
      others: known ? known.others + 1 : 0,
    });
  }
  return leases;
}

/** `web-2:4411`, also for a silent worker that still holds runs; null: the worker has no row any more. */
export function workerName(
  id: string | null,
  { workers, silent }: Pick<StatusReport, "workers" | "silent">,
): string | null {
  const worker = workers.find((one) => one.id === id) ?? silent.find((one) => one.id === id)?.trace;
  return worker ? `${worker.host}:${worker.pid}` : null;
}
