import { instanceOptions } from "./config.ts";
import { configHere } from "./config-file.ts";
import { chooseDatabase } from "./database-choice.ts";
import type { Engine } from "./engine.ts";
import type { Definition } from "./job/definition.ts";
import type { Defaults } from "./job/settings.ts";
import type { PunctualOptions } from "./options.ts";
import type { DatabaseSource } from "./store/open.ts";
import { withoutUndefined } from "./validate/options.ts";
import { version } from "./version.ts";

/**
 * An instance that a job file created. Do not rename its members: a job file may use another version of the package,
 * and that version fills them.
 */
export interface LoadedInstance {
  readonly instance: object;
  readonly version: string;
  /** Folder of the copy of the package that created the instance. */
  readonly copy: string;
  /** Null when the instance names no database. */
  readonly source: DatabaseSource | null;
  readonly prefix: string;
  readonly engine: Engine;
  /** Replaces the engine that the instance runs on. */
  become(engine: Engine): void;
}

/**
 * The command that loads job files. Instances report to it the instances and jobs that the files create. Do not rename
 * its members: a job file may use another version of the package, which the loader only detects after that version's
 * calls.
 */
export interface JobFileLoader {
  /** Database of instances that name none. */
  readonly source: DatabaseSource | null;
  readonly options: Pick<PunctualOptions, "prefix" | "defaults">;
  /** Called for each new instance. */
  made(instance: LoadedInstance): void;
  /** Called for each new definition. */
  defined(definition: Definition<never>): void;
  /**
   * Whether a call of `run()`, `forever()` or `supervise()` must be ignored, because a job file makes it while the
   * command loads files. Warns about the ignored call.
   */
  holds(method: string): boolean;
  /** Runs `work`; calls in it are not ignored. */
  freely<Result>(work: () => Result): Result;
}

/** Key on the global object, because the command and the job files may each have their own copy of the package. */
const KEY: unique symbol = Symbol.for("punctual.loading") as never;

type GlobalScope = { [KEY]?: JobFileLoader };

/** Returns the loader of this program's job files; null when the program runs by itself. */
export function jobFileLoader(): JobFileLoader | null {
  return (globalThis as GlobalScope)[KEY] ?? null;
}

export function setJobFileLoader(loader: JobFileLoader): void {
  (globalThis as GlobalScope)[KEY] = loader;
}

/** Runs `work`; the loader, if there is one, ignores no call in it. */
export function allowWork<Result>(work: () => Result): Result {
  const loader = jobFileLoader();
  return loader ? loader.freely(work) : work();
}

/** Reports a new instance to the loader of job files, if there is one. */
export function reportInstance(instance: Omit<LoadedInstance, "version" | "copy">): void {
  jobFileLoader()?.made({ ...instance, version: version(), copy: new URL(".", import.meta.url).href });
}

/**
 * Returns the database and options of an instance that names none: the loader's, else those of the config file; null
 * without either.
 */
export function inheritedOptions(): Pick<JobFileLoader, "source" | "options"> | null {
  const loader = jobFileLoader();
  if (loader) return loader;
  const config = configHere();
  if (!config) return null;
  return { source: chooseDatabase({ config })?.source ?? null, options: instanceOptions(config) };
}

/** Merges the options of an instance with the inherited ones; its own take precedence. */
export function withInherited(
  own: PunctualOptions,
  inherited: Pick<JobFileLoader, "options"> | null,
): PunctualOptions {
  if (!inherited) return own;
  const defaults = withDefaults(inherited.options.defaults, own.defaults);
  return { ...inherited.options, ...withoutUndefined(own), defaults };
}

/**
 * Merges defaults; own ones take precedence. `attempts` and `retries` are one setting: an own one of either name
 * replaces both inherited ones.
 */
function withDefaults(inherited: Defaults = {}, own: Defaults = {}): Defaults {
  const given = withoutUndefined(own);
  if (!("attempts" in given || "retries" in given)) return { ...inherited, ...given };
  const { attempts: _, retries: __, ...rest } = inherited;
  return { ...rest, ...given };
}
