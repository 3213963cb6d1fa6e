import { readFailure } from "../../../run/failure.ts";
import type { Redaction } from "../../../run/redaction.ts";
import { isFinished } from "../../../run/states.ts";
import type { RunRecord } from "../../../store/records.ts";
import { LATE_AFTER, type RunCount } from "../../../store/search.ts";
import type { Count, RunLink, RunSummary } from "../contract.ts";
import { toErrorHead } from "./failure.ts";
import { toPreview, toProgress } from "./json-text.ts";
import { iso, isoOrNull } from "./times.ts";

/** Facts for a summary beside the run. */
export interface SummaryContext {
  /** The database's time. */
  now: number;
  redaction: Redaction;
  /** Returns the attempts that a job allows; null: this process does not define the job. */
  maxAttempts(job: string): number | null;
}

export function toSummary(run: RunRecord, { now, redaction, maxAttempts }: SummaryContext): RunSummary {
  const { state, runAt, startedAt, finishedAt } = run;
  const isWaiting = state === "ready" || state === "scheduled";
  const failure = readFailure(run.error);
  return {
    id: run.id,
    job: run.name,
    queue: run.queue,
    key: run.key,
    priority: run.priority,
    state,
    retrying: isWaiting && run.attempts > 0,
    late: isWaiting && runAt < now - LATE_AFTER,
    cancelRequested: run.cancelRequested,
    attempt: run.attempts,
    maxAttempts: ownMaximum(run.retries) ?? maxAttempts(run.name),
    preview: toPreview(run.args, redaction),
    progress: toProgress(run.progress, redaction),
    tags: run.tags,
    createdAt: iso(run.createdAt),
    runAt: iso(runAt),
    startedAt: isoOrNull(startedAt),
    finishedAt: isoOrNull(finishedAt),
    waited: waitedOf(run, now),
    took: tookOf(run, now),
    error: failure && toErrorHead(failure, redaction),
    fingerprint: run.fingerprint,
  };
}

/** Returns the maximum of a run's own retry policy. */
function ownMaximum(retries: string | null): number | null {
  if (retries === null) return null;
  const { max } = JSON.parse(retries) as { max?: number };
  return max ?? null;
}

function waitedOf({ state, runAt, startedAt, finishedAt }: RunRecord, now: number): number | null {
  if (isFinished(state) && startedAt === null)
    return finishedAt === null ? null : Math.max(0, finishedAt - runAt);
  // A run that waits for its next attempt still has the start of the last one.
  const until = state === "running" || isFinished(state) ? (startedAt ?? now) : now;
  return until < runAt ? null : until - runAt;
}

export function tookOf({ state, startedAt, finishedAt }: RunRecord, now: number): number | null {
  if (startedAt === null) return null;
  if (state === "running") return Math.max(0, now - startedAt);
  return finishedAt === null ? null : Math.max(0, finishedAt - startedAt);
}

export function toLink(run: RunRecord, now: number): RunLink {
  const { id, name: job, state, createdAt, finishedAt } = run;
  return { id, job, state, at: iso(finishedAt ?? createdAt), took: tookOf(run, now) };
}

export function toCount({ count, capped }: RunCount): Count {
  return { value: count, capped };
}
