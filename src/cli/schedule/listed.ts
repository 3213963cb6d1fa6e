import type { ScheduleInfo } from "../../run/control.ts";
import type { JsonValue } from "../../run/payload.ts";
import type { StatusReport } from "../../run/report.ts";
import { redact } from "../redact.ts";
import { inWords, type TickingSchedule } from "../views/schedule-columns.ts";

/** A tick that is late by no more than this is about to come: workers take it for punctual too. */
const GRACE = 10_000;

/** A schedule as it is told, to people and to programs. */
export type Listed<Schedule> = Schedule & {
  words: string;
  /** By itself, or because its job is. */
  paused: boolean;
  late: boolean;
};

export function listed<Schedule extends TickingSchedule>(
  all: readonly Schedule[],
  { jobs, now }: Pick<StatusReport, "jobs" | "now">,
): Listed<Schedule>[] {
  const pausedJobs = new Set(jobs.filter(({ paused }) => paused).map(({ name }) => name));
  return all.map((schedule) => {
    const paused = schedule.paused || pausedJobs.has(schedule.job);
    const { nextTick } = schedule;
    const late = !paused && nextTick !== null && nextTick.getTime() < now.getTime() - GRACE;
    return { ...withoutSecrets(schedule), words: inWords(schedule), paused, late };
  });
}

export function withoutSecrets<Schedule extends { args: ScheduleInfo["args"] }>(
  schedule: Schedule,
): Schedule {
  return { ...schedule, args: redact(schedule.args) as JsonValue | undefined };
}
