import type { Failure } from "../../run/failure.ts";
import { readFailure } from "../../run/failure.ts";
import type { AttemptInfo } from "../../run/info.ts";
import { wrongState } from "../../run/run.ts";
import { finishedStates, isFinished } from "../../run/states.ts";
import { queryQuote, shellQuote } from "../../status/hints.ts";
import type { StatusReport } from "../../status/report.ts";
import type { RunRecord } from "../../store/records.ts";
import type { User } from "../server/route.ts";
import { batchLinkOf } from "./batch-reader.ts";
import type { AttemptView, Page, RunAction, RunDetail, RunLink } from "./contract.ts";
import { hasRole } from "./define-route.ts";
import type { Services } from "./services.ts";
import { toErrorHead, toFailureView } from "./views/failure.ts";
import { toJsonText } from "./views/json-text.ts";
import { toCount, toLink, toSummary } from "./views/run-summary.ts";
import { iso, isoOrNull } from "./views/times.ts";

const CHILDREN = 20;

/** Finished runs that a page of a job, or of a run, links to at most. */
const MOST_RECENT = 30;

/** Ids behind a run among which its newer neighbour is looked for. */
const NEWER_WITHIN = 200;

/** Returns a stored run. Throws RUN_NOT_FOUND. */
export async function findRun({ reports }: Services, id: number): Promise<RunRecord> {
  const run = await reports.storedRun(id);
  if (!run) throw wrongState("show", id, null);
  return run;
}

/** Reads everything that the page of a run shows. */
export async function readRun(services: Services, id: number, user: User): Promise<RunDetail> {
  const { reports, settings } = services;
  const { redaction } = settings;
  const run = await findRun(services, id);
  const [context, why, attempts, logs, report, children, recent, older, newer, batch, parent, rerunOf] =
    await Promise.all([
      services.summaryContext(),
      reports.why(id),
      reports.attempts(id),
      reports.countLogs(id),
      services.status(),
      readChildren(services, id),
      reports.now().then((now) => recentRuns(services, run.name, Number(now))),
      reports.storedRuns({ job: run.name, before: id, limit: 1 }),
      findNewer(services, run),
      batchLinkOf(services, run),
      run.parentId === null ? null : reports.storedRun(run.parentId),
      run.rerunOf === null ? null : reports.storedRun(run.rerunOf),
    ]);
  const { now } = context;
  const failure = failureOf(run, attempts);
  const actions = actionsOn(run, user);
  return {
    ...toSummary(run, context),
    error: failure && toErrorHead(failure, redaction),
    why: redaction.text(why),
    attempts: attemptViews(run, attempts, services, report),
    failure: failure && toFailureView(failure, redaction),
    alike: await countAlike(services, run),
    args: toJsonText(run.args, redaction),
    result: toJsonText(run.result, redaction),
    progressValue: toJsonText(run.progress, redaction),
    logs,
    worker: workerLabel(run.worker, report),
    child: run.child,
    leasedUntil: isoOrNull(run.lockedUntil),
    isolated: run.isolated,
    crashes: run.crashes,
    uniqueKey: run.uniqueKey,
    scheduledFor: isoOrNull(run.scheduledFor),
    scheduleId: run.scheduleId,
    batch,
    parent: parent && toLink(parent, now),
    rerunOf: rerunOf && toLink(rerunOf, now),
    children,
    recent,
    newer: newer ?? newerIn(recent, id),
    older: older.runs[0]?.id ?? null,
    timeout: run.timeout ?? services.definition(run.name)?.settings.timeout ?? null,
    actions,
    commands: Object.fromEntries(actions.map((action) => [action, commandOf(action, run)])),
  };
}

export async function readChildren(services: Services, id: number, before?: number): Promise<Page<RunLink>> {
  const { runs, next } = await services.reports.storedRuns({ parent: id, limit: CHILDREN, before });
  const now = Number(await services.reports.now());
  return { items: runs.map((run) => toLink(run, now)), next };
}

/** Returns the error of a run; of one that will be retried the error of its last attempt. */
function failureOf(run: RunRecord, attempts: readonly AttemptInfo[]): Failure | null {
  if (run.error !== null) return readFailure(run.error);
  return run.state === "completed" ? null : (attempts.at(-1)?.error ?? null);
}

