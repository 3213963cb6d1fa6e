import { instanceOptions, type PunctualConfig } from "../../config.ts";
import type { NamedDatabase } from "../../database-choice.ts";
import type { Engine } from "../../engine.ts";
import { isClass, type JobClass } from "../../job/handlers.ts";
import { setJobFileLoader } from "../../job-file-loader.ts";
import { Punctual } from "../../punctual.ts";
import { toMilliseconds } from "../../time.ts";
import { diagnose, problemLine } from "./diagnose.ts";
import { defineExports, exportsJobs } from "./exports.ts";
import { DEFAULT_JOBS, findFiles, nameOfFile } from "./find-files.ts";
import { importFile } from "./import-file.ts";
import { JobRecorder } from "./job-recorder.ts";
import { uniteInstances } from "./unite-instances.ts";

export interface LoadOptions {
  config: PunctualConfig;
  /** Null: no option, variable or config names a database. */
  database: NamedDatabase | null;
  /** Patterns of `--jobs`; undefined: those of the config. */
  patterns: readonly string[] | undefined;
  warn(message: string): void;
}

export interface LoadResult {
  jobs: Punctual;
  files: string[];
  /** One line for each file that could not be loaded. */
  problems: string[];
  /** Patterns that match no file. */
  unmatched: string[];
  /** Whether an option, a variable, the config or a job file names the database. */
  named: boolean;
  recorder: JobRecorder;
}

/** Loads the job files one after the other, and unites their jobs in one instance. */
export async function loadFiles({ config, database, patterns, warn }: LoadOptions): Promise<LoadResult> {
  const { files, unmatched } = findFiles(patterns ?? [config.jobs ?? DEFAULT_JOBS].flat(), process.cwd());
  const recorder = new JobRecorder(database?.source ?? null, instanceOptions(config), warn);
  setJobFileLoader(recorder);
  const timeout = toMilliseconds(config.loadTimeout ?? 10);
  const problems: string[] = [];
  const modules: [string, Record<string, unknown>][] = [];
  const classes: JobClass[] = [];
  const restore = keepOutputClean();
  const gone = () => warn(`${nameOfFile(recorder.file!)} ended the process while it was loaded.`);
  process.once("exit", gone);
  try {
    for (const file of files) {
      recorder.file = file;
      const before = recorder.definitions.size + recorder.instances.length;
      const imported = await importFile(file, timeout);
      if (imported.ok)
        for (const value of Object.values(imported.module)) if (isClass(value)) classes.push(value);
      if (!imported.ok) problems.push(problemLine(file, withOrigin(imported, recorder)));
      else if (exportsJobs(imported.module)) modules.push([file, imported.module]);
      else if (before === recorder.definitions.size + recorder.instances.length)
        warnAboutEmpty(file, imported.module);
    }
  } finally {
    process.off("exit", gone);
    restore();
  }
  const jobs = await uniteInstances(recorder, database, () => new Punctual());
  for (const [file, module] of modules) {
    try {
      defineExports(jobs, file, module, recorder);
    } catch (error) {
      problems.push(
        problemLine(
          file,
          withOrigin({ problem: { ...diagnose(error, file), file: null, line: null }, error }, recorder),
        ),
      );
    }
  }
  recorder.file = null;
  const { registry } = engineOf(jobs, recorder);
  for (const jobClass of classes) registry.know(jobClass);
  limitQueues(jobs, config, recorder);
  const named = database !== null || recorder.instances.some(({ source }) => source !== null);
  return { jobs, files, problems, unmatched, named, recorder };

  /** Warns about a file without jobs, if it exports nothing or functions: these look like jobs by mistake. */
  function warnAboutEmpty(file: string, module: Record<string, unknown>): void {
    const names = Object.entries(module).filter(([, value]) => typeof value === "function");
    if (names.length === 0 && Object.keys(module).length > 0) return;
    // The methods of a class become jobs when they are dispatched: [Class, "method"].
    if (names.some(([, value]) => isClass(value))) return;
    warn(
      `${nameOfFile(file)} has no jobs: define them with define(), or export a function by default or a class with handle(). Name files that are not jobs _….`,
    );
  }
}

/** Adds file and line of the first definition to the error about a duplicate job. */
function withOrigin(
  { problem, error }: { problem: ReturnType<typeof diagnose>; error: unknown },
  { origins }: JobRecorder,
): ReturnType<typeof diagnose> {
  if ((error as { code?: unknown } | null)?.code !== "DUPLICATE_JOB") return problem;
  const name = /^Job "(.*?)" is defined already/s.exec((error as Error).message)?.[1];
  if (name === undefined) return problem;
  const message = `Job "${name}" is defined already, in ${origins.get(name) ?? "another file"}. Give one of them another name.`;
  return { ...problem, message, code: "DUPLICATE_JOB" };
}

function engineOf(jobs: Punctual, { instances }: JobRecorder): Engine {
  return instances.find(({ instance }) => instance === jobs)!.engine;
}

/** Applies the queue options of the config; those in a job file take precedence. */
function limitQueues(jobs: Punctual, { queues = {} }: PunctualConfig, recorder: JobRecorder): void {
  const engine = engineOf(jobs, recorder);
  for (const [name, limit] of Object.entries(queues)) {
    if (!engine.queueLimits.has(name) && !engine.queueOrders.has(name)) jobs.queue(name, limit);
  }
}

/** Redirects console.log() of job files to standard error while they load: standard output is for data. */
function keepOutputClean(): () => void {
  const { log, info, debug } = console;
  Object.assign(console, { log: console.error, info: console.error, debug: console.error });
  return () => Object.assign(console, { log, info, debug });
}
