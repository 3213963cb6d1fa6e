import type { RunsFilter } from "../../operate/run-query.ts";
import type { Punctual } from "../../punctual.ts";
import type { BatchStatus } from "../../run/batch.ts";
import type { RunInfo } from "../../run/info.ts";
import { lostResultReason } from "../../run/log-data.ts";
import { activeStates } from "../../run/states.ts";
import { systemClock } from "../../time.ts";
import { unknownJob } from "../input/names.ts";
import { Exit, exitCodes } from "../output/exit-codes.ts";
import type { Page } from "../render/page.ts";
import { type BatchDetails, batchPage } from "./batch-page.ts";
import { type JobPageContent, jobPage } from "./job-page.ts";
import { type JobSummary, viewsOf } from "./job-state.ts";
import { type RunDetails, runPage } from "./run-page.ts";

const RUNS_SHOWN = 5;

/** The run, job or batch of a line in a list. */
export type Subject = { run: number } | { job: string } | { batch: number };

/** Returns the page that `punctual show` prints for the subject. */
export async function detailsOf(jobs: Punctual, subject: Subject, page: Page): Promise<string[]> {
  if ("job" in subject) return jobPage(await findJob(jobs, subject.job, 0), page);
  if ("batch" in subject) {
    const batch = await findBatch(jobs, subject.batch);
    return batch ? batchPage(batch, page) : [`Batch ${subject.batch} was deleted.`];
  }
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
  const lostResult = hasNoResult(run) && logLines > 0 ? await findLostResult(jobs, id) : null;
  return { run, why, attempts, logLines, lostResult, report, now: report.now };
}

function hasNoResult({ state, result }: RunInfo): boolean {
  return state === "completed" && result === undefined;
}

/** Reads in the log of a run why its result was not kept; null: it had none. */
async function findLostResult(jobs: Punctual, id: number): Promise<string | null> {
  let reason: string | null = null;
  for (let after = 0; ; ) {
    const lines = await jobs.logs(id, { after });
    reason = lostResultReason(lines) ?? reason;
    if (lines.length === 0) return reason;
    after = lines.at(-1)!.position;
  }
}

export async function findBatch(jobs: Punctual, id: number): Promise<BatchDetails | null> {
  const batch = await jobs.findBatch(id);
  if (!batch) return null;
  const [callbacks, failures, now] = await Promise.all([
    callbacksOf(jobs, batch),
    batch.failed > 0 ? jobs.runs({ batch: String(id), state: "failed", limit: RUNS_SHOWN }) : { runs: [] },
    jobs.now(),
  ]);
  return { batch, callbacks, failures: failures.runs, now };
}

/** Returns the callbacks that were dispatched and are kept, the newest first. */
async function callbacksOf(jobs: Punctual, { callbacks }: BatchStatus): Promise<RunInfo[]> {
  const ids = callbacks.flatMap(({ runs }) => runs).sort((a, b) => b - a);
  if (ids.length === 0) return [];
  const { runs } = await jobs.runs({ where: `id:${ids.slice(0, RUNS_SHOWN).join(",")}`, limit: RUNS_SHOWN });
  return runs;
}

export async function findJob(jobs: Punctual, name: string, id: number): Promise<JobPageContent> {
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
    ...(await failingRuns(jobs, view.job, runs)),
    day,
    now: new Date(Math.max(systemClock.now(), Number(report.now))),
  };
}

/** Finds runs of a job whose last attempt failed: finished ones, and ones that are to run again. */
async function failingRuns(
  jobs: Punctual,
  { name, fails }: JobSummary["job"],
  last: RunInfo[],
): Promise<Pick<JobPageContent, "failed" | "retrying">> {
  const shown = last.find(({ state }) => state === "failed")?.id ?? null;
  if (fails === 0) return { failed: shown, retrying: null };
  const newest = async (filter: RunsFilter) =>
    (await jobs.runs({ job: name, limit: 1, ...filter })).runs[0]?.id ?? null;
  return {
    failed: shown ?? (await newest({ state: "failed" })),
    retrying: await newest({ where: "attempt:>0 error:*", state: activeStates }),
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
