import { isatty } from "node:tty";
import { allowWork } from "../../../job-file-loader.ts";
import type { Punctual } from "../../../punctual.ts";
import { systemClock, toMilliseconds } from "../../../time.ts";
import { DEFAULT_GRACE } from "../../../worker/options.ts";
import type { Cli } from "../../cli.ts";
import { Signals } from "../../input/signals.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { counted, duration } from "../../render/formats.ts";
import { watchFolders } from "./file-watch.ts";
import type { WorkOptions } from "./options.ts";
import { OutcomeCounts } from "./outcome-counts.ts";
import { outcomes, unwrittenExit } from "./summary.ts";

/** Options of `work` with the defaults of the config applied. */
export interface WorkPlan extends WorkOptions {
  /** Number of child processes; 0: this process runs the jobs. */
  workers: number;
  parallel: number;
}

/** Works until it is stopped, prints the outcomes and throws the exit code. */
export async function runWorkSession(cli: Cli, jobs: Punctual, plan: WorkPlan): Promise<void> {
  const { output } = cli;
  const outcomeCounts = new OutcomeCounts(jobs);
  const signals = new Signals();
  const startedAt = systemClock.monotonic();
  const grace = toMilliseconds(plan.drainTimeout ?? DEFAULT_GRACE);
  let overdue = false;
  const cancels: (() => void)[] = [];
  const later = (ms: number, act: () => void) =>
    cancels.push(systemClock.after(ms, act, { background: true }));
  jobs.on("worker.stopping", ({ running }) => {
    if (running === 0) return;
    later(grace, () => {
      overdue = true;
    });
  });
  const { maxTime } = plan;
  if (maxTime !== undefined) {
    later(toMilliseconds(maxTime), () => {
      const running = counted(outcomeCounts.running, "run");
      output.note(`--max-time ${duration(toMilliseconds(maxTime))} is over: finishing ${running}`);
      void jobs.stop();
    });
  }
  process.on("SIGUSR2", () => {
    const up = duration(systemClock.monotonic() - startedAt);
    output.complain(
      `up ${up}, ${outcomeCounts.running} running; ${outcomes(outcomeCounts)}${children(jobs, plan)}`,
    );
  });
  process.on("SIGHUP", () => {
    if (windowIsGone()) void jobs.stop();
    else if (plan.workers === 0) {
      output.complain(
        "SIGHUP: cannot reload, because the jobs run in this process. Start with --workers 1 or more.",
      );
    }
  });
  if (plan.watch) cancels.push(await rollOnChange(cli));
  await allowWork(() => begin(jobs, plan)).finally(() => {
    for (const cancel of cancels) cancel();
  });
  const unwritten = unwrittenExit(outcomeCounts, jobs);
  output.note(
    `${unwritten ? "stopped while the database was unavailable" : "drained"}. ${outcomes(outcomeCounts)}. bye`,
  );
  if (signals.forced !== null && !unwritten) throw new Exit(signals.forced);
  if (unwritten) throw unwritten;
  if (overdue && outcomeCounts.counts.released > 0) {
    throw new Exit(
      exitCodes.timedOut,
      `${counted(outcomeCounts.counts.released, "run")} did not finish in time and will run again. To allow more time: --drain-timeout`,
    );
  }
}

/** Works in this process or in child processes. A child process calls this too, and works for its supervisor. */
export function begin(jobs: Punctual, plan: WorkPlan): Promise<number> {
  const { workers, parallel, queues, schedule, once, untilEmpty, maxJobs, maxMemory, stall } = plan;
  const options = {
    parallel,
    ...queues?.options,
    schedules: schedule !== false,
    ...(once && { limit: 1 }),
    untilEmpty: once === true || untilEmpty === true,
    grace: plan.drainTimeout ?? DEFAULT_GRACE,
  };
  // In this process, `--max-jobs` ends the worker; under `supervise()`, it replaces the child.
  if (workers === 0) return jobs.forever({ ...options, ...(maxJobs !== undefined && { limit: maxJobs }) });
  return jobs.supervise({
    ...options,
    workers,
    ...(maxJobs !== undefined && { maxJobs }),
    ...(maxMemory !== undefined && { maxMemory }),
    ...(stall !== undefined && { stall }),
  });
}

/** Whether SIGHUP came because the terminal window was closed. If so, discards all further output. */
function windowIsGone(): boolean {
  if (!process.stdout.isTTY || isatty(1)) return false;
  process.stdout.write = () => true;
  process.stderr.write = () => true;
  return true;
}

async function rollOnChange(cli: Cli): Promise<() => void> {
  const { output } = cli;
  return watchFolders(await cli.files(), (files) => {
    const shown = files.slice(0, 3).join(", ") + (files.length > 3 ? ` and ${files.length - 3} more` : "");
    output.note(`${shown} changed`);
    // The same as kill -HUP: the supervisor replaces its child processes.
    process.emit("SIGHUP", "SIGHUP");
  });
}

function children(jobs: Punctual, { workers }: WorkPlan): string {
  if (workers === 0) return "";
  const shown = jobs.children().map(({ number, pid, state, running, memory }) => {
    const size = memory === null ? "" : `, ${Math.round(memory / 2 ** 20)} MB`;
    return `${number}:${pid} ${state} (${counted(running, "run")}${size})`;
  });
  return `; ${shown.join(", ")}`;
}
