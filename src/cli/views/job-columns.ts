import type { Style } from "../output/output.ts";
import type { Icons } from "../render/icons.ts";
import type { Page } from "../render/page.ts";
import type { Cell, Column } from "../render/table.ts";
import { ago, due, duration, roughly, span } from "../render/times.ts";
import type { JobState, JobView, StatusJob } from "./job-state.ts";
import type { JobLease } from "./leases.ts";

export const JOB_LOOKS: Record<JobState, { icon: keyof Icons; style: Style }> = {
  idle: { icon: "idle", style: "green" },
  running: { icon: "running", style: "cyan" },
  failing: { icon: "failed", style: "red" },
  late: { icon: "late", style: "yellow" },
  paused: { icon: "paused", style: "dim" },
  unknown: { icon: "unknown", style: "dim" },
};

/** The table of `status`: one line for each job. */
export function jobColumns(leases: ReadonlyMap<string, JobLease>, now: Date, page: Page): Column<JobView>[] {
  const { icons } = page;
  const none: Cell = { text: icons.none, style: "dim" };
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

  function lastRun(lease: JobLease | undefined): Cell {
    if (!lease) return null;
    const running = lease.startedAt ? duration(Number(now) - Number(lease.startedAt)) : "claimed";
    return { text: `${icons.running} ${running}`, style: "cyan" };
  }

  function lastOutcome({ lastOutcome, lastRun, lastFailure }: StatusJob): Cell {
    if (lastOutcome === null) return none;
    if (lastOutcome === "completed") return `${icons.ok} ${ago(lastRun!, now)}`;
    // Failures recorded under schema 2 have no time.
    const when = lastFailure === null ? "failed" : ago(lastFailure, now);
    return { text: `${icons.failed} ${when}`, style: "red" };
  }

  function nextRun({ job, state, isLate, pausedUntil, waiting }: JobView): Cell {
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

  function leased(lease: JobLease | undefined): Cell {
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
