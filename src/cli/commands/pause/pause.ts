import { Argument, type Command } from "commander";
import { PunctualError } from "../../../errors.ts";
import type { PauseQueueOptions } from "../../../operate/pause.ts";
import type { Punctual } from "../../../punctual.ts";
import { type Duration, toMilliseconds } from "../../../time.ts";
import { checkName } from "../../../validate/names.ts";
import type { Cli } from "../../cli.ts";
import { duration } from "../../input/arguments.ts";
import { canAsk, confirm } from "../../input/ask.ts";
import { didYouMean, unknownJob } from "../../input/names.ts";
import { openExisting } from "../../load/database.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { operatorName, recordAction } from "../../record-action.ts";
import { stamp } from "../../render/formats.ts";
import { pageOf } from "../../render/page.ts";
import { findSchedules } from "../schedule/schedule-info.ts";
import { findWorkers, hostAndPid, OBEYED_SOON } from "../workers/find-workers.ts";

const PAUSABLE_KINDS = ["queue", "job", "schedule", "worker"] as const;
type PausableKind = (typeof PAUSABLE_KINDS)[number];

interface Options {
  all?: boolean;
  for?: Duration;
  reason?: string;
}

interface PauseResult {
  kind: PausableKind;
  name: string;
  /** Id of a schedule or worker; undefined for queues and jobs. */
  id?: number | string;
  until: Date | null;
}

/** `punctual pause` */
export function pause(command: Command, cli: Cli): void {
  addPausing(command, cli, true);
}

/** `punctual resume` */
export function resume(command: Command, cli: Cli): void {
  addPausing(command, cli, false);
}

function addPausing(command: Command, cli: Cli, paused: boolean): void {
  const verb = paused ? "pause" : "resume";
  command
    .description(
      paused
        ? "Stop claiming runs of queues or jobs, stop schedules, or stop workers from claiming. Running runs continue, and so does dispatching."
        : "Resume queues, jobs, schedules or workers. Ticks missed during the pause of a schedule are not made up.",
    )
    .addArgument(new Argument("[what]", "the kind").choices(PAUSABLE_KINDS))
    .argument(
      "[name...]",
      "its name; of a schedule the id, or the job for all of its schedules; of a worker its id or host:pid",
    )
    .option("--all", "every queue");
  if (paused) {
    command
      .option("--for <duration>", "queues only: resume after this long, such as 90s, 2h, 1d", duration)
      .option("--reason <text>", "the reason, shown with the pause");
  }
  command.action(async (kind: PausableKind | undefined, names: string[], options: Options) => {
    check(verb, kind, names, options);
    const jobs = await openExisting(cli);
    const until = options.for === undefined ? null : await endOf(jobs, options.for);
    const note = { by: operatorName(), ...(options.reason !== undefined && { reason: options.reason }) };
    const span = options.for === undefined ? {} : { for: options.for };
    const done: PauseResult[] = [];
    if (options.all) {
      const all = await (paused ? jobs.pauseAll({ ...span, ...note }) : jobs.resumeAll());
      for (const name of all) done.push({ kind: "queue", name, until });
    } else {
      for (const target of await targetsOf(cli, jobs, { kind: kind!, names, paused })) {
        await (paused ? pauseTarget(jobs, target, { ...span, ...note }) : resumeTarget(jobs, target));
        done.push({ ...target, until });
      }
    }
    for (const { kind, name, id } of done) {
      const target = id === undefined ? name : `${id} of ${name}`;
      const details = { ...span, ...(options.reason !== undefined && { reason: options.reason }) };
      await recordAction(cli, jobs, { action: `${kind}.${verb}`, target, details });
    }
    tell(cli, done, paused);
  });
}

function check(verb: string, kind: PausableKind | undefined, names: string[], options: Options): void {
  const example = `For example: punctual ${verb} queue emails`;
  if (options.all ? kind !== undefined : kind === undefined || names.length === 0) {
    throw new PunctualError(
      "INVALID_OPTION",
      options.all
        ? `--all means every queue: leave out the names. ${example}`
        : `${verb} expected a kind and a name. ${example}`,
    );
  }
  for (const name of names) checkName(name, `the name of a ${kind}`);
  if (options.for === undefined) return;
  if (kind !== "queue") {
    throw new PunctualError(
      "INVALID_OPTION",
      `--for is for queues: a ${kind} stays paused until it is resumed. Leave it out.`,
    );
  }
}

