import type { Command } from "commander";
import { formatValue, PunctualError } from "../../../errors.ts";
import { Cron } from "../../../schedule/cron.ts";
import { type TickDetails, type TickSource, ticksOf } from "../../../schedule/next-ticks.ts";
import { Schedule } from "../../../schedule/schedule.ts";
import { systemClock } from "../../../time.ts";
import type { Cli } from "../../cli.ts";
import { instantIn, integer } from "../../input/arguments.ts";
import { openExisting } from "../../load/database.ts";
import { plain } from "../../output/output.ts";
import { findSchedules } from "./schedule-info.ts";

interface Options {
  count: number;
  tz?: string;
  from?: string;
}

/** A cron expression, or a schedule of the database. */
interface Source extends TickSource {
  id: number | null;
  job: string | null;
  paused: boolean;
  /** The next tick in the database; undefined: the database was not read. */
  nextTick?: Date | null;
}

/** Most ticks of one call. */
const MOST = 1000;

export function addNext(command: Command, cli: Cli): void {
  command
    .summary("show the next ticks of a job, or of a cron expression")
    .description("Show the next ticks of a job, or of a cron expression, which needs no database.")
    .argument("<job|cron>", 'a job, the id of a schedule, or an expression such as "30 2 * * *"')
    .option("-n, --count <n>", "how many", integer(1, MOST), 5)
    .option("--tz <zone>", "the zone of the expression, the same as --timezone (default: UTC)")
    .option("--from <time>", "from this moment on, such as 2027-03-27 (default: now)")
    .action(async (what: string, given: Options) => {
      const options = { ...given, ...zoneIn(cli, given) };
      const sources = isCron(what) ? [expression(what, options)] : await ofJob(cli, what, options);
      const shown = sources.map((source) => ({ source, ticks: ticksFrom(source, options) }));
      if (cli.output.isJson) {
        cli.output.json({ schedules: shown.map(({ source, ticks }) => toJson(source, ticks)) });
      } else {
        for (const [index, one] of shown.entries()) {
          if (index > 0) cli.output.print();
          print(cli, one.source, one.ticks, shown.length > 1);
        }
      }
    });
}

/** Returns the zone of `--tz` or `--timezone`. Throws if they differ. */
function zoneIn({ globals: { timezone } }: Cli, { tz }: Options): Pick<Options, "tz"> {
  if (tz !== undefined && timezone !== undefined && tz !== timezone) {
    throw new PunctualError(
      "INVALID_OPTION",
      `--tz ${tz} and --timezone ${timezone} are the same option here. Leave one of them out.`,
    );
  }
  const zone = tz ?? timezone;
  return zone === undefined ? {} : { tz: zone };
}

function print(cli: Cli, source: Source, ticks: TickDetails[], several: boolean): void {
  const { output } = cli;
  const { id, job, cron, timezone, paused } = source;
  const words = new Cron(cron, { timezone }).describe();
  if (job !== null) {
    const title = `${plain(job)}  ${plain(cron)}  ${plain(timezone)}${several ? `  (schedule ${id})` : ""}`;
    output.print(output.paint("bold", title));
  }
  output.note(output.paint("dim", words, output.stderr));
  for (const line of tickLines(ticks, timezone)) output.print(line);
  if (ticks.length === 0) output.note("The schedule does not tick again.");
  if (paused) output.note("The schedule is paused: it does not tick until it is resumed.");
  const first = ticks[0]?.at.getTime();
  if (source.nextTick === null) output.note("According to the database, the schedule does not tick again.");
  else if (source.nextTick !== undefined && first !== undefined && source.nextTick.getTime() > first) {
    output.note(
      `The definition restricts these ticks (between(), startingAt() and the like): the next one is ${source.nextTick.toISOString()}.`,
    );
  }
}

function toJson({ id, job, cron, timezone, paused }: Source, ticks: TickDetails[]): object {
  const normal = new Cron(cron, { timezone });
  return {
    id,
    job,
    cron: normal.toString(),
    timezone,
    words: normal.describe(),
    paused,
    ticks: ticks.map(({ at, local, change, note }) => ({ at, local, change: change?.kind ?? null, note })),
  };
}

/** Whether the text is a cron expression: a nickname, five or six words, or words that begin like cron fields. */
function isCron(text: string): boolean {
  const words = text.trim().split(/\s+/);
  return (
    text.trim().startsWith("@") ||
    words.length === 5 ||
    words.length === 6 ||
    words[0] === "" ||
    (words.every((word) => /^[\d*?]/.test(word)) && (words.length > 1 || /[*,/]/.test(text)))
  );
}

function expression(text: string, { tz = "UTC" }: Options): Source {
  const cron = new Cron(text, { timezone: tz });
  return { id: null, job: null, cron: cron.toString(), timezone: tz, paused: false };
}

async function ofJob(cli: Cli, what: string, { tz, from }: Options): Promise<Source[]> {
  if (tz !== undefined) {
    throw new PunctualError(
      "INVALID_OPTION",
      `--timezone is for a cron expression here; the schedules of a job have zones of their own. Leave it out, or give an expression in place of ${formatValue(what)}.`,
    );
  }
  // between(), startingAt() and the like are only in the code, not in the database.
  await cli.load();
  const jobs = await openExisting(cli);
  const found = await findSchedules(jobs, what);
  const defined = jobs
    .definitions()
    .flatMap((definition) => definition.schedules().map(({ parts }) => parts));
  return found.map(({ id, job, cron, timezone, paused, nextTick }) => {
    const parts = defined.find((one) => one.job === job && one.cron === cron && one.timezone === timezone);
    const schedule = parts && new Schedule(parts);
    return {
      id,
      job,
      cron,
      timezone,
      paused,
      ...(schedule && { next: (after: number) => schedule.next(after) }),
      ...(from === undefined && { nextTick }),
    };
  });
}

function ticksFrom(source: Source, { from, count }: Options): TickDetails[] {
  return ticksOf(
    source,
    from === undefined ? systemClock.now() + 1 : instantIn(source.timezone, from),
    count,
  );
}

/** Lines of one width, such as `Sun 2027-03-28 03:00 +02:00   01:00 UTC   …`. */
function tickLines(ticks: TickDetails[], timezone: string): string[] {
  const seconds = ticks.some(({ at }) => at.getUTCSeconds() !== 0);
  const clock = (text: string) => text.slice(11, seconds ? 19 : 16);
  const showsUtc = ticks.some(({ local }) => !local.endsWith("+00:00")) || timezone !== "UTC";
  const days = ticks.some(({ at, local }) => at.toISOString().slice(0, 10) !== local.slice(0, 10));
  return ticks.map(({ at, local, note }) => {
    const utc = at.toISOString();
    const day = new Intl.DateTimeFormat("en", { weekday: "short", timeZone: "UTC" });
    return [
      `${day.format(new Date(`${local.slice(0, 10)}T00:00:00Z`))} ${local.slice(0, 10)} ${clock(local)} ${local.slice(19)}`,
      ...(showsUtc ? [`${days ? `${utc.slice(0, 10)} ` : ""}${clock(utc)} UTC`] : []),
      ...(note === null ? [] : [note]),
    ].join("   ");
  });
}
