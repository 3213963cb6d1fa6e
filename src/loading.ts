import { instanceOptions } from "./config.ts";
import { configHere } from "./config-file.ts";
import type { Engine } from "./engine.ts";
import type { Definition } from "./job/definition.ts";
import type { PunctualOptions } from "./options.ts";
import type { DatabaseSource } from "./store/open.ts";
import { version } from "./version.ts";

/** An instance that was made while job files were loaded. */
export interface Made {
  readonly instance: object;
  readonly version: string;
  /** Which copy of the package it is of. */
  readonly copy: string;
  /** Null: it names no database. */
  readonly source: DatabaseSource | null;
  readonly prefix: string;
  readonly engine: Engine;
  /** From now on it runs on this one. */
  become(engine: Engine): void;
}

/** Whoever loads job files to work with what is in them: hears of every instance and every job. */
export interface Loading {
  /** What an instance gets that names no database. */
  readonly source: DatabaseSource | null;
  readonly options: Pick<PunctualOptions, "prefix" | "defaults">;
  made(made: Made): void;
  defined(definition: Definition<never>): void;
  /** Whether files may not start to work by themselves now; says so if they wanted to. */
  holds(method: string): boolean;
  /** What is called in here may work. */
  freely<Result>(work: () => Result): Result;
}

/** Through the global object: the program that loads and the files it loads may have a copy of the package each. */
const KEY: unique symbol = Symbol.for("punctual.loading") as never;

type Global = { [KEY]?: Loading };

/** Null: nobody loads this program's files for it. */
export function loading(): Loading | null {
  return (globalThis as Global)[KEY] ?? null;
}

export function setLoading(loading: Loading): void {
  (globalThis as Global)[KEY] = loading;
}

/** Lets a call through that would be left out in a job file. */
export function freely<Result>(work: () => Result): Result {
  const loaded = loading();
  return loaded ? loaded.freely(work) : work();
}

/** Tells whoever loads the file that an instance was made in it. */
export function tellMade(made: Omit<Made, "version" | "copy">): void {
  loading()?.made({ ...made, version: version(), copy: new URL(".", import.meta.url).href });
}

/** What an instance gets that names no database: from its loader, else from the config of this folder. */
export function surroundings(): Pick<Loading, "source" | "options"> | null {
  const loader = loading();
  if (loader) return loader;
  const config = configHere();
  if (!config) return null;
  // As on the command line, the environment comes before the config.
  const source = process.env.PUNCTUAL_DATABASE_URL ? null : (config.database ?? null);
  return { source, options: instanceOptions(config) };
}

/** The options of an instance in these surroundings; its own come first. */
export function withSurroundings(
  own: PunctualOptions,
  around: Pick<Loading, "options"> | null,
): PunctualOptions {
  if (!around) return own;
  const defaults = { ...around.options.defaults, ...own.defaults };
  return { ...around.options, ...own, defaults };
}
