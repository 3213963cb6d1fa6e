import { PunctualError } from "../../errors.ts";
import type { RecentTicks } from "../../operate/reports.ts";
import { ticksOf } from "../../schedule/next-ticks.ts";
import { type Misfire, Schedule, type ScheduleParts } from "../../schedule/schedule.ts";
import type { ScheduleInfo } from "../../status/report.ts";
import { span } from "../../status/why.ts";
import type { ScheduleDetail, SchedulesResponse, ScheduleView } from "./contract.ts";
import type { Services } from "./services.ts";
import { forecastTicks } from "./tick-forecast.ts";
import { toJsonText } from "./views/json-text.ts";
import { scheduleConditions, toScheduleViews } from "./views/schedule.ts";
import { iso } from "./views/times.ts";

const UPCOMING = 10;

/** Schedules of one call of `recentTicks()`. */
const GROUP = 200;

/** Schedules whose last ticks are read; of the others the results are not shown. */
const MOST_WITH_TICKS = 1000;

/** Returns the views of schedules, by job and id. */
export async function readSchedules(
  services: Services,
  isWanted: (schedule: ScheduleInfo) => boolean = () => true,
): Promise<ScheduleView[]> {
  const [report, all] = await Promise.all([services.status(), services.schedules()]);
  const schedules = all.filter(isWanted);
  return toScheduleViews(schedules, await recentTicks(services, schedules), report);
}

export async function readScheduleList(services: Services): Promise<SchedulesResponse> {
  const [items, report, all] = await Promise.all([
    readSchedules(services),
    services.status(),
    services.schedules(),
  ]);
  const conditionOf = scheduleConditions(report);
  const active = all.filter((schedule) => ["active", "late"].includes(conditionOf(schedule)));
  return { items, hours: forecastTicks(active, Number(report.now)) };
}

/** Reads one schedule. Throws UNKNOWN_SCHEDULE. */
export async function readSchedule(services: Services, id: number): Promise<ScheduleDetail> {
  const schedule = (await services.schedules()).find((one) => one.id === id);
  if (!schedule) throw new PunctualError("UNKNOWN_SCHEDULE", `There is no schedule ${id}.`);
  const [[view], report] = await Promise.all([
    readSchedules(services, (one) => one.id === id),
    services.status(),
  ]);
  const { redaction } = services.settings;
  const { args } = schedule;
  const json = args === undefined ? null : JSON.stringify(args);
  const parts = partsOf(services, schedule);
  return {
    ...view!,
    upcoming: upcomingOf(schedule, parts, Number(report.now)),
    args: toJsonText(json, redaction),
    misfires: parts ? misfiresOf(parts.misfire) : null,
    commands: {
      run: `punctual schedule run ${id}`,
      pause: `punctual pause schedule ${id}`,
      resume: `punctual resume schedule ${id}`,
    },
  };
}

async function recentTicks({ reports }: Services, schedules: readonly ScheduleInfo[]): Promise<RecentTicks> {
  const ids = schedules.slice(0, MOST_WITH_TICKS).map(({ id }) => id);
  const found: RecentTicks = { ticks: new Map(), partial: [] };
  for (let from = 0; from < ids.length; from += GROUP) {
    const { ticks, partial } = await reports.recentTicks(ids.slice(from, from + GROUP));
    for (const [id, of] of ticks) found.ticks.set(id, of);
    found.partial = found.partial.concat(partial);
  }
  return found;
}

/** Returns the definition of a schedule, if this process has it: windows and bounds are only there. */
function partsOf(services: Services, { job, cron, timezone }: ScheduleInfo): ScheduleParts | null {
  const schedules = services.definition(job)?.schedules() ?? [];
  return schedules.find(({ parts }) => parts.cron === cron && parts.timezone === timezone)?.parts ?? null;
}

function upcomingOf(
  { cron, timezone, nextTick }: ScheduleInfo,
  parts: ScheduleParts | null,
  now: number,
): ScheduleDetail["upcoming"] {
  if (nextTick === null) return [];
  const schedule = parts && new Schedule(parts);
  const next = schedule ? { next: (after: number) => schedule.next(after) } : {};
  try {
    const ticks = ticksOf({ cron, timezone, ...next }, now + 1, UPCOMING);
    return ticks.map(({ at, local, note }) => ({ at: iso(at), local, note }));
  } catch {
    // A later version wrote syntax that is unknown here.
    return [];
  }
}

function misfiresOf({ policy, limit, within }: Misfire): string {
  const bound = within === null ? "" : `, if it is at most ${span(within)} late`;
  switch (policy) {
    case "once":
      return `The latest missed tick is made up${bound}.`;
    case "skip":
      return "Missed ticks are skipped.";
    case "all":
      return `Missed ticks are made up, at most ${limit}${bound}.`;
  }
}
