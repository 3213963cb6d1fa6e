import { rateText } from "../../status/rates.ts";
import { type StatusReport, waitingIn } from "../../status/report.ts";
import { obeys } from "../../status/workers.ts";
import { serves } from "../../store/queue-selection.ts";
import { isClaiming } from "../../store/worker-records.ts";
import type { Style } from "../output/output.ts";
import { ago, due, duration, grouped, moment, roughly, span, stamp } from "../render/formats.ts";
import type { Icons } from "../render/icons.ts";
import type { Page } from "../render/page.ts";
import type { Column, TableCell } from "../render/table.ts";
import type { JobLease, JobState, JobSummary, StatusJob } from "./job-state.ts";

export const JOB_LOOKS: Record<JobState, { icon: keyof Icons; style: Style }> = {
  idle: { icon: "idle", style: "green" },
  running: { icon: "running", style: "cyan" },
  failing: { icon: "failed", style: "red" },
  late: { icon: "late", style: "yellow" },
  paused: { icon: "paused", style: "dim" },
  unknown: { icon: "unknown", style: "dim" },
};

/** The table of `status`: one line for each job. */
export function jobColumns(
  leases: ReadonlyMap<string, JobLease>,
  now: Date,
  page: Page,
): Column<JobSummary>[] {
  const { icons } = page;
  const none: TableCell = { text: icons.none, style: "dim" };
  return [
    {
      title: "",
      gap: 1,
      cell: ({ state }) => ({ text: icons[JOB_LOOKS[state].icon], style: JOB_LOOKS[state].style }),
    },
    { title: "Name", cell: ({ job }) => job.name, min: 16 },
    { title: "Queue", cell: ({ job }) => job.queue, drop: 3, min: 12 },
    { title: "Priority", cell: ({ job }) => job.priority, align: "right", drop: 1 },
    { title: "Cron", cell: ({ job }) => (job.cron === null ? none : shortCron(job.cron)), drop: 4 },
    { title: "Last Run", cell: ({ job }) => lastRun(leases.get(job.name)) ?? lastOutcome(job) },
    { title: "Next Run", cell: (view) => nextRun(view) },
    { title: "Leased", cell: ({ job }) => leased(leases.get(job.name)), drop: 5, min: 15 },
    {
      title: "Fails",
      cell: ({ job: { fails } }) => (fails > 0 ? { text: String(fails), style: "red" } : fails),
      align: "right",
    },
    { title: "Seen", cell: ({ job }) => (job.seenAt ? ago(job.seenAt, now) : none), drop: 2 },
    {
      title: "Error",
      cell: ({ remark, isFailing }) => ({ text: remark ?? "", style: isFailing ? "red" : "yellow" }),
      min: 12,
    },
  ];

  function lastRun(lease: JobLease | undefined): TableCell {
    if (!lease) return null;
    const running = lease.startedAt ? duration(Number(now) - Number(lease.startedAt)) : "claimed";
    return { text: `${icons.running} ${running}`, style: "cyan" };
  }

  function lastOutcome({ lastOutcome, lastRun, lastFailure }: StatusJob): TableCell {
    if (lastOutcome === null) return none;
    if (lastOutcome === "completed") return `${icons.ok} ${ago(lastRun!, now)}`;
    // Failures recorded under schema 2 have no time.
    const when = lastFailure === null ? "failed" : ago(lastFailure, now);
    return { text: `${icons.failed} ${when}`, style: "red" };
  }

  function nextRun({ job, state, isLate, pausedUntil, waiting }: JobSummary): TableCell {
    const waits = job.waiting > 0 ? `${waiting} waiting` : none;
    if (state === "unknown") return waits;
    if (state === "paused") {
      const until = pausedUntil ? `${icons.arrow}${roughly(pausedUntil, now, page.zone)}` : "";
      return { text: `paused${until}`, style: "dim" };
    }
    if (job.nextRun) {
      const next = due(job.nextRun, now);
      return isLate ? { text: next, style: "yellow" } : next;
    }
    return waits;
  }

  function leased(lease: JobLease | undefined): TableCell {
    if (!lease) return none;
    const left = lease.until === null ? "" : Number(lease.until) - Number(now);
    const time = left === "" ? "" : left > 0 ? ` ${span(left)}` : " ended";
    return `${lease.worker}${time}${lease.others > 0 ? ` +${lease.others}` : ""}`;
  }
}

/** Drops a seconds field of 0: `0 30 2 * * *` becomes `30 2 * * *`. */
export function shortCron(cron: string): string {
  return cron.replace(/^0 (?=(\S+ ){4}\S+$)/, "");
}

