import { serves } from "../store/queue-selection.ts";
import { inQuery, listOf, pruneJob, quoted, workOn } from "./hints.ts";
import type { StatusReport } from "./report.ts";
import { GONE_AFTER, unseenIn } from "./report.ts";
import { silenceOf } from "./silence.ts";
import { span, told } from "./why.ts";

/** How it stands with jobs, queues and workers, in words. */
export interface Health {
  /** `stalled`: work is due and nobody does it. `degraded`: something wants a look. */
  level: "healthy" | "degraded" | "stalled";
  /** What is so, the worst first; when all is well, one that says so. */
  sentences: string[];
  /** Commands that help, without doubles. */
  hints: string[];
}

/** What has been ready for less is on its way. */
const WAITED_LONG = 10_000;
/** A queue that is served, but whose first run has been ready for this long, is behind. */
const BEHIND = 5 * 60_000;

type Queue = StatusReport["queues"][number];

/** What the figures of a status mean for whoever has to keep it running. Pure: the same figures, the same words. */
export function healthOf(report: StatusReport): Health {
  const stalled = new Findings();
  const degraded = new Findings();
  const alive = report.workers.filter(({ parallel }) => parallel > 0);
  const age = (then: Date) => report.now.getTime() - then.getTime();

  const jobs = new Map(report.jobs.map((job) => [job.name, job]));
  const unseenFor = unseenIn(report);

  const served = (queue: string) => alive.some((worker) => serves(worker, queue));
  const waits = (queue: Queue) => queue.oldest !== null && age(queue.oldest) > WAITED_LONG;

  for (const queue of report.queues) {
    const { name, ready } = queue;
    const waiting = `${name}: ${counted(ready, report.capped)} waiting`;
    if (queue.paused) {
      const until = queue.pausedUntil ? ` until ${queue.pausedUntil.toISOString()}` : "";
      const held = ready > 0 ? `, ${counted(ready, report.capped)} waiting` : "";
      degraded.add(
        `${name}: paused${until}${told(queue.pause)}${held}.`,
        `punctual resume queue ${quoted(name)}`,
      );
    } else if (!waits(queue)) continue;
    else if (!served(name)) {
      const whole = alive.length === 0 ? "no worker is alive" : "no living worker serves this queue";
      stalled.add(`${waiting} for ${span(age(queue.oldest!))}, ${whole}.`, workOn(name));
    } else if (age(queue.oldest!) > BEHIND) {
      degraded.add(
        `${waiting}, the first for ${span(age(queue.oldest!))}.`,
        listOf(`is:late queue:${inQuery(name)}`),
      );
    }
  }

  for (const { job, nextTick } of report.late) {
    const known = jobs.get(job);
    const unseen = known ? unseenFor(known) : null;
    if (unseen !== null) {
      // A job that was removed from the code on purpose is no fault for the 30 days until it is pruned.
      if (unseen > GONE_AFTER) continue;
      degraded.add(
        `${job}: no live worker has defined it for ${span(unseen)}, so its schedule does not tick.`,
        "punctual work",
        pruneJob(job),
      );
      continue;
    }
    const late = `${job}: its schedule is ${span(age(nextTick))} late`;
    if (alive.some(({ schedules }) => schedules)) degraded.add(`${late}.`, "punctual schedule list --late");
    else {
      const whole = alive.length === 0 ? "no worker is alive" : "no living worker ticks schedules";
      stalled.add(`${late}, ${whole}.`, "punctual work");
    }
  }

  for (const worker of report.silent) {
    const sentence = silenceOf(worker, { now: report.now, others: alive.length });
    if (alive.length === 0) stalled.add(sentence, "punctual work");
    else degraded.add(sentence, `punctual show ${worker.last.id}`);
  }

  if (report.expired > 0) {
    const sentence = `${report.expired} ${report.expired === 1 ? "lease" : "leases"} ended and nobody took the runs back.`;
    if (alive.length === 0) stalled.add(sentence, "punctual work");
    else degraded.add(sentence, "punctual doctor");
  }

  for (const { id, name, worker } of report.isolated.filter(({ child }) => child === null)) {
    degraded.add(
      `${worker} isolates run ${id} of ${name}, which crashed before: other runs wait there, a few seconds at most.`,
      `punctual show ${id}`,
    );
  }

  for (const job of report.jobs) {
    const unseen = unseenFor(job);
    if (job.fails > 0 && unseen === null) {
      const times = job.fails === 1 ? "its last try failed" : `${job.fails} tries in a row failed`;
      degraded.add(
        `${job.name}: ${times}${job.lastError ? `: ${firstLine(job.lastError)}` : "."}`,
        listOf(`job:${inQuery(job.name)} state:failed`),
      );
    }
    if (job.paused && job.waiting > 0) {
      degraded.add(
        `${job.name}: paused${told(job.pause)}, ${counted(job.waiting, report.capped)} waiting.`,
        `punctual resume job ${quoted(job.name)}`,
      );
    } else if (job.waiting > 0 && alive.length > 0 && (job.seenAt === null || unseen !== null)) {
      degraded.add(
        `${job.name}: ${counted(job.waiting, report.capped)} waiting, no living worker defines it.`,
        `punctual show ${quoted(job.name)}`,
        ...(unseen === null ? [] : [pruneJob(job.name)]),
      );
    }
  }

  const sentences = [...stalled.sentences, ...degraded.sentences];
  if (sentences.length === 0)
    return { level: "healthy", sentences: [wellThen(report, alive.length)], hints: [] };
  return {
    level: stalled.sentences.length > 0 ? "stalled" : "degraded",
    sentences,
    hints: [...new Set([...stalled.hints, ...degraded.hints])],
  };
}

class Findings {
  readonly sentences: string[] = [];
  readonly hints: string[] = [];

  add(sentence: string, ...hints: string[]): void {
    this.sentences.push(sentence);
    this.hints.push(...hints);
  }
}

function wellThen({ queues }: StatusReport, alive: number): string {
  const running = queues.reduce((sum, queue) => sum + queue.running, 0);
  const workers = alive === 0 ? "no worker is alive" : alive === 1 ? "1 worker" : `${alive} workers`;
  return `${running} running, nothing late, ${workers}.`;
}

function counted(n: number, capped: boolean): string {
  const text = String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  return capped ? `${text} or more` : text;
}

function firstLine(text: string): string {
  const [line = ""] = text.split("\n");
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
