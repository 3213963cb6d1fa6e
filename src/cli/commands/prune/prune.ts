import type { Command } from "commander";
import type { PruneOptions } from "../../../operate/prune-options.ts";
import type { Punctual } from "../../../punctual.ts";
import { type FinishedState, finishedStates } from "../../../run/states.ts";
import { listCommand, queryQuote, shellQuote } from "../../../status/hints.ts";
import { UNDEFINED_AFTER } from "../../../status/report.ts";
import type { PruneForecast, PruneReport } from "../../../store/maintenance.ts";
import type { Duration } from "../../../time.ts";
import type { Cli } from "../../cli.ts";
import { among, duration, integer, name } from "../../input/arguments.ts";
import { confirm } from "../../input/ask.ts";
import { unknownJob } from "../../input/names.ts";
import { Interrupt } from "../../input/signals.ts";
import { openExisting } from "../../load/database.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { Bar } from "../../render/bar.ts";
import { counted, span } from "../../render/formats.ts";
import { checkVacuum, vacuum } from "./vacuum.ts";

interface Options {
  job?: string;
  olderThan?: Duration;
  keep?: number;
  state?: FinishedState[];
  days?: number;
  batch?: number;
  dryRun?: boolean;
  vacuum?: boolean;
}

/** A thousand years: a time further back could not be computed. */
const MOST_DAYS = 365_000;

export default function prune(command: Command, cli: Cli): void {
  command
    .description("Delete expired history, jobs that no worker defines any more, and runs that wait for them.")
    .option(
      "--older-than <duration>",
      "also finished runs older than this, whatever their job's retention, such as 14d",
      duration,
    )
    .option("--keep <n>", "keep the newest n finished runs of each job, whatever its retention", integer(0))
    .option(
      "--state <states>",
      "only finished runs in these states, such as completed,skipped",
      among(finishedStates),
    )
    .option("--days <n>", "jobs that no worker has defined for n days (default: 30)", integer(1, MOST_DAYS))
    .option(
      "--job <name>",
      "only this job, with its schedules and waiting runs, once no live worker defines it",
      name("a job"),
    )
    .option("--batch <n>", "rows per transaction (default: 1000)", integer(1))
    .option("--dry-run", "print the counts, and change nothing")
    .option("--vacuum", "shrink the file afterwards (SQLite)")
    .action(async (options: Options) => {
      const jobs = await openExisting(cli);
      const request = toRequest(options);
      if (options.vacuum) await checkVacuum(jobs);
      const total =
        cli.output.isQuiet && !options.job && !options.dryRun ? null : await jobs.countPrunable(request);
      if (options.job !== undefined && total!.jobs === 0) await refuseJob(jobs, options.job);
      if (options.dryRun) return printForecast(cli, total!);
      if (options.job !== undefined && total!.orphans > 0) {
        const waiting = counted(total!.orphans, "waiting run");
        await confirm(cli, `Delete the job "${plain(options.job)}" and ${waiting}?`);
      }
      const interrupt = new Interrupt();
      const bar = new Bar(cli.output.stderr, "Deleting", {
        total: total && !total.capped ? total.history : null,
      });
      let deleted: PruneReport;
      try {
        deleted = await jobs.prune({
          ...request,
          progress: ({ history }) => {
            if (!cli.output.isQuiet) bar.update(history);
            return !interrupt.came;
          },
        });
      } finally {
        bar.end();
        interrupt.done();
      }
      const freed = options.vacuum && !interrupt.came ? await vacuum(jobs) : null;
      tell(cli, deleted, interrupt.came, freed);
      interrupt.throwIfCame();
      if (options.job !== undefined && deleted.jobs === 0) {
        throw new Exit(
          exitCodes.refused,
          `The job "${plain(options.job)}" stays: it was dispatched or defined meanwhile. Stop the program that does so, and try again.`,
        );
      }
    });
}

/** Throws the reason why a job cannot be deleted. */
async function refuseJob(jobs: Punctual, name: string): Promise<void> {
  const status = await jobs.status();
  const found = status.jobs.find((job) => job.name === name);
  if (!found)
    throw unknownJob(
      name,
      status.jobs.map((job) => job.name),
    );
  const { seenAt, leasedUntil } = found;
  const shown = plain(name);
  if (seenAt !== null && Number(status.now) - Number(seenAt) <= UNDEFINED_AFTER) {
    throw new Exit(
      exitCodes.refused,
      `The job "${shown}" was defined within the last ${span(UNDEFINED_AFTER)}, so it was not deleted. Remove it from the code, restart the workers and try again ${span(UNDEFINED_AFTER)} later.`,
    );
  }
  const of = `job:${queryQuote(name)}`;
  throw new Exit(
    exitCodes.refused,
    leasedUntil !== null
      ? `The job "${shown}" has runs that have not ended, so it was not deleted: ${plain(listCommand(`${of} state:ready,running`))}`
      : `The job "${shown}" was dispatched within the last ${span(UNDEFINED_AFTER)}, and a worker may be about to define it, so it was not deleted. Try again ${span(UNDEFINED_AFTER)} later, or withdraw its runs: punctual cancel --where ${shellQuote(plain(of))}`,
  );
}

function toRequest({ job, olderThan, keep, state, days, batch }: Options): PruneOptions {
  return {
    ...(job !== undefined && { job }),
    ...(olderThan !== undefined && { finished: olderThan }),
    ...(keep !== undefined && { keep }),
    ...(state !== undefined && { state }),
    ...(days !== undefined && { jobs: `${days} days`, orphans: `${days} days` }),
    ...(batch !== undefined && { batch }),
  };
}

function printForecast({ output }: Cli, forecast: PruneForecast): void {
  const { capped, ...counts } = forecast;
  if (output.isJson) output.json({ dryRun: true, prunable: counts, capped });
  else {
    output.print(`${capped ? "more than " : ""}${countsText(counts)} would be deleted`);
    output.note("Nothing was changed.");
  }
}

function tell({ output }: Cli, deleted: PruneReport, interrupted: boolean, freed: number | null): void {
  if (output.isJson) {
    output.json({ deleted, interrupted, ...(freed !== null && { freedBytes: freed }) });
    return;
  }
  const more = freed === null ? "" : `; ${megabytes(freed)} freed`;
  output.print(`${countsText(deleted)} deleted${more}${interrupted ? "; interrupted before the end" : ""}`);
}

function countsText({ history, jobs, orphans, workers }: PruneReport): string {
  return [
    counted(history, "finished run"),
    counted(orphans, "waiting run"),
    counted(jobs, "job"),
    counted(workers, "dead worker"),
  ].join(", ");
}

function megabytes(bytes: number): string {
  return `${(Math.max(0, bytes) / 1_000_000).toFixed(1)} MB`;
}
