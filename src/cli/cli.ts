import type { PunctualConfig } from "../config.ts";
import type { NamedDatabase } from "../database-choice.ts";
import type { Punctual } from "../punctual.ts";
import type { Globals } from "./input/options.ts";
import type { LoadResult } from "./load/load.ts";
import type { ConfigFile } from "./load/read-config.ts";
import type { Output } from "./output/output.ts";

/** How to treat job files that cannot be loaded: warn, exit, or exit only if none could be loaded. */
export type LoadMode = "warn" | "refuse" | "keep-going";

/** The origin of the config and the database, and the result of loading each job file. */
export interface Sources {
  setup(): Promise<ConfigFile & { database: NamedDatabase | null }>;
  loadJobFiles(): Promise<LoadResult>;
}

/** The context of a command: its output, its options, and access to the jobs. */
export interface Cli {
  /** Global options of the running command. */
  readonly globals: Globals;
  readonly output: Output;
  /** Changes to the folder of `--cwd` and loads the variables of `--env-file`. open() and load() call it first. */
  enter(): Promise<void>;
  /** Returns an instance on the named database. Loads the job files only if nothing else names a database. */
  open(): Promise<Punctual>;
  /** Returns the instance with every job of the config, or of `--jobs`. */
  load(broken?: LoadMode): Promise<Punctual>;
  /** Returns the config; empty if the project has none. */
  config(): Promise<PunctualConfig>;
  /** Returns the database without its password, for display; null: not known, because the commands are mounted. */
  database(): Promise<string | null>;
  /** Returns every loaded file, the config first. */
  files(): Promise<string[]>;
  /** Origin of the config and the database; undefined if the commands are mounted on an instance. */
  readonly sources?: Sources;
}
