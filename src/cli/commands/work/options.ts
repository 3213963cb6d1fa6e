import type { Command } from "commander";
import type { Address } from "../../../metrics/address.ts";
import type { Duration } from "../../../time.ts";
import { address, bytes, duration, integer, type QueueChoice, queues } from "../../input/arguments.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";

export interface WorkOptions {
  workers?: number;
  parallel?: number;
  queues?: QueueChoice;
  /** False: it does not tick. */
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
  jsonl?: boolean;
  keepGoing?: boolean;
}

export function addWorkOptions(command: Command): Command {
  return command
    .option(
      "--workers <n>",
      "child processes that run the jobs (default: 0, it runs them itself)",
      integer(0, 1000),
    )
    .option("--parallel <n>", "runs at once in each process (default: 10)", integer(1, 10_000))
    .option(
      "--queues <names>",
      "only these queues, such as emails,reports*2 (a weight); or !bulk: all but it",
      queues,
    )
    .option("--no-schedule", "do not tick schedules: leave that to other workers")
    .option("--once", "end after one run, or if nothing is due")
    .option("--until-empty", "end when nothing is due any more")
    .option(
      "--max-jobs <n>",
      "end after so many runs; with --workers: replace a child process after so many",
      integer(1),
    )
    .option("--max-time <time>", "end after this long, such as 1h", duration)
    .option("--max-memory <size>", "replace a child process that uses more, such as 512M", bytes)
    .option("--drain-timeout <time>", "how long runs may finish when it ends (default: 30s)", duration)
    .option(
      "--stall <time>",
      "replace a child process that does not answer for so long (default: 5m)",
      duration,
    )
    .option("--watch", "begin anew with changed files, for development")
    .option("--probe-port <port>", "answer health checks and metrics at [host:]port", address)
    .option("--jsonl", "one JSON object for each event; so it is where there is no terminal")
    .option("--no-jsonl", "lines for people there too")
    .option("--keep-going", "also if a job file cannot be loaded");
}

/** Refuses what does not go together. */
export function checkWorkOptions({ once, maxJobs, stall, workers }: WorkOptions): void {
  if (once && maxJobs !== undefined && !workers) {
    throw new Exit(
      exitCodes.usage,
      "--once and --max-jobs both say after how many runs to end. Leave one of them out.",
    );
  }
  if (stall !== undefined && !workers) {
    throw new Exit(exitCodes.usage, "--stall is about child processes: add --workers 1 or more.");
  }
}
