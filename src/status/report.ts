import { readFailure } from "../run/failure.ts";
import { readable, toDate } from "../run/info.ts";
import type { JsonValue } from "../run/payload.ts";
import type {
  IsolatedRun,
  JobStatus,
  LateSchedule,
  Pause,
  QueueStatus,
  ScheduleRecord,
  SilentWorker,
  Status,
  WorkerRecord,
} from "../store/records.ts";
import { DAY } from "../time.ts";

/** Since when something is paused, by whom and why, where they said so. */
export interface PauseInfo extends Omit<Pause, "since"> {
  since: Date;
}

type Times =
  | "lastRun"
  | "lastFailure"
  | "seenAt"
  | "leasedUntil"
  | "leasedBy"
  | "nextRun"
  | "pause"
  | "fingerprint";

/** A job in a status. */
export interface JobReport extends Omit<JobStatus, Times> {
  pause: PauseInfo | null;
  /** How the last try ended: `failed` while `fails` is above 0; null: none has ended yet. */
  lastOutcome: "completed" | "failed" | null;
  /** When a try last succeeded. */
  lastRun: Date | null;
  /** When a try last failed or was lost in a crash. */
  lastFailure: Date | null;
  seenAt: Date | null;
  leasedUntil: Date | null;
  /** The worker of that lease: `host:pid`, or its id once its row is gone. */
  leasedBy: string | null;
  nextRun: Date | null;
}

/** A queue in a status. */
export interface QueueReport extends Omit<QueueStatus, "pausedUntil" | "oldest" | "pause"> {
  pausedUntil: Date | null;
  pause: PauseInfo | null;
  /** When the first of its ready runs was due. */
  oldest: Date | null;
}

/** A worker in a status that holds runs without a sign of life. */
export interface SilentReport extends Omit<SilentWorker, "trace" | "leasedUntil"> {
  /** Null: its row is gone, since it left or has been dead for minutes. */
  trace: { host: string; pid: number; seenAt: Date } | null;
  leasedUntil: Date;
}

/** What `status()` gives. */
export interface StatusReport {
  now: Date;
  /** Jobs that the database has or this process defines, those with a run under way, the rest. */
  defined: number;
  running: number;
  idle: number;
  jobs: JobReport[];
  queues: QueueReport[];
  workers: (Omit<WorkerRecord, "startedAt" | "seenAt"> & { startedAt: Date; seenAt: Date })[];
  /** Schedules whose tick came more than a few seconds ago and that nobody has ticked. */
  late: (Omit<LateSchedule, "nextTick"> & { nextTick: Date })[];
  /** Workers that hold runs without a sign of life: killed, frozen, or cut off from the database. */
  silent: SilentReport[];
  /** Runs whose lease ended a while ago and that nobody took back. */
  expired: number;
  /** Runs that crashed before, and for which workers keep other runs out of a process. */
  isolated: (Omit<IsolatedRun, "startedAt"> & { startedAt: Date | null })[];
  /** More runs wait than were counted: `waiting`, `ready` and `scheduled` are "at least". */
  capped: boolean;
}

/** A schedule as people look at it. */
export interface ScheduleInfo extends Omit<ScheduleRecord, "args" | "lastTick" | "nextTick" | "pause"> {
  args: JsonValue | undefined;
  lastTick: Date | null;
  nextTick: Date | null;
  pause: PauseInfo | null;
}

/** The status of a job that this process defines and that no worker has registered yet. */
export interface DefinedJob {
  readonly name: string;
  readonly settings: { queue: string; priority: number; concurrency: number; perKey: number };
  toCron(): string | null;
}