type Target = Omit<PauseResult, "until">;

/** Finds all targets before the first one is changed. */
async function targetsOf(
  cli: Cli,
  jobs: Punctual,
  { kind, names, paused }: { kind: PausableKind; names: string[]; paused: boolean },
): Promise<Target[]> {
  if (kind === "schedule") {
    const found = await Promise.all(names.map((name) => findSchedules(jobs, name)));
    return found.flat().map(({ id, job }) => ({ kind, name: job, id }));
  }
  if (kind === "worker") {
    const found = await findWorkers(jobs, names);
    return found.map((worker) => ({ kind, name: hostAndPid(worker), id: worker.id }));
  }
  if (kind === "job") {
    const known = (await jobs.status()).jobs.map(({ name }) => name);
    for (const name of names) if (!known.includes(name)) throw unknownJob(name, known);
  } else {
    const known = await knownQueues(jobs);
    for (const name of names) if (!known.includes(name)) await unknownQueue(cli, name, known, paused);
  }
  return names.map((name) => ({ kind, name }));
}

/** Asks before pausing an unknown queue: a queue can be paused before its first run, but the name may be a typo. */
async function unknownQueue(cli: Cli, name: string, known: string[], paused: boolean): Promise<void> {
  const message = `There is no queue "${name}".${didYouMean(name, known)}`;
  if (!paused) throw new Exit(exitCodes.notFound, message);
  if (cli.globals.yes) return;
  if (!canAsk(cli)) throw new Exit(exitCodes.notFound, `${message} To pause it before its first run: --yes`);
  await confirm(cli, `${message} Pause it before its first run?`);
}

async function knownQueues(jobs: Punctual): Promise<string[]> {
  const status = await jobs.status();
  const ofSchedules = (await jobs.schedules()).flatMap(({ queue }) => queue ?? []);
  const names = [...status.queues.map(({ name }) => name), ...status.jobs.map(({ queue }) => queue)];
  return [...new Set([...names, ...ofSchedules])].sort();
}

/** `for` is for queues only: check() has refused it for the others. */
async function pauseTarget(
  jobs: Punctual,
  { kind, name, id }: Target,
  { for: span, ...note }: PauseQueueOptions,
): Promise<void> {
  if (kind === "queue") await jobs.pauseQueue(name, { for: span, ...note });
  else if (kind === "job") await jobs.pauseJob(name, note);
  else if (kind === "worker") await jobs.pauseWorker(String(id), note);
  else await jobs.pauseSchedule(Number(id), note);
}

async function resumeTarget(jobs: Punctual, { kind, name, id }: Target): Promise<void> {
  if (kind === "queue") await jobs.resumeQueue(name);
  else if (kind === "job") await jobs.resumeJob(name);
  else if (kind === "worker") await jobs.resumeWorker(String(id));
  else await jobs.resumeSchedule(Number(id));
}

async function endOf(jobs: Punctual, span: Duration): Promise<Date> {
  const { now } = await jobs.status();
  return new Date(now.getTime() + toMilliseconds(span));
}

function tell(cli: Cli, done: PauseResult[], paused: boolean): void {
  const { output } = cli;
  const word = paused ? "paused" : "resumed";
  if (output.isJson) {
    output.json({ [word]: done });
    return;
  }
  for (const { kind, name, id, until } of done) {
    const which = id === undefined ? plain(name) : `${id} of ${plain(name)}`;
    const end = until === null ? "" : ` until ${stamp(until, pageOf(cli).zone)}`;
    output.print(
      `${kind} ${which} ${kind === "worker" ? `is asked to ${paused ? "pause" : "resume"}` : word}${end}`,
    );
  }
  if (done.some(({ kind }) => kind === "worker")) output.note(OBEYED_SOON);
  if (done.length === 0) output.note(paused ? "The database has no queue yet." : "No queue was paused.");
}
