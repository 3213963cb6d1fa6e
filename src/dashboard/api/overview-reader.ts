import { describeCron } from "../../schedule/cron-words.ts";
import { digest } from "../../schedule/schedule.ts";
import { healthOf } from "../../status/health.ts";
import type { ScheduleInfo, StatusReport } from "../../status/report.ts";
import type { Trend } from "../../status/trend.ts";
import { SECOND } from "../../time.ts";
import { CachedValue } from "./cached-value.ts";
import type { HealthView, NextTick, Overview } from "./contract.ts";
import type { Services } from "./services.ts";
import { attentionTo } from "./views/attention.ts";
import { toQueueView } from "./views/queue.ts";
import { scheduleConditions } from "./views/schedule-state.ts";
import { iso, isoOrNull } from "./views/times.ts";

/** Next ticks on the overview. */
const MOST_TICKS = 8;

/** Hours of a day, in points of the trend of a week. */
const DAY_POINTS = 24;

/** Reads the overview: one status per call; slower facts are kept for some seconds. */
export class OverviewReader {
  readonly #services: Services;
  readonly #week: CachedValue<Trend>;
  readonly #schedules: CachedValue<ScheduleInfo[]>;

  constructor(services: Services) {
    const { clock, reports } = services;
    this.#services = services;
    this.#week = new CachedValue(clock, 30 * SECOND, () => reports.trend({ over: "7d" }));
    this.#schedules = new CachedValue(clock, 5 * SECOND, () => reports.schedules());
  }

  /** Returns the overview; callers within a second share one. */
  read(): Promise<Overview> {
    return this.#services.reads.get("overview", () => this.#read());
  }

  async #read(): Promise<Overview> {
    const { reports, settings, trends } = this.#services;
    const { redaction } = settings;
    const report = await reports.status();
    const [newest, queueTrends, schedules, week] = await Promise.all([
      reports.storedRuns({ limit: 1 }),
      trends.queues.get(),
      this.#schedules.get(),
      // Read again at once after a failure, so that the tile does not contradict the list below it.
      this.#week.get(latest(report.jobs.map(({ lastFailure }) => lastFailure))?.getTime() ?? null),
    ]);
    const health = healthOf(report);
    return {
      now: iso(report.now),
      health: toHealthView({ ...health, sentences: health.sentences.map((one) => redaction.text(one)) }),
      tiles: toTiles(report, schedules, week),
      attention: attentionTo(report, redaction),
      queues: report.queues.map((queue) => toQueueView(queue, report, queueTrends.get(queue.name))),
      nextTicks: nextTicks(schedules, report),
      version: versionOf(report, newest.runs[0]?.id ?? 0),
    };
  }
}

function toHealthView({ level, sentences, hints }: ReturnType<typeof healthOf>): HealthView {
  return { level, sentences, commands: hints };
}

function toTiles(report: StatusReport, schedules: ScheduleInfo[], week: Trend): Overview["tiles"] {
  const { queues, workers, capped } = report;
  const live = workers.filter(({ parallel }) => parallel > 0);
  const sum = (name: "running" | "ready" | "scheduled") =>
    queues.reduce((total, queue) => total + queue[name], 0);
  const conditions = schedules.map(scheduleConditions(report));
  const isOn = (index: number) => conditions[index] === "active" || conditions[index] === "late";
  return {
    running: { runs: sum("running"), slots: live.reduce((total, { parallel }) => total + parallel, 0) },
    waiting: {
      ready: { value: sum("ready"), capped },
      scheduled: { value: sum("scheduled"), capped: capped && sum("scheduled") > 0 },
      oldest: isoOrNull(earliest(queues.map(({ oldest }) => oldest))),
    },
    failed: { ...failures(week), jobs: report.jobs.filter(({ fails }) => fails > 0).length },
    schedules: {
      active: schedules.filter((_, index) => isOn(index)).length,
      paused: conditions.filter((one) => one === "paused").length,
      late: conditions.filter((one) => one === "late").length,
      next: isoOrNull(earliest(schedules.map(({ nextTick }, index) => (isOn(index) ? nextTick : null)))),
    },
    workers: {
      live: live.length,
      silent: report.silent.length,
      lastHeartbeat: isoOrNull(latest(live.map(({ seenAt }) => seenAt))),
    },
  };
}

/** Returns the failed runs of the last 24 hours and of the 24 hours before, to the hour. */
function failures({ points }: Trend): { last24h: number; before: number; rate: number | null } {
  const count = (from: number, to: number | undefined, name: "failed" | "completed") =>
    points.slice(from, to).reduce((total, { counts }) => total + counts[name], 0);
  const last24h = count(-DAY_POINTS, undefined, "failed");
  const ended = last24h + count(-DAY_POINTS, undefined, "completed");
  return {
    last24h,
    before: count(-2 * DAY_POINTS, -DAY_POINTS, "failed"),
    rate: ended === 0 ? null : last24h / ended,
  };
}

function nextTicks(schedules: ScheduleInfo[], report: StatusReport): NextTick[] {
  const conditionOf = scheduleConditions(report);
  return schedules
    .filter((schedule) => ["active", "late"].includes(conditionOf(schedule)))
    .sort((a, b) => Number(a.nextTick) - Number(b.nextTick))
    .slice(0, MOST_TICKS)
    .map((schedule) => ({
      scheduleId: schedule.id,
      job: schedule.job,
      words: describeCron(schedule),
      timezone: schedule.timezone,
      at: iso(schedule.nextTick!),
    }));
}

/** Changes when runs were dispatched (the newest id), started (counts) or finished (counts and last attempts). */
function versionOf({ queues, jobs }: StatusReport, newest: number): string {
  const facts = [
    newest,
    queues.map(({ name, ready, scheduled, running, oldest }) => [name, ready, scheduled, running, oldest]),
    jobs.map(({ name, running, waiting, lastRun, lastFailure, fails }) => [
      name,
      running,
      waiting,
      lastRun,
      lastFailure,
      fails,
    ]),
  ];
  return digest(JSON.stringify(facts)).toString(36);
}

function earliest(dates: (Date | null)[]): Date | null {
  return dates.reduce((first, date) => (date && (!first || date < first) ? date : first), null);
}

function latest(dates: (Date | null)[]): Date | null {
  return dates.reduce((last, date) => (date && (!last || date > last) ? date : last), null);
}
