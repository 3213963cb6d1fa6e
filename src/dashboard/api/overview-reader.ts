import type { Outcome } from "../../run/states.ts";
import { describeCron } from "../../schedule/cron.ts";
import { digest } from "../../schedule/schedule.ts";
import { healthOf } from "../../status/health.ts";
import type { ScheduleInfo, StatusReport } from "../../status/report.ts";
import type { Trend } from "../../status/trend.ts";
import { SECOND } from "../../time.ts";
import { CachedValue } from "./cached-value.ts";
import type { Count, HealthView, NextTick, Overview } from "./contract.ts";
import type { Services } from "./services.ts";
import { attentionTo } from "./views/attention.ts";
import { toQueueView } from "./views/queue.ts";
import { toCount } from "./views/run-summary.ts";
import { scheduleConditions } from "./views/schedule.ts";
import { iso, isoOrNull } from "./views/times.ts";
import { toVersions } from "./views/versions.ts";

/** Next ticks on the overview. */
const MOST_TICKS = 8;

/** Hours of a day, in points of the trend of a week. */
const DAY_POINTS = 24;

/** The list to which the figure of failed runs leads. */
const FAILED_RUNS = "state:failed after:24h";

/** Reads the overview: one status per call; slower facts are kept for some seconds. */
export class OverviewReader {
  readonly #services: Services;
  readonly #week: CachedValue<Trend>;
  readonly #failedRuns: CachedValue<Count>;
  readonly #schedules: CachedValue<ScheduleInfo[]>;

  constructor(services: Services) {
    const { clock, reports } = services;
    this.#services = services;
    this.#week = new CachedValue(clock, 30 * SECOND, () => reports.trend({ over: "7d" }));
    this.#failedRuns = new CachedValue(clock, 5 * SECOND, async () =>
      toCount(await reports.count(FAILED_RUNS)),
    );
    this.#schedules = new CachedValue(clock, 5 * SECOND, () => reports.schedules());
  }

  /** Returns the overview; callers within a second share one. */
  read(): Promise<Overview> {
    return this.#services.reads.get("overview", () => this.#read());
  }

  async #read(): Promise<Overview> {
    const { reports, settings, trends, inspection } = this.#services;
    const { redaction } = settings;
    const report = await reports.status();
    // Read again at once after a failure, so that the tile does not contradict the list below it.
    const failedAt = latest(report.jobs.map(({ lastFailure }) => lastFailure))?.getTime() ?? null;
    const [newest, queueTrends, schedules, found, week, failedRuns] = await Promise.all([
      reports.storedRuns({ limit: 1 }),
      trends.queues.get(),
      this.#schedules.get(),
      inspection.get(),
      this.#week.get(failedAt),
      this.#failedRuns.get(failedAt),
    ]);
    const health = healthOf(report);
    return {
      now: iso(report.now),
      health: toHealthView({ ...health, sentences: health.sentences.map((one) => redaction.text(one)) }),
      tiles: toTiles(report, schedules, failuresOf(week, failedRuns)),
      attention: attentionTo(report, redaction),
      queues: report.queues.map((queue) => toQueueView(queue, report, queueTrends.get(queue.name))),
      nextTicks: nextTicks(schedules, report),
      versions: toVersions(report, found),
      version: versionOf(report, newest.runs[0]?.id ?? 0),
    };
  }
}

function toHealthView({ level, sentences, hints }: ReturnType<typeof healthOf>): HealthView {
  return { level, sentences, commands: hints };
}

type Failures = Omit<Overview["tiles"]["failed"], "jobs">;

function toTiles(report: StatusReport, schedules: ScheduleInfo[], failures: Failures): Overview["tiles"] {
  const { queues, workers, capped } = report;
  const live = workers.filter(({ parallel }) => parallel > 0);
  const sum = (name: "running" | "ready" | "scheduled" | "due") =>
    queues.reduce((total, queue) => total + queue[name], 0);
  const conditions = schedules.map(scheduleConditions(report));
  const isOn = (index: number) => conditions[index] === "active" || conditions[index] === "late";
  return {
    running: { runs: sum("running"), slots: live.reduce((total, { parallel }) => total + parallel, 0) },
    waiting: {
      ready: { value: sum("ready"), capped },
      scheduled: { value: sum("scheduled"), capped: capped && sum("scheduled") > 0 },
      due: { value: sum("due"), capped: queues.some((queue) => queue.due > 0 && queue.capped) },
      oldest: isoOrNull(earliest(queues.map(({ oldest }) => oldest))),
    },
    failed: {
      ...failures,
      jobs: report.jobs.filter(({ fails, mute }) => fails > 0 && mute === null).length,
    },
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

/** Attempts are counted to the hour. */
function failuresOf({ points }: Trend, runs: Count): Failures {
  const sum = (from: number, to: number | undefined, ...names: Outcome[]) =>
    points
      .slice(from, to)
      .flatMap(({ counts }) => names.map((name) => counts[name]))
      .reduce((total, count) => total + count, 0);
  const ended = runs.value + sum(-DAY_POINTS, undefined, "completed");
  return {
    runs,
    rate: ended === 0 ? null : runs.value / ended,
    attempts: sum(-DAY_POINTS, undefined, "failed", "retried"),
    attemptsBefore: sum(-2 * DAY_POINTS, -DAY_POINTS, "failed", "retried"),
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
    queues.map(({ name, ready, scheduled, due, running, oldest }) => [
      name,
      ready,
      scheduled,
      due,
      running,
      oldest,
    ]),
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
