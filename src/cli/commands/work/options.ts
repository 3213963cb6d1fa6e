import type { Command } from "commander";
import type { Address } from "../../../metrics/listen.ts";
import type { Duration } from "../../../time.ts";
import { address, bytes, duration, integer, type QueueChoice, queues } from "../../input/arguments.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";

export interface WorkOptions {
  workers?: number;
  parallel?: number;
  queues?: QueueChoice;
  /** False: schedules are not ticked. */
  schedule?: boolean;
  once?: boolean;
  untilEmpty?: boolean;
  maxJobs?: number;
  maxTime?: Duration;
  maxMemory?: number;
  drainTimeout?: Duration;
  stall?: Duration;
  watch?: boolean;
  probePort?: Address;
  dashboard?: boolean;
  dashboardPort?: number;
  jsonl?: boolean;
  keepGoing?: boolean;
}

export function addWorkOptions(command: Command): Command {
  return command
    .option(
      "--workers <n>",
      "child processes that run the jobs (default: 0, this process runs them)",
      integer(0, 1000),
    )
    .option("--parallel <n>", "runs at once in each process (default: 10)", integer(1, 10_000))
    .option(
      "--queues <names>",
      "only these queues, such as emails,reports*2 (with a weight); !bulk: all but bulk",
      queues,
    )
    .option("--no-schedule", "do not tick schedules: leave that to other workers")
    .option("--once", "exit after one run, or if nothing is due")
    .option("--until-empty", "exit when nothing is due")
    .option(
      "--max-jobs <n>",
      "exit after n runs; with --workers, replace a child process after n runs",
      integer(1),
    )
    .option("--max-time <time>", "exit after this long, such as 1h", duration)
    .option("--max-memory <size>", "replace a child process that uses more, such as 512M", bytes)
    .option("--drain-timeout <time>", "time for running runs to finish on exit (default: 30s)", duration)
    .option(
      "--stall <time>",
      "replace a child process that does not answer for this long (default: 5m)",
      duration,
    )
    .option("--watch", "restart with changed files, for development")
    .option("--probe-port <port>", "answer health checks and metrics at [host:]port", address)
    .option("--dashboard", "serve the web dashboard on this machine, at port 4480")
    .option("--dashboard-port <port>", "the same at another port; 0: any free one", integer(0, 65_535))
    .option("--jsonl", "one JSON object per event; default when stdout is not a terminal")
    .option("--no-jsonl", "readable lines, also without a terminal")
    .option("--keep-going", "continue although a job file cannot be loaded");
}

/** Throws for options that exclude each other. */
export function checkWorkOptions({ once, maxJobs, stall, workers }: WorkOptions): void {
  if (once && maxJobs !== undefined && !workers) {
    throw new Exit(
      exitCodes.usage,
      "--once and --max-jobs both limit the number of runs. Leave one of them out.",
    );
  }
  if (stall !== undefined && !workers) {
    throw new Exit(exitCodes.usage, "--stall needs child processes: add --workers 1 or more.");
  }
}
