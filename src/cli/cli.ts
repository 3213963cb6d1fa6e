import type { PunctualConfig } from "../config.ts";
import type { Punctual } from "../punctual.ts";
import type { Globals } from "./input/options.ts";
import type { ChosenDatabase } from "./load/choose.ts";
import type { Loaded } from "./load/load.ts";
import type { FoundConfig } from "./load/read-config.ts";
import type { Output } from "./output/output.ts";

/** What to do about job files that cannot be loaded: say so; end with it; or only without any file at all. */
export type LoadMode = "warn" | "refuse" | "keep-going";

/** Who named the config and the database, and what became of each job file. */
export interface Sources {
  place(): Promise<FoundConfig & { database: ChosenDatabase | null }>;
  loaded(): Promise<Loaded>;
}

/** What a command works with: where to write, what it was told, and the way to the jobs. */
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
  /** What the config says; nothing where there is none. */
  config(): Promise<PunctualConfig>;
  /** The database as it may be shown, without its password; null: not known here. */
  database(): Promise<string | null>;
  /** Every file that was loaded, the config first. */
  files(): Promise<string[]>;
  /** How it came to all that; missing where the commands are on an instance of somebody's own. */
  readonly sources?: Sources;
}
