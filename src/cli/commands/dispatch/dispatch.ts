import type { Command } from "commander";
import type { DispatchOptions } from "../../../dispatch/dispatch.ts";
import { isPunctualError } from "../../../errors.ts";
import { allowWork } from "../../../job-file-loader.ts";
import type { Punctual } from "../../../punctual.ts";
import { randomText } from "../../../random.ts";
import type { Run } from "../../../run/run.ts";
import type { Duration, Instant } from "../../../time.ts";
import type { Cli } from "../../cli.ts";
import { duration, instant, integer, names } from "../../input/arguments.ts";
import { repeated } from "../../input/options.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { duration as durationText } from "../../render/formats.ts";
import { readPayload } from "./payload.ts";

interface Options {
  set?: string[];
  delay?: Duration;
  at?: Instant;
  queue?: string;
  priority?: number;
  unique?: string;
  key?: string;
  tags?: string[];
  wait?: Duration | true;
  sync?: boolean;
}

const DEFAULT_WAIT = 60;

export default function dispatch(command: Command, cli: Cli): void {
  command
    .description("Dispatch a run of a job and print its id.")
    .argument("<job>", "the name of the job")
    .argument("[arguments]", "its arguments: JSON, @file, or - for standard input")
    .option(
      "--set <key=value>",
      "set one argument, such as name=Ada or address.city=Bonn; may be repeated",
      repeated,
    )
    .option("--delay <time>", "due this long from now, such as 5m", duration)
    .option("--at <time>", "due then, such as 2026-12-01T10:00:00Z or +90s", instant)
    .option("--queue <name>", "on this queue")
    .option("--priority <n>", "lower runs sooner", integer(-(2 ** 31)))
    .option("--unique <key>", "only if no other run has this key")
    .option("--key <key>", "key of its limit per key")
    .option("--tags <names>", "such as import,customer-7", names("a tag"))
    .option("--wait [time]", `wait for its end, at most this long (default: ${DEFAULT_WAIT}s)`, duration)
    .option("--sync", "run it in this process at once, with one attempt")
    .action(async (job: string, given: string | undefined, options: Options) => {
      checkTogether(options);
      const args = await readPayload(given, options.set ?? []);
      const jobs = await cli.load();
      try {
        if (options.sync) return await runHere(cli, jobs, job, args);
        const run = await jobs.dispatch(job, args, shapeOf(options));
        await tell(cli, jobs, run, options);
      } catch (error) {
        throw rewordForShell(error, job, options);
      }
    });
}

const SHAPING = ["delay", "at", "queue", "priority", "unique", "key", "tags"] as const;

function checkTogether(options: Options): void {
  if (options.delay !== undefined && options.at !== undefined) {
    throw new Exit(exitCodes.usage, "--delay and --at both set the due time. Leave one of them out.");
  }
  const first = options.sync && ([...SHAPING, "wait"] as const).find((name) => options[name] !== undefined);
  if (first)
    throw new Exit(
      exitCodes.usage,
      `--sync runs the job here at once: --${first} has no effect with it. Leave it out.`,
    );
}

/** Rewords errors that suggest methods of the library: a user of the command line needs commands. */
function rewordForShell(error: unknown, job: string, { sync }: Options): unknown {
  if (!isPunctualError(error)) return error;
  if (error.code === "WAIT_TIMED_OUT") {
    const message = error.message.replace(
      / Wait longer, or call why\((\d+)\) for the reason\.$/,
      " See: punctual show $1",
    );
    return new Exit(exitCodes.timedOut, `${message} (${error.code})`);
  }
  if (error.code !== "UNKNOWN_JOB") return error;
  const hint =
    / Did you mean .*?\?/.exec(error.message)?.[0] ??
    " To see the files and the database in use: punctual doctor";
  const what = sync
    ? `No job file defines "${job}", so it cannot run here.`
    : `There is no job "${job}", neither in the job files nor in the database.`;
  return new Exit(exitCodes.notFound, `${what}${hint} (${error.code})`);
}

function shapeOf(options: Options): DispatchOptions {
  return Object.fromEntries(
    SHAPING.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  );
}

async function tell(cli: Cli, jobs: Punctual, run: Run, options: Options): Promise<void> {
  const { output } = cli;
  const { id, name, inserted } = run;
  if (options.wait === undefined) {
    if (output.isJson) output.json({ id, job: name, inserted });
    else {
      output.print(String(id));
      output.note(
        inserted
          ? `run ${id} of ${plain(name)} dispatched`
          : `run ${id} of ${plain(name)} already has this unique key: no run was inserted`,
      );
    }
    return;
  }
  if (!output.isJson) output.print(String(id));
  const failure = await run
    .wait({ timeout: options.wait === true ? DEFAULT_WAIT : options.wait })
    .then(() => null)
    .catch((error) => error);
  const ended = isPunctualError(failure) && failure.code === "WAIT_TIMED_OUT" ? null : await jobs.find(id);
  if (output.isJson) {
    const { state = null, result = null, error = null } = ended ?? {};
    output.json({ id, job: name, inserted, state, result: result ?? null, error });
  }
  if (failure !== null) throw failure;
  output.note(`run ${id} of ${plain(name)} completed`);
}

/** Runs a job in this process. The run has a queue of its own, so that no other run is claimed. */
export async function runHere(cli: Cli, jobs: Punctual, job: string, args: unknown): Promise<void> {
  const { output } = cli;
  const queue = `here-${randomText().slice(0, 8)}`;
  let took = 0;
  for (const end of ["run.completed", "run.failed", "run.skipped", "run.cancelled"] as const) {
    jobs.on(end, (event) => {
      took = event.duration;
    });
  }
  const run = await jobs.dispatchHere(job, args).queue(queue);
  await allowWork(() => jobs.forever({ queues: [queue], schedules: false, limit: 1, untilEmpty: true }));
  const ended = await jobs.find(run.id);
  const { state = "completed", result = null, error = null } = ended ?? {};
  if (output.isJson) output.json({ id: run.id, job, inserted: true, state, result: result ?? null, error });
  else {
    output.print(String(run.id));
    const why = error ? `: ${plain(error.message.split("\n")[0] ?? "")}` : "";
    output.note(`run ${run.id} of ${plain(job)} ${state} in ${durationText(took)}${why}`);
  }
  if (state !== "completed") throw new Exit(exitCodes.failed);
}