type Queue = StatusReport["queues"][number];

/** In which order runs of a queue start; empty: by priority and due time. */
export function orderText({ fair, patience }: Queue): string {
  const words = [fair ? "fair" : "", patience === null ? "" : `patience ${span(patience)}`];
  return words.filter((word) => word !== "").join(", ");
}

/** Columns of `list queues` and `status --queues`. */
export function queueColumns({ queues, workers, now }: StatusReport, page: Page): Column<Queue>[] {
  const { icons } = page;
  const serving = (name: string) => workers.filter((worker) => isClaiming(worker) && serves(worker, name));
  return [
    {
      title: "",
      gap: 1,
      cell: (queue) => {
        const { name, paused, running } = queue;
        if (paused) return { text: icons.paused, style: "dim" };
        if (waitingIn(queue) > 0 && serving(name).length === 0) return { text: icons.late, style: "yellow" };
        return running > 0 ? { text: icons.running, style: "cyan" } : { text: icons.idle, style: "green" };
      },
    },
    { title: "Queue", cell: ({ name }) => name, min: 12 },
    {
      title: "State",
      cell: ({ paused, pausedUntil }) =>
        !paused ? "open" : `paused${pausedUntil ? ` until ${moment(pausedUntil, now, page.zone)}` : ""}`,
    },
    { title: "Ready", cell: ({ ready, capped }) => `${grouped(ready)}${capped ? "+" : ""}`, align: "right" },
    {
      title: "Oldest",
      cell: ({ oldest }) => (oldest ? span(Number(now) - Number(oldest)) : icons.none),
      align: "right",
    },
    { title: "Running", cell: ({ running }) => grouped(running), align: "right" },
    { title: "Limit", cell: ({ limit }) => (limit === 0 ? icons.none : grouped(limit)), align: "right" },
    // Most databases have no such queue: these columns would be empty.
    ...(queues.some(({ rate }) => rate !== null)
      ? [{ title: "Rate", cell: ({ rate }: Queue) => (rate ? rateText(rate) : icons.none) }]
      : []),
    ...(queues.some((queue) => orderText(queue) !== "")
      ? [{ title: "Order", cell: (queue: Queue) => orderText(queue) || icons.none, drop: 1 }]
      : []),
    {
      title: "Scheduled",
      cell: ({ scheduled, due }) => `${grouped(scheduled)}${due > 0 ? ` (${grouped(due)} due)` : ""}`,
      align: "right",
      drop: 1,
    },
    { title: "Workers", cell: ({ name }) => serving(name).length, align: "right", drop: 2 },
  ];
}

type Worker = StatusReport["workers"][number];

/** Columns of `list workers` and `status --workers`. */
export function workerColumns({ now }: StatusReport, page: Page): Column<Worker>[] {
  return [
    { title: "Worker", cell: ({ host, pid }) => `${host}:${pid}`, min: 16 },
    { title: "Id", cell: ({ id }) => id, drop: 1 },
    { title: "State", cell: workerState },
    { title: "Parallel", cell: ({ parallel }) => parallel, align: "right" },
    { title: "Queues", cell: queueSelectionText, min: 12 },
    { title: "Ticks", cell: ({ schedules }) => (schedules ? "yes" : "no"), drop: 3 },
    { title: "Started", cell: ({ startedAt }) => stamp(startedAt, page.zone), drop: 2 },
    { title: "Seen", cell: ({ seenAt }) => ago(seenAt, now) },
  ];
}

/** `working`, `paused`, `stopping`; a request that the worker has not obeyed; `dispatches` if it executes nothing. */
export function workerState(worker: Worker): string {
  const { parallel, facts, request } = worker;
  if (parallel === 0) return "dispatches";
  if (request !== null && !obeys(worker))
    return facts?.activity === undefined
      ? `${request.action} ignored (old version)`
      : `${request.action} requested`;
  return facts?.activity ?? "working";
}

type QueueSettings = Pick<StatusReport["workers"][number], "queues" | "exceptQueues" | "weights">;

/** `all`, `emails, reports*2`, `all but bulk, reports*2` */
export function queueSelectionText({ queues, exceptQueues, weights }: QueueSettings): string {
  const weighed = Object.entries(weights ?? {}).map(([name, weight]) => `${name}*${weight}`);
  if (queues !== null) {
    const plain = queues.filter((name) => !Object.hasOwn(weights ?? {}, name));
    return [...plain, ...weighed].join(", ");
  }
  const all = exceptQueues.length === 0 ? "all" : `all but ${exceptQueues.join(", ")}`;
  return weighed.length === 0 ? all : `${all}; ${weighed.join(", ")}`;
}
