import type { Command } from "commander";
import { allowWork } from "../../../job-file-loader.ts";
import type { Punctual } from "../../../punctual.ts";
import { waitingIn } from "../../../status/report.ts";
import { serves } from "../../../store/queue-selection.ts";
import { type Duration, systemClock, toMilliseconds } from "../../../time.ts";
import { toWeightedQueues, type WeightedQueues } from "../../../worker/options.ts";
import type { Cli } from "../../cli.ts";
import { duration, integer, type QueueChoice, queues } from "../../input/arguments.ts";
import { Signals } from "../../input/signals.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { OutcomeCounts } from "../work/outcome-counts.ts";
import { summary, unwrittenExit } from "../work/summary.ts";
import { printDue } from "./due.ts";

interface Options {
  batch?: number;
  parallel?: number;
  maxJobs?: number;
  maxTime?: Duration;
  drainTimeout?: Duration;
  queues?: QueueChoice;
  /** False: schedules are not ticked. */
  schedule?: boolean;
  dryRun?: boolean;
  keepGoing?: boolean;
}

export default function collect(command: Command, cli: Cli): void {
  command
    .description(
      "Make the due ticks, run the due runs, and exit: for a crontab line or a serverless function.",
    )
    .option("--batch <n>", "most runs in one claim", integer(1))
    .option("--parallel <n>", "runs at once (default: 10)", integer(1, 10_000))
    .option("--max-jobs <n>", "exit after n runs", integer(1))
    .option("--max-time <time>", "exit after this long, such as 50s, plus --drain-timeout", duration)
    .option("--drain-timeout <time>", "time for running runs to finish on exit (default: 30s)", duration)
    .option(
      "--queues <names>",
      "only these queues, such as emails,reports*2 (with a weight); !bulk: all but bulk",
      queues,
    )
    .option("--no-schedule", "do not tick schedules; only run due runs")
    .option("--dry-run", "print what is due, and run nothing")
    .option("--keep-going", "continue although a job file cannot be loaded")
    .action(async (options: Options) => {
      const { output } = cli;
      const schedules = options.schedule !== false;
      const jobs = await cli.load(options.keepGoing ? "keep-going" : "refuse");
      const served = toWeightedQueues(options.queues?.options ?? {});
      if (options.dryRun) return printDue(jobs, served, schedules, output);
      const outcomeCounts = new OutcomeCounts(jobs);
      const signals = new Signals();
      const startedAt = systemClock.monotonic();
      const { maxTime, maxJobs, drainTimeout, batch, queues } = options;
      const parallel = options.parallel ?? (await cli.config()).parallel;
      let isOver = false;
      const stop = () => {
        isOver = true;
        void jobs.stop();
      };
      const cancel =
        maxTime === undefined
          ? () => {}
          : systemClock.after(toMilliseconds(maxTime), stop, { background: true });
      const working = allowWork(() =>
        jobs.forever({
          untilEmpty: true,
          ...(maxJobs !== undefined && { limit: maxJobs }),
          ...(parallel !== undefined && { parallel }),
          ...(batch !== undefined && { batch }),
          ...(drainTimeout !== undefined && { grace: drainTimeout }),
          ...queues?.options,
          schedules,
        }),
      );
      await working.finally(cancel);
      const unwritten = unwrittenExit(outcomeCounts, jobs);
      const wasStopped = isOver || signals.first !== null || unwritten !== null;
      // A worker prunes once a minute; without workers, only this pass does.
      if (!wasStopped) await jobs.prune();
      const ms = Math.round(systemClock.monotonic() - startedAt);
      if (output.isJson)
        output.json({
          ran: outcomeCounts.ran,
          ms,
          ...outcomeCounts.counts,
          troubles: outcomeCounts.failedAttempts,
        });
      // After a stop the database is asked nothing more: it may be the reason for the stop.
      else output.print(summary(outcomeCounts, ms, wasStopped ? null : await dueRuns(jobs, served)));
      if (unwritten) throw unwritten;
      if (signals.forced !== null) throw new Exit(signals.forced);
      if (outcomeCounts.counts.failed > 0) throw new Exit(exitCodes.failed);
    });
}

async function dueRuns(jobs: Punctual, served: WeightedQueues): Promise<number> {
  const queues = (await jobs.status()).queues.filter(({ name }) => serves(served, name));
  return queues.reduce((sum, queue) => sum + waitingIn(queue), 0);
}
