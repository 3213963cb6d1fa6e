import { fileURLToPath } from "node:url";
import type { Definition } from "../../job/definition.ts";
import type { JobFileLoader, LoadedInstance } from "../../job-file-loader.ts";
import type { PunctualOptions } from "../../options.ts";
import type { DatabaseSource } from "../../store/open.ts";
import { nameOfFile } from "./find-files.ts";

/** Records the instances and jobs that job files create, and ignores their calls of `run()` and the like. */
export class JobRecorder implements JobFileLoader {
  readonly source: DatabaseSource | null;
  readonly options: Pick<PunctualOptions, "prefix" | "defaults">;
  readonly instances: (LoadedInstance & { file: string })[] = [];
  readonly definitions: Set<unknown> = new Set<unknown>();
  /** File and line of each definition, by the name of its job. */
  readonly origins: Map<string, string> = new Map<string, string>();
  /** Exports that defineExports() turned into jobs, with the names of the jobs. */
  readonly exported: Map<unknown, string> = new Map<unknown, string>();
  /** The file that is being loaded. */
  file: string | null = null;
  readonly #warn: (message: string) => void;
  /** Folders of the copies of this package. */
  readonly #copies = new Set([new URL("../../", import.meta.url).href]);
  #free = false;

  constructor(
    source: DatabaseSource | null,
    options: Pick<PunctualOptions, "prefix" | "defaults">,
    warn: (message: string) => void,
  ) {
    this.source = source;
    this.options = options;
    this.#warn = warn;
  }

  made(made: LoadedInstance): void {
    this.#copies.add(made.copy);
    this.instances.push({ ...made, file: this.#callerOrFile() });
  }

  defined(definition: Definition<never>): void {
    this.definitions.add(definition);
    if (!this.origins.has(definition.name)) this.origins.set(definition.name, this.#callerOrFile());
  }

  holds(method: string): boolean {
    if (this.#free) return false;
    this.#warn(
      `${this.#callerOrFile()}: ${method} was ignored: the command line starts the workers. Move the call to a separate program.`,
    );
    return true;
  }

  /** Lets `run()` and its siblings work while `body` runs. */
  freely<Result>(work: () => Result): Result {
    this.#free = true;
    try {
      return work();
    } finally {
      this.#free = false;
    }
  }

  /** Returns the caller's file and line outside of this package; otherwise the file that is being loaded. */
  #callerOrFile(): string {
    const before = Error.stackTraceLimit;
    Error.stackTraceLimit = 20;
    const stack = new Error().stack ?? "";
    Error.stackTraceLimit = before;
    for (const line of stack.split("\n").slice(1)) {
      const found = /(file:\/\/[^\s)]+?):(\d+):\d+\)?$/.exec(line);
      if (!found || found[1]!.includes("/node_modules/punctual/")) continue;
      if ([...this.#copies].some((copy) => found[1]!.startsWith(copy))) continue;
      return `${nameOfFile(fileURLToPath(found[1]!.split("?")[0]!))}:${found[2]}`;
    }
    return this.file === null ? "a job file" : nameOfFile(this.file);
  }
}
