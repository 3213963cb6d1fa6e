import type { AttemptRecord, LogRecord, RunRecord, TickRecord } from "../store/records.ts";
import { type Failure, readFailure } from "./failure.ts";
import { decodePayload, type JsonValue } from "./payload.ts";
import type { RunState } from "./states.ts";

/** A run, with times as dates and JSON decoded. */
export interface RunInfo {
  id: number;
  name: string;
  queue: string;
  key: string | null;
  priority: number;
  state: RunState;
  args: JsonValue | undefined;
  attempts: number;
  crashes: number;
  /** Whether it has crashed before and now has a process to itself. */
  isolated: boolean;
  runAt: Date;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  /** Id of the worker that executes it, or executed it last. */
  worker: string | null;
  /** Child process of that worker, as `number:pid`; null without a supervisor. */
  child: string | null;
  lockedUntil: Date | null;
  /** Why it failed; for a skipped or cancelled run the reason, if one was given. */
  error: Failure | null;
  fingerprint: string | null;
  result: JsonValue | undefined;
  progress: JsonValue | undefined;
  tags: string[];
  parentId: number | null;
  /** The run that `rerun()` repeated with this one. */
  rerunOf: number | null;
  batchId: string | null;
  uniqueKey: string | null;
  /** The schedule whose tick made it. */
  scheduleId: number | null;
  scheduledFor: Date | null;
  /** Timeout of this run alone, in milliseconds; null: the job's. */
  timeout: number | null;
  cancelRequested: boolean;
}

/** An attempt that failed, or did not finish. */
export interface AttemptInfo {
  attempt: number;
  /**
   * `crashed`: lost with its process, which counts as a crash. `lost`: was, or may have been, lost with its process,
   * and is not charged. `released`: interrupted by a shutdown, or with the child process of another run, and not
   * charged.
   */
  outcome: "retried" | "failed" | "crashed" | "lost" | "released";
  worker: string | null;
  startedAt: Date | null;
  finishedAt: Date;
  error: Failure | null;
}

/** A line that a handler logged. */
export interface LogLine {
  /** Increases from line to line; `logs(id, { after: position })` returns the lines after this one. */
  position: number;
  attempt: number;
  at: Date;
  message: string;
  data: JsonValue | undefined;
}

/** The run of a tick. */
export interface TickInfo {
  scheduleId: number;
  /** Id of the run. */
  id: number;
  state: RunState;
  scheduledFor: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  /** How long the last attempt took, in milliseconds; null: it has not ended, or the run never started. */
  took: number | null;
}

export function toDate(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

/** Decodes JSON. Returns any other text unchanged: an operator may have written it by hand. */
export function readable(text: string | null): JsonValue | undefined {
  try {
    return decodePayload(text);
  } catch {
    return text ?? undefined;
  }
}

export function toInfo(record: RunRecord): RunInfo {
  const { owner: _, retries: __, ...run } = record;
  return {
    ...run,
    args: readable(run.args),
    result: readable(run.result),
    progress: readable(run.progress),
    error: readFailure(run.error),
    runAt: new Date(run.runAt),
    createdAt: new Date(run.createdAt),
    startedAt: toDate(run.startedAt),
    finishedAt: toDate(run.finishedAt),
    lockedUntil: toDate(run.lockedUntil),
    scheduledFor: toDate(run.scheduledFor),
  };
}

export function toAttempt(record: AttemptRecord): AttemptInfo {
  return {
    ...record,
    startedAt: toDate(record.startedAt),
    finishedAt: new Date(record.finishedAt),
    error: readFailure(record.error),
  };
}

export function toLine(record: LogRecord): LogLine {
  return { ...record, at: new Date(record.at), data: readable(record.data) };
}

export function toTick({ scheduledFor, startedAt, finishedAt, ...tick }: TickRecord): TickInfo {
  return {
    ...tick,
    scheduledFor: new Date(scheduledFor),
    startedAt: toDate(startedAt),
    finishedAt: toDate(finishedAt),
    took: startedAt === null || finishedAt === null ? null : finishedAt - startedAt,
  };
}
