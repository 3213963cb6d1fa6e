import type { RateInfo } from "../status/rates.ts";
import type { QueueReport, ScheduleInfo, StatusReport } from "../status/report.ts";
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
      ...queues.flatMap((queue) => depthOf(queue.name, [queue])),
      ...(status.queues.length > cap ? depthOf(OTHERS, status.queues.slice(cap)) : []),
    ]),
    gauge(
      "queue_oldest_age_seconds",
      "Time since the oldest run of a queue that has not begun was due.",
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

/** Returns the gauges of rates. Rates by key have no series of their own: there may be very many keys. */
export function rateGauges(rates: RateInfo[], now: Date, cap: number): Family[] {
  const listed = rates.filter(({ key }) => key === null).slice(0, cap);
  const labels = ({ job, queue, name }: RateInfo): Record<string, string> => {
    if (name !== undefined) return { limit: name };
    return job === null ? { queue: queue! } : { job };
  };
  const samples = (value: (rate: RateInfo) => number) =>
    listed.map((rate) => ({ labels: labels(rate), value: value(rate) }));
  if (listed.length === 0) return [];
  return [
    gauge(
      "rate_limit",
      "Starts that a rate admits in its time.",
      samples(({ limit }) => limit),
    ),
    gauge(
      "rate_spent",
      "Starts within the time of a rate until now.",
      samples(({ spent }) => spent),
    ),
    gauge(
      "rate_opens_seconds",
      "Time until a rate admits the next start; 0: it is open.",
      samples(({ opensAt }) => (opensAt ? Math.max(0, Number(opensAt) - Number(now)) / 1000 : 0)),
    ),
  ];
}

export function gauge(name: string, help: string, samples: Sample[]): Family {
  return { name: `punctual_${name}`, type: "gauge", help, samples };
}

/** The depth of some queues together. Each run counts once: `scheduled` is without the runs that are due. */
function depthOf(name: string, queues: QueueReport[]): Sample[] {
  const sum = (of: (queue: QueueReport) => number) => queues.reduce((total, queue) => total + of(queue), 0);
  const counts = {
    ready: sum(({ ready }) => ready),
    due: sum(({ due }) => due),
    scheduled: sum(({ scheduled, due }) => scheduled - due),
    running: sum(({ running }) => running),
  };
  return Object.entries(counts).map(([state, value]) => ({ labels: { queue: name, state }, value }));
}
