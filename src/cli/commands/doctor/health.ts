import type { PunctualConfig } from "../../../config.ts";
import type { Punctual } from "../../../punctual.ts";
import { Cron } from "../../../schedule/cron.ts";
import { heldCommand, pruneJobCommand, workCommand } from "../../../status/hints.ts";
import {
  type JobReport,
  type ScheduleInfo,
  type StatusReport,
  undefinedTimes,
  waitingIn,
} from "../../../status/report.ts";
import { silenceOf } from "../../../status/silence.ts";
import { type WorkerReport, whyUndone } from "../../../status/workers.ts";
import type { Inspection } from "../../../store/maintenance.ts";
import { serves } from "../../../store/queue-selection.ts";
import { WORKER_FORGOTTEN_AFTER } from "../../../store/store.ts";
import { isClaiming } from "../../../store/worker-records.ts";
import { plain } from "../../output/output.ts";
import { counted, grouped, span } from "../../render/formats.ts";
import { type Finding, fixable, ok, warning } from "../../views/finding.ts";
import { scheduleViews } from "../schedule/schedule-info.ts";
import { checkOpenBatches } from "./batches.ts";
import { checkPauses } from "./pauses.ts";
import { compareRates } from "./rates.ts";

/** Checks that workers run the runs and schedules in the database. */
export async function health(
  jobs: Punctual,
  inspection: Inspection,
  config: PunctualConfig,
): Promise<Finding[]> {
  const status = await jobs.status();
  return [
    ...checkWorkers(status),
    ...checkSilentWorkers(status),
    ...checkLeftovers(inspection, status),
    ...checkPauses(status),
    ...checkIsolatedRuns(status),
    ...checkNamedLimits(status),
    ...checkSchedules(await jobs.schedules(), status),
    ...(await checkOpenBatches(jobs)),
    ...checkDefinitions(jobs, status, config),
  ];
}

function checkSilentWorkers({ silent, workers, now }: StatusReport): Finding[] {
  const others = workers.filter(({ parallel }) => parallel > 0).length;
  return silent.map((worker) =>
    warning(
      silenceOf(worker, { now, others }).replace(/\.$/, ""),
      others === 0 ? "punctual work" : plain(heldCommand(worker)),
    ),
  );
}

/** Finds runs and rows that dead workers left, without those that `checkSilentWorkers` names. */
function checkLeftovers({ expired, deadWorkers, now }: Inspection, status: StatusReport): Finding[] {
  const isServed = status.workers.some(({ parallel }) => parallel > 0);
  const findings: Finding[] = [];
  if (expired.count > 0 && status.expired > 0) {
    const text = `${counted(status.expired, "lease")} ended up to ${span(now - expired.since!)} ago, and no worker has reaped the runs`;
    findings.push(
      fixable(
        warning(text, isServed ? "punctual doctor --fix" : "punctual work"),
        `reap ${counted(expired.count, "run")} of dead workers`,
      ),
    );
  }
  const named = status.silent.filter(
    ({ trace }) => trace && now - Number(trace.seenAt) > WORKER_FORGOTTEN_AFTER,
  );
  const dead = deadWorkers - named.length;
  if (dead > 0) {
    const text = `${counted(dead, "worker")} died and left ${dead === 1 ? "a row" : "rows"} in the database`;
    findings.push(fixable(warning(text, "punctual prune"), `delete ${counted(dead, "row")} of dead workers`));
  }
  return findings;
}

function checkIsolatedRuns({ isolated: runs }: StatusReport): Finding[] {
  return runs.map(({ id, name, worker, child, startedAt }) => {
    const where = child === null ? worker : `${worker}, child ${child.split(":")[0]}`;
    const what = startedAt === null ? "waits to be alone" : "is alone";
    return warning(`run ${id} of "${name}" has crashed, and ${what} on ${where}`, `punctual show ${id}`);
  });
}

/** Finds named limits that jobs are under and that no process has defined. */
function checkNamedLimits({ limits }: StatusReport): Finding[] {
  return limits
    .filter(({ limit }) => limit === null)
    .map(({ name, jobs }) => {
      const listed = jobs.map((job) => `"${job}"`).join(", ");
      return warning(
        `no process has defined the limit "${name}", and no run of ${listed} starts`,
        `jobs.limit("${name}", { concurrency: 10 })`,
      );
    });
}

