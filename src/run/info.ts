import type { AttemptRecord, LogRecord, RunRecord } from "../store/records.ts";
import { type Failure, readFailure } from "./failure.ts";
import { decodePayload, type JsonValue } from "./payload.ts";
import type { RunState } from "./states.ts";

/** A run as people look at it. */
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
  /** It crashed before, and no other run is in its process now. */
  isolated: boolean;
  runAt: Date;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  /** The worker that has it, or had it last. */
  worker: string | null;
  /** The child process of that worker, as `number:pid`; null without a supervisor. */
  child: string | null;
  lockedUntil: Date | null;
  /** Why it failed; for a skipped or cancelled run the reason, where there is one. */
  error: Failure | null;
  fingerprint: string | null;
  result: JsonValue | undefined;
  progress: JsonValue | undefined;
  tags: string[];
  parentId: number | null;
  batchId: string | null;
  uniqueKey: string | null;
  scheduledFor: Date | null;
  cancelRequested: boolean;
}

export interface AttemptInfo {
  attempt: number;
  outcome: "retried" | "failed" | "crashed";
  worker: string | null;
  startedAt: Date | null;
  finishedAt: Date;
  error: Failure | null;
}

/** What a handler logged. */
export interface LogLine {
  /** Grows from line to line: `logs(id, { after: position })` goes on behind this one. */
  position: number;
  attempt: number;
  at: Date;
  message: string;
  data: JsonValue | undefined;
}

export function toDate(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

/** What cannot be read, because somebody wrote it by hand, is shown as it stands. */
export function readable(text: string | null): JsonValue | undefined {
  try {
    return decodePayload(text);
  } catch {
    return text ?? undefined;
  }
}

export function toInfo(record: RunRecord): RunInfo {
  const { owner: _, ...run } = record;
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
