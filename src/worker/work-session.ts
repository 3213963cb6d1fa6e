import { Ticker } from "../schedule/ticker.ts";
import type { WorkerRequest } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { Deadline, LAST_WRITES, Overdue, writeLast } from "./deadline.ts";
import type { Executor } from "./executor.ts";
import { Janitor } from "./janitor.ts";
import type { JobSync } from "./job-sync.ts";
import { KnownJobs } from "./known-jobs.ts";
import type { WorkerOptions } from "./options.ts";
import { reportUnwritten } from "./outbox.ts";
import type { InstanceParts, WorkerParts } from "./parts.ts";
import { type Presence, publicOptions } from "./presence.ts";
import { Worker } from "./worker.ts";

/** Differences between one call of `run()`, `forever()` or `supervise()` and another. */
export interface SessionSetup {
  /** The call, as error messages name it. */
  name: string;
  options: WorkerOptions;
  /** Whether the worker works until it is stopped: then the store wakes it, and it emits events of its own. */
  isLasting: boolean;
  /** Whether all handlers run in this process: none of them outlives it. */
  isOneProcess: boolean;
  /** Syncs the jobs that the worker runs. */
  jobSync: JobSync;
  /** Makes the executor, before anything is claimed. */
  open(store: Store): Executor | Promise<Executor>;
  /** Called when the session is asked to stop: no further run will start. */
  stopping?(): void;
  /** Called before the process exits although runs are under way. */
  kill?(): void;
  /** Called after everything is settled. */
  close?(): Promise<void>;
}

export interface SessionParts extends InstanceParts {
  presence: Presence;
  nextSeq(): number;
}

/**
 * One period of work: opens the database and the executor, runs a worker with its janitor, and makes the last writes.
 */
export class WorkSession {
  readonly setup: SessionSetup;
  readonly #parts: SessionParts;
  readonly #deadline: Deadline;
  #worker: Worker | null = null;
  #ticker: Ticker | null = null;
  #known: KnownJobs | null = null;
  #isOpen = false;
  /** Whether the worker can claim. Until then it has nothing to lose. */
  #isReady = false;
  #isStopped = false;
  #willSync = false;
  /** Settles when no heartbeat is under way. */
  #beats: Promise<unknown> = Promise.resolve();

  constructor(setup: SessionSetup, parts: SessionParts) {
    this.setup = setup;
    this.#parts = parts;
    this.#deadline = new Deadline(() => parts.pending.giveUp());
  }

  /** Null until the worker starts, and after it has ended. */
  get worker(): Worker | null {
    return this.#worker;
  }