function checkWorkers({ workers: all, queues, jobs, silent: dead }: StatusReport): Finding[] {
  const alive = all.filter(({ parallel }) => parallel > 0);
  const slots = alive.reduce((sum, { parallel }) => sum + parallel, 0);
  const waits = queues.filter((queue) => waitingIn(queue) > 0 && !queue.paused);
  if (alive.length === 0) {
    const waiting = waits.reduce((sum, queue) => sum + waitingIn(queue), 0);
    const isCapped = waits.some(({ capped }) => capped);
    const ticks = jobs.some(({ nextRun }) => nextRun !== null);
    // The findings about dead workers already name the waiting runs.
    if (waiting === 0 && !ticks && dead.length > 0) return [];
    if (waiting === 0 && !ticks) return [ok("no worker is alive, and nothing waits for one")];
    const why = waiting > 0 ? `${atLeast(waiting, isCapped)} due` : "schedules to tick";
    return [warning(`no worker is alive, with ${why}`, "punctual work")];
  }
  const claiming = alive.filter(isClaiming);
  const unserved = waits.filter(({ name }) => !claiming.some((worker) => serves(worker, name)));
  const ticks = claiming.some(({ schedules }) => schedules) || jobs.every(({ nextRun }) => nextRun === null);
  return [
    ok(`${counted(alive.length, "worker")}, ${counted(slots, "slot")}`),
    ...(ticks ? [] : [warning(`no worker ticks schedules: ${whyNoTicks(alive)}`, "punctual work")]),
    ...unserved.map((queue) => {
      const waiting = waitingIn(queue);
      const isServing = (worker: WorkerReport) => serves(worker, queue.name);
      const cause = alive.some(isServing) ? ` (${whyUndone(alive, isServing, "")})` : "";
      return warning(
        `no worker serves the queue "${queue.name}"${cause}, where ${atLeast(waiting, queue.capped)} ${waiting === 1 ? "waits" : "wait"}`,
        plain(workCommand(queue.name)),
      );
    }),
  ];
}

/** `1 run`, `3 runs`, or `20,000 or more runs`: large counts stop early. */
function atLeast(runs: number, isCapped: boolean): string {
  return isCapped ? `${grouped(runs)} or more runs` : counted(runs, "run");
}

function whyNoTicks(alive: WorkerReport[]): string {
  return whyUndone(alive, ({ schedules }) => schedules, "all were started with --no-schedule");
}

function checkSchedules(all: ScheduleInfo[], status: StatusReport): Finding[] {
  return scheduleViews(all, status).flatMap((one) => {
    const { late, paused } = one;
    const which = `cron "${one.cron}" of "${one.job}"`;
    if (!isReadable(one)) return [warning(`${which} cannot be read by this version`, "update punctual")];
    if (paused || !one.defined) return [];
    if (one.nextTick === null) return [warning(`${which} never ticks again`)];
    if (!late) return [];
    return [
      warning(`${which} is ${span(status.now.getTime() - one.nextTick.getTime())} late`, "punctual work"),
    ];
  });
}

function isReadable({ cron, timezone }: ScheduleInfo): boolean {
  try {
    new Cron(cron, { timezone });
    return true;
  } catch {
    return false;
  }
}

const RESTART = "restart the workers with this code: punctual work";

/** Compares the code here with the database: workers run other code, or none has synced its jobs yet. */
function checkDefinitions(jobs: Punctual, status: StatusReport, config: PunctualConfig): Finding[] {
  const unseenFor = undefinedTimes(status);
  const defined = new Map(jobs.definitions().map((definition) => [definition.name, definition]));
  const ofJobs = status.jobs.flatMap((job) => {
    const definition = defined.get(job.name);
    const unseen = unseenFor(job);
    return [
      ...(definition ? compareLimits(job, definition.settings.concurrency) : []),
      ...(unseen === null ? [] : [unseenJob(job, unseen, definition !== undefined)]),
    ];
  });
  const surprises = [...defined.values()].flatMap(({ name, plan }) => {
    const surprise = plan.warning(status.now.getTime());
    return surprise === null ? [] : [warning(`job "${name}": ${surprise}`)];
  });
  const ofRates = compareRates(jobs, status, config, RESTART);
  return [...ofJobs, ...compareQueues(status, config), ...ofRates, ...surprises];
}

function compareLimits({ name, limit, seenAt }: JobReport, concurrency: number): Finding[] {
  if (seenAt === null || limit === concurrency) return [];
  return [
    warning(
      `job "${name}" may run ${limitText(concurrency)} at once according to the code here, but ${limitText(limit)} according to the database`,
      RESTART,
    ),
  ];
}

function unseenJob({ name, waiting }: JobReport, unseen: number, isDefinedHere: boolean): Finding {
  const sentence = `no live worker has defined job "${name}" for ${span(unseen)}`;
  const removal = pruneJobCommand(name);
  if (isDefinedHere) return warning(sentence, "punctual work");
  if (waiting === 0) return warning(sentence, removal);
  return warning(
    `${sentence}, and runs of it wait`,
    `start a worker that defines it, or delete it with these runs: ${removal}`,
  );
}

function compareQueues({ queues }: StatusReport, config: PunctualConfig): Finding[] {
  return Object.entries(config.queues ?? {}).flatMap(([name, { concurrency }]) => {
    const queue = queues.find((one) => one.name === name);
    if (!queue || concurrency === undefined || queue.limit === concurrency) return [];
    return [
      warning(
        `queue "${name}" may run ${limitText(concurrency)} at once according to the config, but ${limitText(queue.limit)} according to the database`,
        RESTART,
      ),
    ];
  });
}

function limitText(concurrency: number): string {
  return concurrency === 0 ? "any number" : String(concurrency);
}
