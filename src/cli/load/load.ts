import { instanceOptions, type PunctualConfig } from "../../config.ts";
import type { Engine } from "../../engine.ts";
import { isClass, type JobClass } from "../../job/handlers.ts";
import { setJobFileLoader } from "../../job-file-loader.ts";
import { Punctual } from "../../punctual.ts";
import { toMilliseconds } from "../../time.ts";
import { type ChosenDatabase, unite } from "./choose.ts";
import { describe, diagnose } from "./diagnose.ts";
import { defineExports, exportsJobs } from "./exports.ts";
import { DEFAULT_JOBS, findFiles, nameOfFile } from "./find-files.ts";
import { Gathering } from "./gathering.ts";
import { importFile } from "./import-file.ts";

export interface LoadOptions {
  config: PunctualConfig;
  /** Null: no option, variable or config names a database. */
  database: ChosenDatabase | null;
  /** Patterns of `--jobs`; undefined: those of the config. */
  patterns: readonly string[] | undefined;
  warn(message: string): void;
}

export interface Loaded {
  jobs: Punctual;
  files: string[];
  /** One line for each file that could not be loaded. */
  problems: string[];
  /** Patterns that match no file. */
  unmatched: string[];
  /** Whether an option, a variable, the config or a job file names the database. */
  named: boolean;
  gathering: Gathering;
}

/** Loads the job files one after the other, and unites their jobs in one instance. */
export async function loadFiles({ config, database, patterns, warn }: LoadOptions): Promise<Loaded> {
  const { files, unmatched } = findFiles(patterns ?? [config.jobs ?? DEFAULT_JOBS].flat(), process.cwd());
  const gathering = new Gathering(database?.source ?? null, instanceOptions(config), warn);
  setJobFileLoader(gathering);
  const timeout = toMilliseconds(config.loadTimeout ?? 10);
  const problems: string[] = [];
  const modules: [string, Record<string, unknown>][] = [];
  const classes: JobClass[] = [];
  const restore = keepOutputClean();
  const gone = () => warn(`${nameOfFile(gathering.file!)} ended the process while it was loaded.`);
  process.once("exit", gone);
  try {
    for (const file of files) {
      gathering.file = file;
      const before = gathering.definitions.size + gathering.instances.length;
      const imported = await importFile(file, timeout);
      if (imported.ok)
        for (const value of Object.values(imported.module)) if (isClass(value)) classes.push(value);
      if (!imported.ok) problems.push(describe(file, withOrigin(imported, gathering)));
      else if (exportsJobs(imported.module)) modules.push([file, imported.module]);
      else if (before === gathering.definitions.size + gathering.instances.length)
        tellEmpty(file, imported.module);
    }
  } finally {
    process.off("exit", gone);
    restore();
  }
  const jobs = await unite(gathering, database, () => new Punctual());
  for (const [file, module] of modules) {
    try {
      defineExports(jobs, file, module, gathering);
    } catch (error) {
      problems.push(
        describe(
          file,
          withOrigin({ problem: { ...diagnose(error, file), file: null, line: null }, error }, gathering),
        ),
      );
    }
  }
  gathering.file = null;
  const { registry } = engineOf(jobs, gathering);
  for (const jobClass of classes) registry.know(jobClass);
  limitQueues(jobs, config, gathering);
  const named = database !== null || gathering.instances.some(({ source }) => source !== null);
  return { jobs, files, problems, unmatched, named, gathering };

  /** Warns about a file without jobs, if it exports nothing or functions: these look like jobs by mistake. */
  function tellEmpty(file: string, module: Record<string, unknown>): void {
    const names = Object.entries(module).filter(([, value]) => typeof value === "function");
    if (names.length === 0 && Object.keys(module).length > 0) return;
    // The methods of a class become jobs when they are dispatched: [Class, "method"].
    if (names.some(([, value]) => isClass(value))) return;
    warn(
      `${nameOfFile(file)} has no jobs: define them with define(), or export a function by default or a class with handle(). Name files that are not jobs _….`,
    );
  }
}

/** Adds the place of the first definition to the error about a duplicate job. */
function withOrigin(
  { problem, error }: { problem: ReturnType<typeof diagnose>; error: unknown },
  { origins }: Gathering,
): ReturnType<typeof diagnose> {
  if ((error as { code?: unknown } | null)?.code !== "DUPLICATE_JOB") return problem;
  const name = /^Job "(.*?)" is defined already/s.exec((error as Error).message)?.[1];
  if (name === undefined) return problem;
  const message = `Job "${name}" is defined already, in ${origins.get(name) ?? "another file"}. Give one of them another name.`;
  return { ...problem, message, code: "DUPLICATE_JOB" };
}

function engineOf(jobs: Punctual, { instances }: Gathering): Engine {
  return instances.find(({ instance }) => instance === jobs)!.engine;
}

/** Applies the queue limits of the config; a limit in a job file takes precedence. */
function limitQueues(jobs: Punctual, { queues = {} }: PunctualConfig, gathering: Gathering): void {
  const engine = engineOf(jobs, gathering);
  for (const [name, limit] of Object.entries(queues)) {
    if (!engine.queueLimits.has(name)) jobs.queue(name, limit);
  }
}

/** Redirects console.log() of job files to standard error while they load: standard output is for data. */
function keepOutputClean(): () => void {
  const { log, info, debug } = console;
  Object.assign(console, { log: console.error, info: console.error, debug: console.error });
  return () => Object.assign(console, { log, info, debug });
}
