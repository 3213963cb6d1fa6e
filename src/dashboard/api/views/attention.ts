import type { Redaction } from "../../../run/redaction.ts";
import { firstLine } from "../../../status/health.ts";
import { type StatusReport, undefinedTimes, waitingIn } from "../../../status/report.ts";
import { silenceOf } from "../../../status/silence.ts";
import { pauseNote, span } from "../../../status/why.ts";
import { whyUndone } from "../../../status/workers.ts";
import { serves } from "../../../store/queue-selection.ts";
import { LATE_AFTER } from "../../../store/search.ts";
import { isClaiming } from "../../../store/worker-records.ts";
import { toSegment } from "../../segment.ts";
import type { Attention } from "../contract.ts";
import { iso, isoOrNull } from "./times.ts";

/** Most problems on the overview. */
const MOST = 20;

/** Returns the problems of a status, the worst first, each with the page that explains it. */
export function attentionTo(report: StatusReport, redaction: Redaction): Attention[] {
  const found = [
    ...queues(report),
    ...workers(report),
    ...pausedWorkers(report),
    ...late(report),
    ...jobs(report, redaction),
  ];
  return found.slice(0, MOST);
}

function* queues({ queues: all, workers: known, now }: StatusReport): Generator<Attention> {
  const claiming = known.filter(isClaiming);
  for (const queue of all) {
    const { name, paused, pause, pausedUntil, oldest } = queue;
    const link = `/queues/${toSegment(name)}`;
    const waited = oldest === null ? 0 : Number(now) - Number(oldest);
    if (paused) {
      const until = pausedUntil ? ` until ${iso(pausedUntil)}` : "";
      const text = `paused${until}${pauseNote(pause)}`;
      yield { kind: "paused", name, text, since: isoOrNull(pause?.since ?? null), link };
    } else if (
      waited > LATE_AFTER &&
      waitingIn(queue) > 0 &&
      !claiming.some((worker) => serves(worker, name))
    ) {
      const why = whyUndone(known, (worker) => serves(worker, name), "no live worker serves it");
      yield {
        kind: "queue",
        name,
        text: `runs wait for ${span(waited)}, ${why}`,
        since: isoOrNull(oldest),
        link,
      };
    }
  }
}

function* workers({ silent, workers: known, now }: StatusReport): Generator<Attention> {
  const others = known.filter(({ parallel }) => parallel > 0).length;
  for (const worker of silent) {
    const { id, trace } = worker;
    const name = trace ? `${trace.host}:${trace.pid}` : id;
    const text = silenceOf(worker, { now, others });
    yield { kind: "worker", name, text, since: isoOrNull(trace?.seenAt ?? null), link: "/workers" };
  }
}

function* pausedWorkers({ workers: known }: StatusReport): Generator<Attention> {
  for (const { host, pid, request, facts } of known) {
    if (facts?.activity !== "paused") continue;
    const since = isoOrNull(request?.since ?? null);
    yield {
      kind: "paused",
      name: `${host}:${pid}`,
      text: `worker paused${pauseNote(request)}`,
      since,
      link: "/workers",
    };
  }
}

function* late(report: StatusReport): Generator<Attention> {
  const undefinedFor = undefinedTimes(report);
  const known = new Map(report.jobs.map((job) => [job.name, job]));
  for (const { id, job, nextTick } of report.late) {
    const definition = known.get(job);
    if (definition?.paused || (definition && undefinedFor(definition) !== null)) continue;
    const text = `schedule ${span(Number(report.now) - Number(nextTick))} late`;
    yield { kind: "late", name: job, text, since: iso(nextTick), link: `/schedules/${id}` };
  }
}

function* jobs(report: StatusReport, redaction: Redaction): Generator<Attention> {
  const undefinedFor = undefinedTimes(report);
  for (const job of report.jobs) {
    const { name, fails, mute, lastFailure, lastError, paused, pause, waiting } = job;
    const link = `/jobs/${toSegment(name)}`;
    const isUndefined = undefinedFor(job) !== null;
    if (fails > 0 && mute === null && !isUndefined) {
      const times = fails === 1 ? "its last attempt failed" : `${fails} attempts in a row failed`;
      const error = lastError === null ? "" : `: ${firstLine(redaction.text(lastError), 200)}`;
      // Not a list of failed runs: the run may wait for its next attempt, or be pruned.
      yield { kind: "failure", name, text: `${times}${error}`, since: isoOrNull(lastFailure), link };
    }
    if (paused && waiting > 0) {
      const text = `paused${pauseNote(pause)}, ${waiting} waiting`;
      yield { kind: "paused", name, text, since: isoOrNull(pause?.since ?? null), link };
    } else if (isUndefined && waiting > 0) {
      const text = `${waiting} waiting, no live worker defines it`;
      yield { kind: "job", name, text, since: isoOrNull(job.seenAt), link };
    }
  }
}