  /** Returns how many runs the worker ran. */
  async work(): Promise<number> {
    const deadline = this.#deadline;
    try {
      const store = await deadline.until(this.#parts.openStore());
      return this.#isStopped ? 0 : await this.#workOn(store);
    } catch (error) {
      if (error instanceof Overdue) return 0;
      throw error;
    } finally {
      deadline.clear();
    }
  }

  /** Stops claiming, waits for the running runs, then ends. */
  stop(): void {
    this.#isStopped = true;
    this.#parts.presence.activity = "stopping";
    if (this.#isOpen) this.setup.stopping?.();
    this.#worker?.stop();
    const { outage } = this.#parts.events;
    const hasNothing = () => this.#worker === null || this.#worker.unwritten.length === 0;
    // A worker without outcomes to write does not wait for a database that is unavailable.
    this.#deadline.setWhen(() => !this.#isReady || (outage.isOn && hasNothing()), LAST_WRITES);
  }

  /** Syncs the definitions at the end of the turn, when the chain of calls that defines a job is complete. */
  syncSoon(): void {
    if (!this.#worker || this.#willSync) return;
    this.#willSync = true;
    queueMicrotask(async () => {
      this.#willSync = false;
      try {
        await this.#sync(await this.#parts.openStore());
      } catch (error) {
        this.#parts.events.report(error, "syncing jobs that were defined while working");
      }
    });
  }

  async #workOn(store: Store): Promise<number> {
    const { setup } = this;
    const { presence } = this.#parts;
    this.#isOpen = true;
    presence.session = setup;
    presence.activity = "working";
    try {
      const executor = await setup.open(store);
      return this.#isStopped ? 0 : await this.#workWith(executor, store);
    } finally {
      this.#isOpen = false;
      presence.session = null;
      if (this.#deadline.isOver) setup.kill?.();
      await setup.close?.();
    }
  }

  async #workWith(executor: Executor, store: Store): Promise<number> {
    const { options, jobSync, isLasting } = this.setup;
    const { registry, queueOrders } = jobSync;
    const { clock, events, id, presence } = this.#parts;
    const deadline = this.#deadline;
    const known = new KnownJobs(store, registry);
    const jobs = jobSync.tickableJobs;
    const ticker = options.schedules
      ? new Ticker({ store, clock, jobs, elsewhere: () => known.elsewhere() })
      : null;
    const jobParts = { registry, queueOrders, known, ticker };
    const parts: WorkerParts = { ...this.#parts, ...jobParts, store, executor, deadline };
    const worker = new Worker(parts, options);
    const janitor = new Janitor({
      ...parts,
      pending: this.#parts.pending,
      hostname: this.#parts.hostname,
      beat: () => {
        const beat = this.#beat(worker);
        this.#beats = Promise.allSettled([this.#beats, beat]);
        return beat;
      },
      sync: () => this.#sync(store),
      checkLeases: () => worker.leases.check(),
      wake: () => {
        // The next tick was computed from a clock that may have stood still.
        ticker?.forget();
        worker.wake();
      },
    });
    this.#worker = worker;
    this.#ticker = ticker;
    this.#known = known;
    presence.hasJanitor = true;
    let unwatch = () => {};
    try {
      await deadline.until(this.#prepare(janitor, store));
      this.#isReady = true;
      janitor.start();
      if (isLasting) {
        unwatch = store.watch(() => worker.wake());
        events.emit("worker.started", { worker: id, ...publicOptions(options) });
      }
      const ran = await worker.work();
      const unwritten = deadline.isOver ? reportUnwritten(worker.unwritten, this.#parts) : [];
      if (isLasting) events.emit("worker.stopped", { worker: id, ran, unwritten });
      return ran;
    } finally {
      unwatch();
      janitor.stop();
      this.#worker = null;
      presence.hasJanitor = false;
      events.outage.forget(!deadline.isOver && (await this.#writeLast(store)));
    }
  }

  async #prepare(janitor: Janitor, store: Store): Promise<void> {
    const { isLasting, jobSync } = this.setup;
    await janitor.beat();
    if (isLasting || jobSync.isStale) await this.#sync(store);
    await janitor.reap();
  }

  /** Sends a heartbeat, and obeys what an operator has asked. A second heartbeat tells at once that it has. */
  async #beat(worker: Worker): Promise<void> {
    const { presence } = this.#parts;
    const before = presence.activity;
    this.#obey(await presence.beat(), worker);
    if (presence.activity !== before) await presence.beat();
  }

  #obey(request: WorkerRequest | null, worker: Worker): void {
    const { presence, events, logger, id } = this.#parts;
    if (this.#isStopped) return;
    // A pass of run() has nothing to wait for: it ends.
    if (request !== null && (request.action === "stop" || !this.setup.isLasting)) {
      logger.info(`asked to ${request.action}${noteOf(request)}, with ${worker.running} running`);
      this.stop();
    } else if (request !== null && presence.activity === "working") {
      presence.activity = "paused";
      worker.setPaused(true);
      logger.info(`paused${noteOf(request)}: claims nothing until it is resumed`);
      events.emit("worker.paused", { worker: id, by: request.by, reason: request.reason });
    } else if (request === null && presence.activity === "paused") {
      presence.activity = "working";
      worker.setPaused(false);
      logger.info("resumed");
      events.emit("worker.resumed", { worker: id });
    }
  }

  async #sync(store: Store): Promise<void> {
    if (!(await this.setup.jobSync.sync(store))) return;
    this.#known?.forget();
    this.#ticker?.forget();
    this.#worker?.wake();
  }

  #writeLast(store: Store): Promise<boolean> {
    const { logbook, counts, presence } = this.#parts;
    const write = async () => {
      await logbook.flush();
      await counts.flush();
      // A heartbeat that is still under way would insert the row again.
      await this.#beats;
      await presence.leave(store);
    };
    return writeLast("writing counts and log lines as the worker stops", write, this.#parts);
  }
}

function noteOf({ by, reason }: WorkerRequest): string {
  return `${by === null ? "" : ` by ${by}`}${reason === null ? "" : ` (${reason})`}`;
}
