import type { ScheduleInfo, StatusReport } from "../status/report.ts";
import { OTHERS } from "./instruments.ts";
import type { Family, Sample } from "./prometheus.ts";

/** Returns the gauges that come from the database, for at most `cap` jobs, queues and schedules. */
export function statusGauges(status: StatusReport, schedules: ScheduleInfo[], cap: number): Family[] {
  const { now, jobs, workers } = status;
  const queues = status.queues.slice(0, cap);
  const listed = schedules.slice(0, cap);
  const seconds = (date: Date) => date.getTime() / 1000;
  const ofSchedule = ({ id, job }: ScheduleInfo) => ({ schedule: String(id), job });
  const lastSuccess = new Map(jobs.map(({ name, lastRun }) => [name, lastRun]));
  // A worker with `parallel` 0 executes nothing: it only shows that the owner of ad hoc runs is alive.
  const working = workers.filter(({ parallel }) => parallel > 0);
  const slots = working.reduce((sum, { parallel }) => sum + parallel, 0);
  const busy = status.queues.reduce((sum, { running }) => sum + running, 0);
  return [
    gauge("queue_depth", "Runs of a queue that are not finished, by state.", [
      ...queues.flatMap(({ name: queue, ready, scheduled, running }) => [
        { labels: { queue, state: "ready" }, value: ready },
        { labels: { queue, state: "scheduled" }, value: scheduled },
        { labels: { queue, state: "running" }, value: running },
      ]),
      ...sumOfOthers(status.queues.slice(cap)),
    ]),
    gauge(
      "queue_oldest_age_seconds",
      "Time since the oldest ready run of a queue was due.",
      queues.map(({ name: queue, oldest }) => ({
        labels: { queue },
        value: oldest === null ? 0 : Math.max(0, seconds(now) - seconds(oldest)),
      })),
    ),
    gauge(
      "queue_paused",
      "1 while a queue is paused.",
      queues.map(({ name: queue, paused }) => ({ labels: { queue }, value: paused ? 1 : 0 })),
    ),
    gauge("workers", "Live workers, in all processes.", [{ labels: {}, value: working.length }]),
    gauge("worker_slots", "Concurrent runs that all live workers together allow.", [
      { labels: { state: "busy" }, value: Math.min(busy, slots) },
      { labels: { state: "free" }, value: Math.max(0, slots - busy) },
    ]),
    gauge(
      "job_consecutive_failures",
      "Failed attempts of a job since its last success.",
      jobs.slice(0, cap).map(({ name: job, fails }) => ({ labels: { job }, value: fails })),
    ),
    gauge(
      "schedule_last_success_timestamp_seconds",
      "When the job of a schedule last completed.",
      listed.flatMap((one) => {
        const at = lastSuccess.get(one.job);
        return at ? [{ labels: ofSchedule(one), value: seconds(at) }] : [];
      }),
    ),
    gauge(
      "schedule_next_timestamp_seconds",
      "Next tick of a schedule; a time in the past means that it is late.",
      listed.flatMap((one) =>
        one.nextTick === null || one.paused
          ? []
          : [{ labels: ofSchedule(one), value: seconds(one.nextTick) }],
      ),
    ),
    {
      ...gauge(
        "schedule_missed_total",
        "Ticks of a schedule for which no run was created.",
        listed.map((one) => ({ labels: ofSchedule(one), value: one.missed })),
      ),
      type: "counter",
    },
  ];
}

export function gauge(name: string, help: string, samples: Sample[]): Family {
  return { name: `punctual_${name}`, type: "gauge", help, samples };
}

function sumOfOthers(queues: StatusReport["queues"]): Sample[] {
  if (queues.length === 0) return [];
  return (["ready", "scheduled", "running"] as const).map((state) => ({
    labels: { queue: OTHERS, state },
    value: queues.reduce((sum, queue) => sum + queue[state], 0),
  }));
}