export function toReport(status: Status, defined: readonly DefinedJob[]): StatusReport {
  const { now, queues, workers, late, silent, expired, isolated, capped } = status;
  const traces = silent.flatMap(({ id, trace }) => (trace ? [{ id, ...trace }] : []));
  const known = [...workers, ...traces];
  const jobs = withDefined(status.jobs, defined);
  const running = jobs.filter((job) => job.running > 0).length;
  return {
    now: new Date(now),
    defined: jobs.length,
    running,
    idle: jobs.length - running,
    jobs: jobs.map((job) => toJobReport(job, known)),
    queues: queues.map((queue) => ({
      ...queue,
      pausedUntil: toDate(queue.pausedUntil),
      pause: toPauseInfo(queue.pause),
      oldest: toDate(queue.oldest),
    })),
    workers: workers.map((worker) => ({
      ...worker,
      startedAt: new Date(worker.startedAt),
      seenAt: new Date(worker.seenAt),
    })),
    late: late.map((one) => ({ ...one, nextTick: new Date(one.nextTick) })),
    silent: silent.map(({ trace, leasedUntil, ...rest }) => ({
      ...rest,
      trace: trace && { ...trace, seenAt: new Date(trace.seenAt) },
      leasedUntil: new Date(leasedUntil),
    })),
    expired,
    isolated: isolated.map((run) => ({
      ...run,
      worker: shown(run.worker, known),
      startedAt: toDate(run.startedAt),
    })),
    capped,
  };
}

function withDefined(shown: JobStatus[], defined: readonly DefinedJob[]): JobStatus[] {
  const names = new Set(shown.map(({ name }) => name));
  const fresh = defined.filter(({ name }) => !names.has(name)).map(notShown);
  if (fresh.length === 0) return shown;
  return [...shown, ...fresh].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function notShown(job: DefinedJob): JobStatus {
  const { queue, priority, concurrency, perKey } = job.settings;
  return {
    name: job.name,
    queue,
    priority,
    limit: concurrency,
    keyLimit: perKey,
    cron: job.toCron(),
    fingerprint: "",
    paused: false,
    pause: null,
    running: 0,
    waiting: 0,
    lastRun: null,
    lastFailure: null,
    lastError: null,
    fails: 0,
    seenAt: null,
    leasedUntil: null,
    leasedBy: null,
    nextRun: null,
  };
}

function toJobReport({ fingerprint: _, ...job }: JobStatus, workers: KnownWorker[]): JobReport {
  return {
    ...job,
    pause: toPauseInfo(job.pause),
    lastOutcome: job.fails > 0 ? "failed" : job.lastRun === null ? null : "completed",
    lastRun: toDate(job.lastRun),
    lastFailure: toDate(job.lastFailure),
    lastError: readFailure(job.lastError)?.message ?? null,
    seenAt: toDate(job.seenAt),
    leasedUntil: toDate(job.leasedUntil),
    leasedBy: job.leasedBy && shown(job.leasedBy, workers),
    nextRun: toDate(job.nextRun),
  };
}

type KnownWorker = Pick<WorkerRecord, "id" | "host" | "pid">;

/** A worker as `host:pid`, or its id where it has no row. */
function shown(worker: string, workers: KnownWorker[]): string {
  const known = workers.find(({ id }) => id === worker);
  return known ? `${known.host}:${known.pid}` : worker;
}

export function toScheduleInfo(row: ScheduleRecord): ScheduleInfo {
  return {
    ...row,
    args: readable(row.args),
    lastTick: toDate(row.lastTick),
    nextTick: toDate(row.nextTick),
    pause: toPauseInfo(row.pause),
  };
}

function toPauseInfo(pause: Pause | null): PauseInfo | null {
  return pause && { ...pause, since: new Date(pause.since) };
}

/** Workers show their jobs every 30 seconds: no live worker defines a job that has not been shown for this long. */
export const UNDEFINED_FOR: number = 2 * 60_000;

/** A job that has not been shown for this long was removed from the code; until then the next deploy may bring it back. */
export const GONE_AFTER: number = DAY;

/**
 * Returns for how long no worker has defined a job, in milliseconds; null: one does, or none has ever. While no worker
 * is alive, a job counts as defined unless others were shown after it: the workers are down, and the code may be as it was.
 */
export function unseenIn({
  now,
  jobs,
  workers,
}: Pick<StatusReport, "now" | "jobs" | "workers">): (job: JobReport) => number | null {
  const isServed = workers.some(({ parallel }) => parallel > 0);
  const latest = isServed
    ? Number(now)
    : jobs.reduce((last, { seenAt }) => Math.max(last, Number(seenAt ?? 0)), 0);
  return ({ seenAt }) =>
    seenAt === null || latest - Number(seenAt) <= UNDEFINED_FOR ? null : Number(now) - Number(seenAt);
}
