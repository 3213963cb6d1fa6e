import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { PunctualConfig } from "../config.ts";
import { chooseDatabase, DEFAULT_DATABASE, type NamedDatabase } from "../database-choice.ts";
import { formatPath } from "../errors.ts";
import type { Punctual } from "../punctual.ts";
import type { Cli, LoadMode } from "./cli.ts";
import type { Globals } from "./input/options.ts";
import type { LoadResult } from "./load/load.ts";
import type { ConfigFile } from "./load/read-config.ts";
import { Exit, exitCodes } from "./output/exit-codes.ts";
import { type Output, plain } from "./output/output.ts";
import { iconsFor } from "./render/icons.ts";

interface Setup extends ConfigFile {
  database: NamedDatabase | null;
}

/** One call of the command line. Loads modules, config and jobs on demand: help must not wait for a database. */
export class Session implements Cli {
  readonly globals: Globals;
  readonly output: Output;
  #entered = false;
  #setup: Promise<Setup> | null = null;
  #opened: Promise<Punctual> | null = null;
  #loaded: Promise<LoadResult> | null = null;

  constructor(globals: Globals, output: Output) {
    this.globals = globals;
    this.output = output;
  }

  open(): Promise<Punctual> {
    this.#opened ??= (async () => {
      if (this.#loaded) return (await this.#loaded).jobs;
      const { database, config } = await this.setup();
      if (!database) return this.load();
      const { Punctual } = await import("../punctual.ts");
      return new Punctual(database.source, config.prefix === undefined ? {} : { prefix: config.prefix });
    })();
    return this.#opened;
  }

  async load(broken: LoadMode = "warn"): Promise<Punctual> {
    const { jobs, problems, files, unmatched } = await this.loadJobFiles();
    const mark = this.output.paint("red", iconsFor().failed, this.output.stderr);
    for (const problem of problems) this.output.complain(`${mark} ${problem}`);
    if (broken === "warn") return jobs;
    const [pattern] = unmatched;
    if (pattern !== undefined && (files.length === 0 || this.globals.jobs)) {
      throw new Exit(
        exitCodes.notLoaded,
        `No job file matches ${formatPath(plain(pattern))}. Name the job files with --jobs, or create one: punctual init`,
      );
    }
    if (problems.length > 0 && broken === "refuse") {
      const count = problems.length === 1 ? "One job file" : `${problems.length} job files`;
      throw new Exit(
        exitCodes.notLoaded,
        `${count} of ${files.length} could not be loaded. To work with the others: --keep-going`,
      );
    }
    return jobs;
  }

  async config(): Promise<PunctualConfig> {
    return (await this.setup()).config;
  }

  async database(): Promise<string | null> {
    const { database } = await this.setup();
    const opened = (await this.#loaded)?.recorder.instances.find(({ source }) => source !== null);
    const { databaseLabel } = await import("./load/database.ts");
    return databaseLabel(database?.source ?? opened?.source ?? DEFAULT_DATABASE);
  }

  async files(): Promise<string[]> {
    const { file } = await this.setup();
    return [...(file === null ? [] : [resolve(file)]), ...((await this.#loaded)?.files ?? [])];
  }

  get sources(): Session {
    return this;
  }

  /** Loads the job files, once. */
  loadJobFiles(): Promise<LoadResult> {
    this.#loaded ??= (async () => {
      const { config, database } = await this.setup();
      const warn = (message: string) => this.output.complain(`punctual: ${plain(message)}`);
      const { loadFiles } = await import("./load/load.ts");
      const loaded = await loadFiles({ config, database, patterns: this.globals.jobs, warn });
      if (!loaded.named && !existsSync("punctual.db"))
        this.output.note(`punctual: no database given: using ${DEFAULT_DATABASE}`);
      return loaded;
    })();
    return this.#loaded;
  }

  /** Reads the config, once, and finds out which option, variable or file names the database. */
  setup(): Promise<Setup> {
    this.#setup ??= this.#readSetup();
    return this.#setup;
  }

  async enter(): Promise<void> {
    if (this.#entered) return;
    this.#entered = true;
    const { cwd, envFile } = this.globals;
    // Before chdir: Node has the same option, and resolves its file from the folder in which it was started.
    if (envFile !== undefined) {
      if (!existsSync(envFile))
        throw new Exit(exitCodes.usage, `There is no file ${plain(envFile)} (--env-file).`);
      process.loadEnvFile(envFile);
    }
    if (cwd !== undefined) {
      if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
        throw new Exit(exitCodes.usage, `There is no folder ${plain(cwd)} (--cwd).`);
      process.chdir(cwd);
    }
    // Child processes get the same arguments, but start in this folder and with these variables.
    process.argv = withoutOptions(process.argv, ["--cwd", "--env-file"]);
  }

  async #readSetup(): Promise<Setup> {
    await this.enter();
    const { readConfig } = await import("./load/read-config.ts");
    const found = await readConfig(this.globals.config);
    const database = chooseDatabase({ option: this.globals.db, ...found });
    // Instances without a URL in the job files must open the same database.
    if (typeof database?.source === "string") process.env.PUNCTUAL_DATABASE_URL = database.source;
    return { ...found, database };
  }

  async close(): Promise<void> {
    const loaded = await this.#loaded?.catch(() => null);
    const opened = await this.#opened?.catch(() => null);
    await Promise.all([opened?.stop(), loaded?.jobs.stop()]);
  }

  /** Whether a config or job files were loaded: their code may keep the process alive. */
  get hasLoadedCode(): boolean {
    return this.#loaded !== null || this.#setup !== null;
  }
}

function withoutOptions(argv: string[], names: string[]): string[] {
  return argv.filter((argument, index) => {
    if (names.includes(argument) || names.includes(argv[index - 1]!)) return false;
    return !names.some((name) => argument.startsWith(`${name}=`));
  });
}
