import type { Punctual } from "../../../punctual.ts";
import type { JsonValue } from "../../../run/payload.ts";
import { redact } from "../../../run/redact.ts";
import { describeCron } from "../../../schedule/cron.ts";
import { shellQuote } from "../../../status/hints.ts";
import { isOverdue, type ScheduleInfo, type StatusReport, undefinedTimes } from "../../../status/report.ts";
import { wholeNumber } from "../../input/arguments.ts";
import { didYouMean } from "../../input/names.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import type { TickingSchedule } from "../../views/schedule-columns.ts";

/** A schedule with its description and state. */
export type ScheduleSummary<Schedule> = Schedule & {
  words: string;
  /** Whether the schedule or its job is paused. */
  paused: boolean;
  late: boolean;
  /** False: no live worker defines its job, so it does not tick. */
  defined: boolean;
};

export function scheduleViews<Schedule extends TickingSchedule>(
  all: readonly Schedule[],
  status: Pick<StatusReport, "jobs" | "now" | "workers">,
): ScheduleSummary<Schedule>[] {
  const { jobs, now } = status;
  const unseenFor = undefinedTimes(status);
  const undefinedJobs = new Set(jobs.filter((job) => unseenFor(job) !== null).map(({ name }) => name));
  const pausedJobs = new Set(jobs.filter(({ paused }) => paused).map(({ name }) => name));
  return all.map((schedule) => {
    const paused = schedule.paused || pausedJobs.has(schedule.job);
    const { nextTick } = schedule;
    const defined = !undefinedJobs.has(schedule.job);
    const late = defined && !paused && nextTick !== null && isOverdue(nextTick, now);
    return { ...withoutSecrets(schedule), words: describeCron(schedule), paused, late, defined };
  });
}

export function withoutSecrets<Schedule extends { args: ScheduleInfo["args"] }>(
  schedule: Schedule,
): Schedule {
  return { ...schedule, args: redact(schedule.args) as JsonValue | undefined };
}

/** Returns the schedules of a job, or the schedule with this id. Throws if there is none. */
export async function findSchedules(jobs: Punctual, what: string): Promise<ScheduleInfo[]> {
  const all = await jobs.schedules();
  const found = all.filter(({ job }) => job === what);
  if (found.length > 0) return found;
  const number = wholeNumber(what);
  const byId = all.filter(({ id }) => id === number);
  if (byId.length > 0) return byId;
  const { jobs: known } = await jobs.status();
  if (known.some(({ name }) => name === what)) {
    throw new Exit(
      exitCodes.notFound,
      `Job "${what}" has no schedule. To run it now: punctual dispatch ${shellQuote(plain(what))}`,
    );
  }
  throw new Exit(
    exitCodes.notFound,
    /^\d+$/.test(what)
      ? `There is no schedule ${what}, and no job of this name. To list all: punctual schedule list`
      : `There is no schedule of a job "${what}".${didYouMean(what, new Set(all.map(({ job }) => job)))} To list all: punctual schedule list`,
  );
}
