import type { Punctual } from "../../../punctual.ts";
import { Schedule, type ScheduleParts } from "../../../schedule/schedule.ts";
import type { ScheduleInfo, StatusReport } from "../../../status/report.ts";
import { systemClock } from "../../../time.ts";
import type { Cli } from "../../cli.ts";
import { didYouMean } from "../../input/names.ts";
import { missingFile } from "../../load/database.ts";
import { plain } from "../../output/output.ts";
import type { TickingSchedule } from "../../views/schedule-columns.ts";

/** Returns the schedules of the job files that tick in an environment, with their rows of the database. */
export async function inEnvironment(
  cli: Cli,
  environment: string,
): Promise<{ schedules: TickingSchedule[]; status: Pick<StatusReport, "jobs" | "now" | "workers"> }> {
  const jobs = await cli.load("keep-going");
  // A query would create a missing SQLite file.
  const asks = missingFile(await cli.database()) === null;
  const known = asks ? await jobs.schedules() : [];
  const status = asks ? await jobs.status() : { jobs: [], workers: [], now: new Date(systemClock.now()) };
  const schedules = jobs.definitions().flatMap((definition) =>
    definition.schedulesIn(environment).map(({ parts, environments }) => ({
      ...(take(known, parts) ?? notYet(parts, status.now)),
      environments,
    })),
  );
  warnAboutTypo(cli, jobs, environment);
  return { schedules, status };
}

/** Removes and returns the row of a schedule of the files; null: no row has the same settings. */
function take(known: ScheduleInfo[], parts: ScheduleParts): ScheduleInfo | null {
  const at = known.findIndex(
    (one) =>
      one.job === parts.job &&
      one.cron === parts.cron &&
      one.timezone === parts.timezone &&
      one.queue === parts.queue &&
      (JSON.stringify(one.args) ?? null) === parts.args,
  );
  return at < 0 ? null : known.splice(at, 1)[0]!;
}

/** Returns the values that a worker will insert for a schedule that has no row yet. */
function notYet(parts: ScheduleParts, now: Date): Omit<TickingSchedule, "environments"> {
  const { job, cron, timezone, queue, args } = parts;
  const next = new Schedule(parts).next(now.getTime());
  return {
    id: null,
    job,
    cron,
    timezone,
    args: args === null ? undefined : JSON.parse(args),
    queue,
    lastTick: null,
    nextTick: next === null ? null : new Date(next),
    missed: 0,
    paused: false,
    pause: null,
  };
}

/** Warns about a name similar to a known environment: every name is valid, so a typo only finds fewer schedules. */
function warnAboutTypo({ output }: Cli, jobs: Punctual, environment: string): void {
  const named = new Set(jobs.definitions().flatMap(({ plan }) => plan.bounds.environments ?? []));
  if (named.has(environment)) return;
  const hint = didYouMean(environment, named);
  if (hint !== "") output.note(`No schedule names the environment "${plain(environment)}".${plain(hint)}`);
}
