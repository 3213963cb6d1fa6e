import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { test as base, type TestAPI } from "vitest";
import { type Definition, Punctual, type Run } from "../../../src/index.ts";
import { eventually } from "../../support/eventually.ts";
import { Journal, noteIn } from "../../support/journal.ts";
import { type Child, type Exit, type StartOptions, startChild } from "../../support/start-child.ts";
import type { Command, WorkerConfig } from "./child-worker.ts";
import { type Act, defineJobs, type JobName } from "./process-jobs.ts";

export interface Row {
  id: number;
  name: string;
  state: number;
  attempts: number;
  crashes: number;
  error: string | null;
  result: string | null;
  [column: string]: string | number | null;
}

/** One database, one journal, and the processes on them. The test's own process dispatches and reads only. */
export class Scene {
  readonly folder: string = mkdtempSync(join(tmpdir(), "punctual-process-"));
  readonly path: string = join(this.folder, "jobs.db");
  readonly journal: Journal = new Journal(join(this.folder, "journal.jsonl"));
  readonly lease: number = 1;
  readonly jobs: Punctual = new Punctual(`sqlite:${this.path}`, {
    logger: false,
    defaults: { lease: this.lease },
  });
  readonly job: Record<JobName, Definition<Act>> = defineJobs(this.jobs, () => {
    throw new Error("the test's own process does not work");
  });
  readonly #children: Child[] = [];
  #database: DatabaseSync | null = null;

  /** Starts a script of this folder; the journal records its exit. */
  start(name: string, script: string, args: string[], options?: StartOptions): Child {
    // Its own folder: an aborted process may leave a core file in the current folder.
    const child = startChild(fileURLToPath(new URL(script, import.meta.url)), args, {
      cwd: this.folder,
      ...options,
    });
    this.#children.push(child);
    const note = noteIn(this.journal.path, name);
    void child.gone.then(() => note("gone", { pid: child.pid, text: child.stderr.slice(0, 2000) }));
    return child;
  }

  worker(name: string, config: Partial<WorkerConfig> = {}): Child {
    const { path, lease, journal } = this;
    const whole: WorkerConfig = { name, database: path, journal: journal.path, lease, ...config };
    return this.start(name, "child-worker.ts", [JSON.stringify(whole)], { ipc: true });
  }

  letGo(child: Child, job: JobName): void {
    child.send({ letGo: job } satisfies Command);
  }

  dispatchMany(job: JobName, count: number, act: Act = { do: "return" }): Promise<Run[]> {
    return this.job[job].dispatchMany(Array.from({ length: count }, () => act));
  }

  /** The database itself, without the code under test. */
  get database(): DatabaseSync {
    this.#database ??= new DatabaseSync(this.path, { timeout: 5000 });
    return this.#database;
  }

  rows(sql: string, ...params: (string | number)[]): Row[] {
    return this.database.prepare(sql).all(...params) as Row[];
  }

  unfinished(id: number): Row | undefined {
    return this.rows("select * from punctual_runs where id = ?", id)[0];
  }

  finished(id: number): Row | undefined {
    return this.rows("select * from punctual_history where id = ?", id)[0];
  }

  async untilFinished(id: number): Promise<Row> {
    return eventually(`run ${id} to finish`, () => this.finished(id));
  }

  /** Waits until no run is waiting or running. */
  async untilDrained(within?: number): Promise<void> {
    await eventually(
      "all runs to finish",
      () => this.rows("select id from punctual_runs limit 1").length === 0,
      within,
    );
  }

  async stop(child: Child): Promise<Exit> {
    child.signal("SIGTERM");
    return child.exit();
  }

  async clear(): Promise<void> {
    for (const child of this.#children) child.signal("SIGKILL");
    await Promise.all(this.#children.map((child) => child.gone));
    await this.jobs.stop();
    this.#database?.close();
    this.journal.close();
    rmSync(this.folder, { recursive: true });
  }
}

export const test: TestAPI<{ scene: Scene }> = base.extend<{ scene: Scene }>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern which fixtures this one needs.
  scene: async ({}, use) => {
    const scene = new Scene();
    await use(scene);
    await scene.clear();
  },
});
