import type { AttemptView, RunDetail } from "../../../src/dashboard/api/contract.ts";

export interface Segment {
  kind: "wait" | "run" | "backoff";
  from: number;
  to: number;
}

/** One row of the timeline. The segments are in order of time. */
export interface AttemptRow {
  attempt: AttemptView;
  segments: Segment[];
  took: number | null;
}

export interface AttemptTimeline {
  from: number;
  to: number;
  rows: AttemptRow[];
}

export type TimelineSource = Pick<RunDetail, "createdAt" | "runAt" | "state" | "attempts">;

const timeOf = (text: string | null) => (text === null ? null : Date.parse(text));

/**
 * Returns the waits, runs and backoffs of a run as segments of time. The backoff of an attempt lasts until the next one
 * begins. A run that waits has a last backoff, or a row of its own if it never started.
 */
export function attemptTimeline(run: TimelineSource, now: number): AttemptTimeline {
  const created = Date.parse(run.createdAt);
  const due = Date.parse(run.runAt);
  const waiting = run.state === "scheduled" || run.state === "ready";
  const rows: AttemptRow[] = [];
  // `runAt` is the time of the latest attempt: the first one was due then only if there is no other.
  let ready = run.attempts.length <= 1 && !waiting ? Math.max(created, due) : created;
  for (const [index, attempt] of run.attempts.entries()) {
    const started = timeOf(attempt.startedAt);
    const finished = timeOf(attempt.finishedAt) ?? (attempt.outcome === "running" ? now : null);
    const segments: Segment[] = [];
    const start = started ?? finished;
    if (start !== null && index === 0) add(segments, "wait", ready, start);
    if (started !== null && finished !== null) add(segments, "run", started, finished);
    ready = finished ?? started ?? ready;
    const next = run.attempts[index + 1];
    if (next !== undefined) add(segments, "backoff", ready, timeOf(next.startedAt) ?? ready);
    else if (waiting) {
      add(segments, "backoff", ready, Math.max(ready, due));
      add(segments, "wait", Math.max(ready, due), now);
    }
    const took = started !== null && finished !== null ? finished - started : null;
    rows.push({ attempt, segments, took });
  }
  const all = rows.flatMap((row) => row.segments);
  const from = Math.min(...all.map((segment) => segment.from), ...(all.length === 0 ? [created] : []));
  const to = Math.max(...all.map((segment) => segment.to), from + 1);
  return { from, to, rows };
}

function add(segments: Segment[], kind: Segment["kind"], from: number, to: number): void {
  if (to > from) segments.push({ kind, from, to });
}