async function countAlike({ reports }: Services, run: RunRecord): Promise<RunDetail["alike"]> {
  if (run.fingerprint === null) return null;
  const { count, capped } = await reports.count(`fingerprint:${run.fingerprint}`);
  return toCount({ count: Math.max(0, count - 1), capped });
}

/** The store keeps attempts that failed or did not finish; the current or final one is in the run itself. */
function attemptViews(
  run: RunRecord,
  attempts: readonly AttemptInfo[],
  { settings: { redaction } }: Services,
  report: StatusReport,
): AttemptView[] {
  const views = attempts.map(
    ({ attempt, outcome, worker, startedAt, finishedAt, error }): AttemptView => ({
      attempt,
      outcome,
      worker: workerLabel(worker, report),
      startedAt: isoOrNull(startedAt),
      finishedAt: iso(finishedAt),
      error: error && toFailureView(error, redaction),
    }),
  );
  const { state, startedAt, finishedAt } = run;
  const isStored = views.some(({ attempt }) => attempt === run.attempts);
  if (run.attempts === 0 || (state !== "running" && !isFinished(state)) || isStored) return views;
  return [
    ...views,
    {
      attempt: run.attempts,
      outcome: state,
      worker: workerLabel(run.worker, report),
      startedAt: isoOrNull(startedAt),
      finishedAt: isoOrNull(finishedAt),
      error: null,
    },
  ];
}

/** Returns `host:pid` of a worker, or its id if its row is gone. */
export function workerLabel(id: string | null, { workers, silent }: StatusReport): string | null {
  if (id === null) return null;
  const known =
    workers.find((worker) => worker.id === id) ?? silent.find((worker) => worker.id === id)?.trace;
  return known ? `${known.host}:${known.pid}` : id;
}

/** Returns the newer neighbour if both are among the last finished runs of the job. */
function newerIn(recent: readonly RunLink[], id: number): number | null {
  const index = recent.findIndex((run) => run.id === id);
  return index > 0 ? recent[index - 1]!.id : null;
}

/** Returns the newer neighbour of an old run. Runs are found from the newest on, so it looks at a few ids only. */
async function findNewer({ reports }: Services, { id, name }: RunRecord): Promise<number | null> {
  const where = `job:${queryQuote(name)} id:>${id} id:<=${id + NEWER_WITHIN}`;
  const { runs, next } = await reports.storedRuns({ where, limit: NEWER_WITHIN });
  return next === null ? (runs.at(-1)?.id ?? null) : null;
}

/** Returns the actions that the state of the run and the role of the user allow. */
function actionsOn(run: RunRecord, user: User): RunAction[] {
  if (!hasRole(user, "operator")) return [];
  // The handler of an ad hoc run is a function in the memory of one process.
  const canRepeat = run.owner === null;
  const actions: RunAction[] = [];
  if (isFinished(run.state)) {
    if (canRepeat) actions.push("retry");
  } else {
    actions.push("cancel");
    if (run.state === "running") actions.push("forceCancel");
  }
  if (canRepeat) actions.push("rerun");
  if (run.state !== "running" && hasRole(user, "admin")) actions.push("delete");
  return actions;
}

function commandOf(action: RunAction, { id, name }: RunRecord): string {
  switch (action) {
    case "retry":
      return `punctual retry ${id}`;
    case "cancel":
      return `punctual cancel ${id}`;
    case "forceCancel":
      return `punctual cancel ${id} --force`;
    case "rerun":
      return `punctual show ${id} --payload --raw | punctual dispatch ${shellQuote(name)} -`;
    case "delete":
      return `punctual delete ${id}`;
  }
}

/** Returns the last finished runs of a job, the newest first. Runs that wait would fill the list of a long queue. */
export async function recentRuns({ reports }: Services, job: string, now: number): Promise<RunLink[]> {
  const { runs } = await reports.storedRuns({ job, state: finishedStates, limit: MOST_RECENT });
  return runs.map((run) => toLink(run, now));
}
