import { serves } from "../store/queue-selection.ts";
import { isClaiming, isPaused } from "../store/worker-records.ts";
import { heldCommand, listCommand, pruneJobCommand, queryQuote, shellQuote, workCommand } from "./hints.ts";
import type { StatusReport } from "./report.ts";
import { REMOVED_AFTER, undefinedTimes, waitingIn } from "./report.ts";
import { silenceOf } from "./silence.ts";
import { pauseNote, span } from "./why.ts";
import { type WorkerReport, whyUndone } from "./workers.ts";

/** Problems of jobs, queues and workers, in words. */
export interface Health {
  /** `stalled`: work is due and no worker does it. `degraded`: there is a problem, but due work is done. */
  level: "healthy" | "degraded" | "stalled";
  /** One sentence per problem, the worst first; one sentence without a problem if healthy. */
  sentences: string[];
  /** Commands that help, each once. */
  hints: string[];
}

/** A queue is a problem only if its oldest run has been due for longer than this; a shorter wait is normal. */
const WAITED_LONG = 10_000;
/** A served queue whose oldest run has been due for longer than this is behind. */
const BEHIND = 5 * 60_000;

type Queue = StatusReport["queues"][number];

/** Finds the problems in a status. Pure: the same status gives the same sentences. */
export function healthOf(report: StatusReport): Health {
  const stalled = new Findings();
  const degraded = new Findings();
  const alive = report.workers.filter(({ parallel }) => parallel > 0);
  const claiming = alive.filter(isClaiming);
  const age = (then: Date) => report.now.getTime() - then.getTime();

  const jobs = new Map(report.jobs.map((job) => [job.name, job]));
  const undefinedFor = undefinedTimes(report);

  const served = (queue: string) => claiming.some((worker) => serves(worker, queue));
  const waits = (queue: Queue) => queue.oldest !== null && age(queue.oldest) > WAITED_LONG;

  for (const queue of report.queues) {
    const { name } = queue;
    const waitingRuns = waitingIn(queue);
    const waiting = `${name}: ${counted(waitingRuns, queue.capped)} waiting`;
    if (queue.paused) {
      const until = queue.pausedUntil ? ` until ${queue.pausedUntil.toISOString()}` : "";
      const blocked = waitingRuns > 0 ? `, ${counted(waitingRuns, queue.capped)} waiting` : "";
      degraded.add(
        `${name}: paused${until}${pauseNote(queue.pause)}${blocked}.`,
        `punctual resume queue ${shellQuote(name)}`,
      );
    } else if (!waits(queue)) continue;
    else if (!served(name)) {
      const serving = (worker: WorkerReport) => serves(worker, name);
      const cause = whyUndone(alive, serving, "no live worker serves this queue");
      stalled.add(`${waiting} for ${span(age(queue.oldest!))}, ${cause}.`, workCommand(name));
    } else if (age(queue.oldest!) > BEHIND) {
      degraded.add(
        `${waiting}, the first for ${span(age(queue.oldest!))}.`,
        listCommand(`is:late queue:${queryQuote(name)}`),
      );
    }
  }

  for (const { job, nextTick } of report.late) {
    const known = jobs.get(job);
    const undefinedTime = known ? undefinedFor(known) : null;
    if (undefinedTime !== null) {
      // A job that was removed from the code on purpose is not a problem for the 30 days until it is pruned.
      if (undefinedTime > REMOVED_AFTER) continue;
      degraded.add(
        `${job}: no live worker has defined it for ${span(undefinedTime)}, so its schedule does not tick.`,
        "punctual work",
        pruneJobCommand(job),
      );
      continue;
    }
    const late = `${job}: its schedule is ${span(age(nextTick))} late`;
    if (claiming.some(({ schedules }) => schedules))
      degraded.add(`${late}.`, "punctual schedule list --late");
    else {
      const cause = whyUndone(alive, ({ schedules }) => schedules, "no live worker ticks schedules");
      stalled.add(`${late}, ${cause}.`, "punctual work");
    }
  }

  for (const worker of report.silent) {
    const sentence = silenceOf(worker, { now: report.now, others: alive.length });
    if (alive.length === 0) stalled.add(sentence, "punctual work");
    else degraded.add(sentence, heldCommand(worker));
  }

  for (const { id, host, pid, request } of alive.filter(isPaused)) {
    degraded.add(
      `Worker ${host}:${pid}: paused${pauseNote(request)}.`,
      `punctual resume worker ${shellQuote(id)}`,
    );
  }

  if (report.expired > 0) {
    const leases = report.expired === 1 ? "1 lease has" : `${report.expired} leases have`;
    const runs = report.expired === 1 ? "its run" : "their runs";
    const sentence = `${leases} expired, and no worker has taken ${runs} back.`;
    if (alive.length === 0) stalled.add(sentence, "punctual work");
    else degraded.add(sentence, "punctual doctor");
  }

  for (const { id, name, worker } of report.isolated.filter(({ child }) => child === null)) {
    degraded.add(
      `${worker} isolates run ${id} of ${name}, which has crashed before: its other runs wait, a few seconds at most.`,
      `punctual show ${id}`,
    );
  }

  for (const { name, jobs: under } of report.limits.filter(({ limit }) => limit === null)) {
    const waiting = under.filter((job) => (jobs.get(job)?.waiting ?? 0) > 0);
    if (waiting.length === 0) continue;
    stalled.add(
      `${waiting.join(", ")}: runs wait for the limit "${name}", which no process has defined.`,
      "punctual doctor",
    );
  }

  for (const job of report.jobs) {
    const undefinedTime = undefinedFor(job);
    if (job.fails > 0 && job.mute === null && undefinedTime === null) {
      const times = job.fails === 1 ? "its last attempt failed" : `${job.fails} attempts in a row failed`;
      degraded.add(
        `${job.name}: ${times}${job.lastError ? `: ${firstLine(job.lastError, 120)}` : "."}`,
        // Not a list of failed runs: the run may wait for its next attempt, or be pruned.
        `punctual show ${shellQuote(job.name)}`,
      );
    }
    if (job.paused && job.waiting > 0) {
      degraded.add(
        `${job.name}: paused${pauseNote(job.pause)}, ${counted(job.waiting, report.capped)} waiting.`,
        `punctual resume job ${shellQuote(job.name)}`,
      );
    } else if (job.waiting > 0 && alive.length > 0 && (job.seenAt === null || undefinedTime !== null)) {
      degraded.add(
        `${job.name}: ${counted(job.waiting, report.capped)} waiting, no live worker defines it.`,
        `punctual show ${shellQuote(job.name)}`,
        ...(undefinedTime === null ? [] : [pruneJobCommand(job.name)]),
      );
    }
  }

  const sentences = [...stalled.sentences, ...degraded.sentences];
  if (sentences.length === 0)
    return { level: "healthy", sentences: [summary(report, alive.length)], hints: [] };
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

function summary({ queues }: StatusReport, alive: number): string {
  const running = queues.reduce((sum, queue) => sum + queue.running, 0);
  const workers = alive === 0 ? "no worker is alive" : alive === 1 ? "1 worker" : `${alive} workers`;
  return `${running} running, nothing late, ${workers}.`;
}

function counted(n: number, capped: boolean): string {
  const text = String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  return capped ? `${text} or more` : text;
}

/** Returns the first line of a text, at most `longest` characters. */
export function firstLine(text: string, longest: number): string {
  const [line = ""] = text.split("\n");
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}
