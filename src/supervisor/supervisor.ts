import { PunctualError } from "../errors.ts";
import type { Settings } from "../job/settings.ts";
import type { Store } from "../store/store.ts";
import { JobSync } from "../worker/job-sync.ts";
import { LocalExecutor } from "../worker/local-executor.ts";
import type { InstanceParts } from "../worker/parts.ts";
import type { WorkSessions } from "../worker/work-sessions.ts";
import type { Child } from "./child.ts";
import { ChildJobs } from "./child-jobs.ts";
import { type SuperviseOptions, type Supervision, toSupervision } from "./options.ts";
import { Pool } from "./pool.ts";

/** A child process of a supervisor. */
export interface ChildInfo {
  number: number;
  pid: number;
  /** `stalled`: it does not answer. */
  state: "starting" | "idle" | "busy" | "stalled" | "retiring";
  /** Number of runs that it executes. */
  running: number;
  /** Number of runs that were assigned to it. */
  ran: number;
  /** Resident memory in bytes; null: not known yet. */
  memory: number | null;
  startedAt: Date;
}

export interface SupervisorParts extends InstanceParts {
  sessions: WorkSessions;
  defaults: Settings;
  instanceNumber: number;
}

/** A worker whose executor is a pool of child processes. */
export class Supervisor {
  readonly #parts: SupervisorParts;
  readonly #supervision: Supervision;
  readonly #signals: boolean;
  readonly #childJobs: ChildJobs;
  readonly #jobSync: JobSync;
  #pool: Pool | null = null;
  /** Resolves when the first child has described its jobs. */
  readonly #first = Promise.withResolvers<void>();
  #failure: PunctualError | null = null;

  constructor(parts: SupervisorParts, options: SuperviseOptions) {
    this.#parts = parts;
    this.#supervision = toSupervision(options);
    this.#signals = options.signals !== false;
    this.#childJobs = new ChildJobs(parts, parts.defaults, () =>
      parts.sessions.definitionsChanged(this.#jobSync),
    );
    this.#jobSync = new JobSync({
      ...parts,
      registry: this.#childJobs,
      queueLimits: this.#childJobs.queueLimits,
      namedLimits: this.#childJobs.namedLimits,
      queueOrders: this.#childJobs.queueOrders,
    });
    if (process.argv[1] === undefined) {
      throw new PunctualError(
        "CHILDREN_CANNOT_BOOT",
        "supervise() starts the program again for each child, and needs a file to start. This program came from the command line or from standard input: put it into a file.",
      );
    }
  }

  children(): ChildInfo[] {
    return this.#pool?.crew.children.map(toInfo) ?? [];
  }

  /**
   * Works until it is stopped. Returns how many runs its children ran. Throws at once if the instance works already.
   */
  supervise(): Promise<number> {
    const { sessions } = this.#parts;
    sessions.refuseSecond();
    const reload = () => void this.#pool?.crew.reload();
    if (this.#signals) process.on("SIGHUP", reload);
    return sessions
      .keepWorking(
        {
          name: "supervise()",
          options: this.#supervision.worker,
          isLasting: true,
          isOneProcess: false,
          jobSync: this.#jobSync,
          open: (store) => this.#open(store),
          stopping: () => this.#stop(),
          kill: () => this.#pool?.crew.kill(),
          close: () => this.#close(),
        },
        this.#signals,
      )
      .finally(() => process.off("SIGHUP", reload));
  }

  async #open(store: Store): Promise<Pool> {
    const { sessions } = this.#parts;
    const pool = new Pool({
      ...this.#parts,
      supervision: this.#supervision,
      store,
      own: new LocalExecutor(this.#supervision.parallel, store, this.#parts),
      wake: () => sessions.wake(),
      described: (description, isNewer) => {
        this.#childJobs.describe(description, isNewer);
        // Definitions of the first child of a reload replace those of earlier children and of other processes.
        if (isNewer) this.#jobSync.renew();
        sessions.definitionsChanged(this.#jobSync);
        this.#first.resolve();
      },
      failed: (error) => {
        this.#failure = error;
        sessions.stopWorking();
      },
    });
    this.#pool = pool;
    pool.crew.start();
    await this.#first.promise;
    return pool;
  }

  #stop(): void {
    this.#pool?.crew.stop();
    this.#first.resolve();
  }

  async #close(): Promise<void> {
    await this.#pool?.crew.close();
    if (this.#failure) throw this.#failure;
  }
}

function toInfo(child: Child): ChildInfo {
  const { number, pid, taken: ran, memory, startedAt } = child;
  const { running } = child;
  const working = !child.isAnswering ? "stalled" : running > 0 ? "busy" : "idle";
  const state = child.state === "ready" ? working : child.state === "starting" ? "starting" : "retiring";
  return { number, pid, state, running, ran, memory, startedAt: new Date(startedAt) };
}
