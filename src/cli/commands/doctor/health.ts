import type { PunctualConfig } from "../../../config.ts";
import type { Punctual } from "../../../punctual.ts";
import { Cron } from "../../../schedule/cron.ts";
import { heldCommand, pruneJobCommand, workCommand } from "../../../status/hints.ts";
import { type ScheduleInfo, type StatusReport, undefinedTimes, waitingIn } from "../../../status/report.ts";
import { silenceOf } from "../../../status/silence.ts";
import type { Inspection } from "../../../store/maintenance.ts";
import { serves } from "../../../store/queue-selection.ts";
import { WORKER_FORGOTTEN_AFTER } from "../../../store/store.ts";
import { plain } from "../../output/output.ts";
import { counted, span } from "../../render/formats.ts";
import { type Finding, fixable, ok, warning } from "../../views/finding.ts";
import { scheduleViews } from "../schedule/schedule-info.ts";
import { openBatches } from "./batches.ts";
import { pauses } from "./pauses.ts";

/** Checks that workers run the runs and schedules in the database. */
export async function health(
  jobs: Punctual,
  inspection: Inspection,
  config: PunctualConfig,
): Promise<Finding[]> {
  const status = await jobs.status();
  return [
    ...workers(status),
    ...silent(status),
    ...leftBehind(inspection, status),
    ...pauses(status),
    ...isolated(status),
    ...schedules(await jobs.schedules(), status),
    ...(await openBatches(jobs)),
    ...definitions(jobs, status, config),
  ];
}

function silent({ silent: all, workers, now }: StatusReport): Finding[] {
  const others = workers.filter(({ parallel }) => parallel > 0).length;
  return all.map((worker) =>
    warning(
      silenceOf(worker, { now, others }).replace(/\.$/, ""),
      others === 0 ? "punctual work" : plain(heldCommand(worker)),
    ),
  );
}

/** Runs and rows that dead workers left. Leaves out the workers and leases that the findings of `silent()` name. */
function leftBehind({ expired, deadWorkers, now }: Inspection, status: StatusReport): Finding[] {
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

function isolated({ isolated: runs }: StatusReport): Finding[] {
  return runs.map(({ id, name, worker, child, startedAt }) => {
    const where = child === null ? worker : `${worker}, child ${child.split(":")[0]}`;
    const what = startedAt === null ? "waits to be alone" : "is alone";
    return warning(`run ${id} of "${name}" has crashed, and ${what} on ${where}`, `punctual show ${id}`);
  });
}

function workers({ workers: all, queues, jobs, silent: dead }: StatusReport): Finding[] {
  const alive = all.filter(({ parallel }) => parallel > 0);
  const slots = alive.reduce((sum, { parallel }) => sum + parallel, 0);
  const waits = queues.filter((queue) => waitingIn(queue) > 0 && !queue.paused);
  if (alive.length === 0) {
    const waiting = waits.reduce((sum, queue) => sum + waitingIn(queue), 0);
    const ticks = jobs.some(({ nextRun }) => nextRun !== null);
    // The findings about dead workers already name the waiting runs.
    if (waiting === 0 && !ticks && dead.length > 0) return [];
    if (waiting === 0 && !ticks) return [ok("no worker is alive, and nothing waits for one")];
    const why = waiting > 0 ? `${counted(waiting, "run")} due` : "schedules to tick";
    return [warning(`no worker is alive, with ${why}`, "punctual work")];
  }
  const unserved = waits.filter(({ name }) => !alive.some((worker) => serves(worker, name)));
  const ticks = alive.some(({ schedules }) => schedules) || jobs.every(({ nextRun }) => nextRun === null);
  return [
    ok(`${counted(alive.length, "worker")}, ${counted(slots, "slot")}`),
    ...(ticks
      ? []
      : [warning("no worker ticks schedules: all were started with --no-schedule", "punctual work")]),
    ...unserved.map((queue) => {
      const waiting = waitingIn(queue);
      return warning(
        `no worker serves the queue "${queue.name}", where ${counted(waiting, "run")} ${waiting === 1 ? "waits" : "wait"}`,
        plain(workCommand(queue.name)),
      );
    }),
  ];
}

function schedules(all: ScheduleInfo[], status: StatusReport): Finding[] {
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

/** Differences between the code here and the database: workers run other code, or none has synced its jobs yet. */
function definitions(jobs: Punctual, status: StatusReport, config: PunctualConfig): Finding[] {
  const findings: Finding[] = [];
  const unseenFor = undefinedTimes(status);
  const defined = new Map(jobs.definitions().map((definition) => [definition.name, definition]));
  const restart = "restart the workers with this code: punctual work";
  for (const job of status.jobs) {
    const definition = defined.get(job.name);
    if (definition && job.seenAt !== null && job.limit !== definition.settings.concurrency) {
      findings.push(
        warning(
          `job "${job.name}" may run ${limit(definition.settings.concurrency)} at once according to the code here, but ${limit(job.limit)} according to the database`,
          restart,
        ),
      );
    }
    const unseen = unseenFor(job);
    if (unseen !== null) {
      const sentence = `no live worker has defined job "${job.name}" for ${span(unseen)}`;
      const removal = pruneJobCommand(job.name);
      if (definition) findings.push(warning(sentence, "punctual work"));
      else if (job.waiting === 0) findings.push(warning(sentence, removal));
      else {
        findings.push(
          warning(
            `${sentence}, and runs of it wait`,
            `start a worker that defines it, or delete it with these runs: ${removal}`,
          ),
        );
      }
    }
  }
  for (const [name, { concurrency }] of Object.entries(config.queues ?? {})) {
    const queue = status.queues.find((one) => one.name === name);
    if (!queue || concurrency === undefined || queue.limit === concurrency) continue;
    findings.push(
      warning(
        `queue "${name}" may run ${limit(concurrency)} at once according to the config, but ${limit(queue.limit)} according to the database`,
        restart,
      ),
    );
  }
  for (const { name, plan } of defined.values()) {
    const surprise = plan.warning(status.now.getTime());
    if (surprise !== null) findings.push(warning(`job "${name}": ${surprise}`));
  }
  return findings;
}

function limit(concurrency: number): string {
  return concurrency === 0 ? "any number" : String(concurrency);
}
