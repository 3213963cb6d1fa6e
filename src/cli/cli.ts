import type { PunctualConfig } from "../config.ts";
import type { Punctual } from "../punctual.ts";
import type { Globals } from "./input/options.ts";
import type { ChosenDatabase } from "./load/choose.ts";
import type { Loaded } from "./load/load.ts";
import type { FoundConfig } from "./load/read-config.ts";
import type { Output } from "./output/output.ts";

/** How to treat job files that cannot be loaded: warn, exit, or exit only if none could be loaded. */
export type LoadMode = "warn" | "refuse" | "keep-going";

/** The origin of the config and the database, and the result of loading each job file. */
export interface Sources {
  place(): Promise<FoundConfig & { database: ChosenDatabase | null }>;
  loaded(): Promise<Loaded>;
}

/** The context of a command: its output, its options, and access to the jobs. */
export interface Cli {
  /** Of the command that is being run. */
  readonly globals: Globals;
  readonly output: Output;
  /** Goes to the folder of `--cwd` and takes the variables of `--env-file`: what open() and load() do first. */
  enter(): Promise<void>;
  /** An instance on the database that was asked for. Job files are loaded only if nothing else names the database. */
  open(): Promise<Punctual>;
  /** The instance with every job of the config, or of `--jobs`. */
  load(broken?: LoadMode): Promise<Punctual>;
  /** The config; empty where there is none. */
  config(): Promise<PunctualConfig>;
  /** The database as it may be shown, without its password; null: not known here. */
  database(): Promise<string | null>;
  /** Every file that was loaded, the config first. */
  files(): Promise<string[]>;
  /** Origin of the config and the database; missing where commands are mounted on an instance. */
  readonly sources?: Sources;
}
