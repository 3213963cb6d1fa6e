import type { Punctual } from "../../punctual.ts";
import { systemClock } from "../../time.ts";
import { unknownJob } from "../input/names.ts";
import { Exit, exitCodes } from "../output/exit-codes.ts";
import type { Page } from "../render/page.ts";
import { type JobDetails, jobPage } from "./job-page.ts";
import { viewsOf } from "./job-state.ts";
import { type RunDetails, runPage } from "./run-page.ts";

const RUNS_SHOWN = 5;

/** The run or job of a line in a list. */
export type Subject = { run: number } | { job: string };

/** Returns the page that `punctual show` prints for the subject. */
export async function detailsOf(jobs: Punctual, subject: Subject, page: Page): Promise<string[]> {
  if ("job" in subject) return jobPage(await findJob(jobs, subject.job, 0), page);
  const run = await findRun(jobs, subject.run);
  if (!run) return [`Run ${subject.run} was deleted.`];
  return runPage(run, { raw: false, cwd: process.cwd() }, page);
}

export async function findRun(jobs: Punctual, id: number): Promise<RunDetails | null> {
  const run = await jobs.find(id);
  if (!run) return null;
  const [why, attempts, logLines, report] = await Promise.all([
    jobs.why(id),
    jobs.attempts(id),
    jobs.countLogs(id),
    jobs.status(),
  ]);
  return { run, why, attempts, logLines, report, now: report.now };
}

export async function findJob(jobs: Punctual, name: string, id: number): Promise<JobDetails> {
  const report = await jobs.status();
  const view = viewsOf(report).find(({ job }) => job.name === name);
  if (!view) {
    if (id > 0) throw await unknownRun(jobs, id);
    throw unknownJob(
      name,
      report.jobs.map((job) => job.name),
    );
  }
  const [schedules, { runs }, { total: day }] = await Promise.all([
    jobs.schedules(),
    jobs.runs({ job: name, limit: RUNS_SHOWN }),
    jobs.trend({ job: name, over: "24h" }),
  ]);
  return {
    view,
    queue: report.queues.find((queue) => queue.name === view.job.queue) ?? null,
    schedules: schedules.filter(({ job }) => job === name),
    runs,
    day,
    now: new Date(Math.max(systemClock.now(), Number(report.now))),
  };
}

async function unknownRun(jobs: Punctual, id: number): Promise<Exit> {
  const [newest] = (await jobs.runs({ limit: 1 })).runs;
  const [before] = (await jobs.runs({ limit: 1, before: id })).runs;
  const near = [...new Set([before?.id, newest?.id])].filter((one) => one !== undefined);
  const hint =
    near.length === 0
      ? "The database has no runs."
      : `It was deleted, or its history has expired. Nearby: run ${near.join(", run ")}.`;
  return new Exit(exitCodes.notFound, `There is no run ${id}. ${hint}`);
}
