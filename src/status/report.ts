import { fingerprintOf, readFailure } from "../run/failure.ts";
import { readable, toDate } from "../run/info.ts";
import type { JsonValue } from "../run/payload.ts";
import type { JobError } from "../store/job-errors.ts";
import type {
  IsolatedRun,
  JobStatus,
  LateSchedule,
  LimitStatus,
  MuteRecord,
  Pause,
  QueueStatus,
  ScheduleRecord,
  SilentWorker,
  Status,
  WorkerRecord,
} from "../store/records.ts";
import { LATE_AFTER } from "../store/search.ts";
import { DAY, MINUTE } from "../time.ts";
import { toWorkerReport, type WorkerReport } from "./workers.ts";

/** Since when something is paused, and the note given with the pause. */
export interface PauseInfo extends Omit<Pause, "since"> {
  since: Date;
}

/** The mute of a group of failures: by whom, why, since when and until when. */
export interface MuteInfo extends Omit<MuteRecord, "since" | "until"> {
  since: Date;
  /** Null: until it is unmuted. */
  until: Date | null;
}

/** A kind of error with which attempts of a job have failed since its last success. */
export interface JobErrorInfo extends Omit<JobError, "at"> {
  at: Date;
  /** Null: it is not muted. */
  mute: MuteInfo | null;
}

type Times =
  | "lastRun"
  | "lastFailure"
  | "seenAt"
  | "leasedUntil"
  | "leasedBy"
  | "nextRun"
  | "pause"
  | "errors"
  | "fingerprint";

/** A job in a status. */
export interface JobReport extends Omit<JobStatus, Times> {
  pause: PauseInfo | null;
  /** How the last attempt ended: `failed` while `fails` is above 0; null: no attempt has ended yet. */
  lastOutcome: "completed" | "failed" | null;
  /** The kinds of errors with which attempts have failed since the last success, the latest first; at most 8. */
  errors: JobErrorInfo[];
  /** The mute of the latest of `errors`; null: one of them is not muted, or there is none. */
  mute: MuteInfo | null;
  /** When an attempt last succeeded. */
  lastRun: Date | null;
  /** When an attempt last failed or crashed. */
  lastFailure: Date | null;
  seenAt: Date | null;
  leasedUntil: Date | null;
  /** The worker of that lease: `host:pid`, or its id if its row has been deleted. */
  leasedBy: string | null;
  nextRun: Date | null;
}

/** A queue in a status. */
export interface QueueReport extends Omit<QueueStatus, "pausedUntil" | "oldest" | "pause"> {
  pausedUntil: Date | null;
  pause: PauseInfo | null;
  /** When the oldest of its ready and due runs was due. */
  oldest: Date | null;
}

/** Returns the number of runs of a queue that are due and not begun, whether or not a worker has made them ready. */
export function waitingIn({ ready, due }: Pick<QueueStatus, "ready" | "due">): number {
  return ready + due;
}

/** A worker in a status that holds runs without a sign of life. */
export interface SilentReport extends Omit<SilentWorker, "trace" | "leasedUntil"> {
  /** Null: its row has been deleted, because it stopped or has been dead for minutes. */
  trace: { host: string; pid: number; seenAt: Date } | null;
  leasedUntil: Date;
}

/** Result of `status()`. */
export interface StatusReport {
  /** The database's time. */
  now: Date;
  /** Number of jobs that the database has or this process defines. */
  defined: number;
  /** Number of these jobs that have a running run. */
  running: number;
  /** Number of the other jobs. */
  idle: number;
  jobs: JobReport[];
  queues: QueueReport[];
  /** Limits that jobs share by name: those that are defined, or that a job is under. */
  limits: LimitStatus[];
  workers: WorkerReport[];
  /** Schedules whose next tick was due more than a few seconds ago. */
  late: (Omit<LateSchedule, "nextTick"> & { nextTick: Date })[];
  /** Workers that hold runs without a sign of life: killed, frozen, or cut off from the database. */
  silent: SilentReport[];
  /** Number of runs whose lease expired a while ago and that no worker has reaped. */
  expired: number;
  /** Runs that have crashed before and now have a process to themselves. */
  isolated: (Omit<IsolatedRun, "startedAt"> & { startedAt: Date | null })[];
  /** Whether more runs wait than were counted: `waiting`, `ready` and `scheduled` are then lower bounds. */
  capped: boolean;
}

/** A schedule, with times as dates and arguments decoded. */
export interface ScheduleInfo extends Omit<ScheduleRecord, "args" | "lastTick" | "nextTick" | "pause"> {
  args: JsonValue | undefined;
  lastTick: Date | null;
  nextTick: Date | null;
  pause: PauseInfo | null;
}

/** The part of a definition that a status needs for a job that no worker has synced yet. */
export interface DefinitionFacts {
  readonly name: string;
  readonly settings: {
    queue: string;
    priority: number;
    concurrency: number;
    perKey: number;
    rates?: JobStatus["rates"];
  };
  toCron(): string | null;
}

export function toReport(status: Status, defined: readonly DefinitionFacts[]): StatusReport {
  const { now, queues, limits, workers, late, silent, expired, isolated, capped } = status;
  const traces = silent.flatMap(({ id, trace }) => (trace ? [{ id, ...trace }] : []));
  const known = [...workers, ...traces];
  const jobs = withDefined(status.jobs, defined);
  const mutes = new Map(status.mutes.map((mute) => [mute.fingerprint, toMuteInfo(mute)]));
  const running = jobs.filter((job) => job.running > 0).length;
  return {
    now: new Date(now),
    defined: jobs.length,
    running,
    idle: jobs.length - running,
    jobs: jobs.map((job) => toJobReport(job, known, mutes)),
    limits,
    queues: queues.map((queue) => ({
      ...queue,
      pausedUntil: toDate(queue.pausedUntil),
      pause: toPauseInfo(queue.pause),
      oldest: toDate(queue.oldest),
    })),
    workers: workers.map(toWorkerReport),
    late: late.map((one) => ({ ...one, nextTick: new Date(one.nextTick) })),
    silent: silent.map(({ trace, leasedUntil, ...rest }) => ({
      ...rest,
      trace: trace && { ...trace, seenAt: new Date(trace.seenAt) },
      leasedUntil: new Date(leasedUntil),
    })),
    expired,
    isolated: isolated.map((run) => ({
      ...run,
      worker: labelFromRecords(run.worker, known),
      startedAt: toDate(run.startedAt),
    })),
    capped,
  };
}

/** Adds the jobs that this process defines and no worker has synced yet. */
function withDefined(synced: JobStatus[], defined: readonly DefinitionFacts[]): JobStatus[] {
  const names = new Set(synced.map(({ name }) => name));
  const others = defined.filter(({ name }) => !names.has(name)).map(unsyncedStatus);
  if (others.length === 0) return synced;
  return [...synced, ...others].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function unsyncedStatus(job: DefinitionFacts): JobStatus {
  const { queue, priority, concurrency, perKey, rates = null } = job.settings;
  return {
    name: job.name,
    queue,
    priority,
    limit: concurrency,
    keyLimit: perKey,
    rates,
    cron: job.toCron(),
    fingerprint: "",
    paused: false,
    pause: null,
    running: 0,
    waiting: 0,
    lastRun: null,
    lastFailure: null,
    lastError: null,
    errors: [],
    fails: 0,
    seenAt: null,
    leasedUntil: null,
    leasedBy: null,
    nextRun: null,
  };
}

function toJobReport(
  { fingerprint: _, ...job }: JobStatus,
  workers: KnownWorker[],
  mutes: ReadonlyMap<string, MuteInfo>,
): JobReport {
  const errors = errorsOf(job, mutes);
  const unmuted = errors.find(({ mute }) => mute === null);
  return {
    ...job,
    errors,
    mute: unmuted ? null : (errors[0]?.mute ?? null),
    pause: toPauseInfo(job.pause),
    lastOutcome: job.fails > 0 ? "failed" : job.lastRun === null ? null : "completed",
    lastRun: toDate(job.lastRun),
    lastFailure: toDate(job.lastFailure),
    // A muted error that recurs must not hide another one.
    lastError: unmuted?.message ?? readFailure(job.lastError)?.message ?? null,
    seenAt: toDate(job.seenAt),
    leasedUntil: toDate(job.leasedUntil),
    leasedBy: job.leasedBy && labelFromRecords(job.leasedBy, workers),
    nextRun: toDate(job.nextRun),
  };
}

/** Returns the errors since the last success, the latest first. Workers of older versions write the last error only. */
function errorsOf(
  job: Pick<JobStatus, "fails" | "errors" | "lastError" | "lastFailure">,
  mutes: ReadonlyMap<string, MuteInfo>,
): JobErrorInfo[] {
  if (job.fails === 0) return [];
  const last = { message: readFailure(job.lastError)?.message ?? "", at: job.lastFailure ?? 0 };
  const errors: JobError[] =
    job.errors.length > 0
      ? job.errors
      : [{ fingerprint: mutes.size > 0 ? (fingerprintOf(job.lastError) ?? "") : "", ...last }];
  return errors
    .map((error) => ({ ...error, at: new Date(error.at), mute: mutes.get(error.fingerprint) ?? null }))
    .reverse();
}

type KnownWorker = Pick<WorkerRecord, "id" | "host" | "pid">;

/** Returns a worker as `host:pid`, or its id if it has no row. */
function labelFromRecords(worker: string, workers: KnownWorker[]): string {
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

export function toMuteInfo(mute: MuteRecord): MuteInfo {
  return { ...mute, since: new Date(mute.since), until: toDate(mute.until) };
}

function toPauseInfo(pause: Pause | null): PauseInfo | null {
  return pause && { ...pause, since: new Date(pause.since) };
}

/** Whether the tick of a schedule is late, as `late` of a status lists it. */
export function isOverdue(nextTick: Date, now: Date): boolean {
  return Number(nextTick) < Number(now) - LATE_AFTER;
}

/** Workers sync their jobs every 30 seconds: if a job has not been synced for this long, no live worker defines it. */
export const UNDEFINED_AFTER: number = 2 * MINUTE;

/**
 * A job that has not been synced for this long counts as removed from the code; until then the next deploy may bring it
 * back.
 */
export const REMOVED_AFTER: number = DAY;

/**
 * Returns a function that tells for how many milliseconds no worker has defined a job; null: a worker defines it, or
 * none ever has. While no worker is alive, a job counts as defined unless other jobs were synced later: then the
 * workers are merely down, and the code may still have it.
 */
export function undefinedTimes({
  now,
  jobs,
  workers,
}: Pick<StatusReport, "now" | "jobs" | "workers">): (job: JobReport) => number | null {
  const isServed = workers.some(({ parallel }) => parallel > 0);
  const latest = isServed
    ? Number(now)
    : jobs.reduce((last, { seenAt }) => Math.max(last, Number(seenAt ?? 0)), 0);
  return ({ seenAt }) =>
    seenAt === null || latest - Number(seenAt) <= UNDEFINED_AFTER ? null : Number(now) - Number(seenAt);
}
