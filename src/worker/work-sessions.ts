import { PunctualError } from "../errors.ts";
import { defaultRetention } from "../run/retention.ts";
import type { Ticker } from "../schedule/ticker.ts";
import type { InsertResult, NewRun, Store } from "../store/store.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";
import { Deadline, inTime, LAST_WRITES, Overdue } from "./deadline.ts";
import { InProcess } from "./in-process.ts";
import { FLUSH_EVERY, handlerGone, Janitor, reap } from "./janitor.ts";
import { JobSync } from "./job-sync.ts";
import { KnownJobs } from "./known-jobs.ts";
import {
  FOREVER,
  type ForeverOptions,
  RUN,
  type RunOptions,
  toOptions,
  type WorkerOptions,
} from "./options.ts";
import type { HostParts, WorkerParts } from "./parts.ts";
import { Presence } from "./presence.ts";
import { tickerOn } from "./schedule-ticks.ts";
import { type Shift, shownOf } from "./shift.ts";
import { ending, onSignals } from "./signals.ts";
import { tellUnwritten } from "./unwritten.ts";
import { Worker } from "./worker.ts";

/** Of stop(), where nothing works. */
const DEFAULT_GRACE = 30_000;

/** The workers of one instance: one at a time, with the duties that go with it. */
export class Host {
  readonly #parts: HostParts;
  readonly #showing: JobSync;
  #worker: Worker | null = null;
  #shift: Shift | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  /** What works until it is stopped. */
  #working: { name: string; ended: Promise<number> } | null = null;
  #seq = 0;
  readonly #presence: Presence;
  #deadline: Deadline | null = null;
  /** The worker can claim. Until then it has nothing to lose. */
  #isReady = false;
  #cancelCounts: (() => void) | null = null;
  #isShowing = false;
  #ticker: Ticker | null = null;
  #known: KnownJobs | null = null;
  /** A stop that was asked for before there was a worker holds for the one that would have come. */
  #stopped = false;
  #closing = false;

  constructor(parts: HostParts) {
    this.#parts = parts;
    this.#showing = new JobSync(parts);
    this.#presence = new Presence({ ...parts, beat: async () => (this.#worker ? undefined : this.#beat()) });
  }

  /** How long stop() waits. */
  get grace(): number {
    return this.#shift?.options.grace ?? DEFAULT_GRACE;
  }

  /** Who works for this instance in another process. */
  beside: { wake(): void; changed(): void } | null = null;

  /** Whether a worker is at work, or about to be. */
  get isWorking(): boolean {
    return this.#working !== null || this.#shift !== null;
  }

  wake(): void {
    (this.#worker ?? this.beside)?.wake();
  }

  /** Shown at the end of the turn, when the definition's calls are complete; with no worker, when one starts. */
  definitionsChanged(showing: JobSync = this.#showing): void {
    showing.changed();
    this.beside?.changed();
    if (!this.#worker || this.#shift?.showing !== showing || this.#isShowing) return;
    this.#isShowing = true;
    queueMicrotask(async () => {
      this.#isShowing = false;
      try {
        await this.#sync(await this.#parts.store(), showing);
      } catch (error) {
        this.#parts.events.report(error, "showing jobs that were defined while working");
      }
    });
  }

  /** Counts what was inserted, tells of it, and wakes the worker beside it. */
  sent(runs: NewRun[], inserted: InsertResult[]): void {
    const { counts, events, clock, registry } = this.#parts;
    const now = clock.now();
    const heard = events.hears("run.dispatched");
    for (const [index, run] of runs.entries()) {
      const { name, queue, owner, lane } = run;
      const one = inserted[index]!;
      if (!one.inserted && owner !== null) registry.forgetAdHoc(lane);
      if (one.inserted && owner === null) counts.dispatched(name, now);
      if (!heard) continue;
      const runAt = new Date(run.runAt ?? now + run.delay);
      events.emit("run.dispatched", { ...one, name, queue, runAt });
    }
    if (!this.#worker) this.#writeCountsSoon();
    this.wake();
  }

  /** A process that only dispatches has no worker that writes its counts. */
  #writeCountsSoon(): void {
    const { clock, events } = this.#parts;
    if (this.#cancelCounts) return;
    const write = async () => {
      this.#cancelCounts = null;
      try {
        await this.writeCounts();
      } catch (error) {
        if (!this.#closing) events.report(error, "writing counts");
      }
    };
    this.#cancelCounts = clock.after(FLUSH_EVERY, write, { background: true });
  }

  /** Shows that this instance lives, as long as it has functions that only it can run. */
  present(): Promise<void> {
    return this.#presence.show(() => this.#beat());
  }

  /** Passes of one instance come one after the other. */
  run(options: RunOptions): Promise<number> {
    checkKeys(options, RUN, "run()");
    this.refuseSecond();
    const chosen: WorkerOptions = {
      ...toOptions(options),
      budget: checkInteger(options.batch ?? 32, "batch", 1),
      untilEmpty: true,
      batch: null,
    };
    const pass = this.#turn.then(() => this.#work(this.#ownShift(chosen), false));
    this.#turn = pass.catch(() => {});
    return pass;
  }

  forever(options: ForeverOptions): Promise<number> {
    checkKeys(options, FOREVER, "forever()");
    this.refuseSecond();
    return this.keepWorking(this.#ownShift(toOptions(options)), options.signals !== false);
  }

  /** Until it is stopped. */
  keepWorking(shift: Shift, signals: boolean): Promise<number> {
    const off = signals ? this.#listen(shift) : () => {};
    const ended = this.#turn
      .then(() => this.#work(shift, true))
      .finally(() => {
        off();
        this.#working = null;
        this.#stopped = this.#closing;
      });
    this.#working = { name: shift.name, ended };
    return ended;
  }

  #listen(shift: Shift): () => void {
    return onSignals({
      stop: (signal) => {
        const running = this.#worker?.running ?? 0;
        this.#parts.logger.info(`${signal}: ${ending(running)}`);
        this.stopWorking();
      },
      stopNow: () => this.#worker?.stopNow(),
      exit: () => shift.kill?.(),
    });
  }

  /** As by the first signal. */
  stopWorking(): void {
    this.#stopped = true;
    this.#shift?.stopping?.();
    this.#worker?.stop();
    const { outage } = this.#parts.events;
    const hasNothing = () => this.#worker === null || this.#worker.unwritten.length === 0;
    // Without anything to write, there is no reason to wait for a database that is away.
    this.#deadline?.setWhen(() => !this.#isReady || (outage.isOn && hasNothing()), LAST_WRITES);
  }

  /** Once, what a worker of this instance does again and again; gives how many runs it took back. */
  async reap(): Promise<number> {
    const store = await this.#parts.store();
    const executor = new InProcess(1, { ...this.#parts, store });
    const reaped = await reap({ ...this.#parts, store, executor });
    await Promise.all([executor.crashHooksCalled(), this.writeCounts()]);
    return reaped;
  }

  async writeCounts(): Promise<void> {
    await this.#parts.counts.flushTo(() => this.#parts.store());
  }

  async stop(): Promise<void> {
    this.#closing = true;
    this.stopWorking();
    await Promise.allSettled([this.#working?.ended, this.#turn]);
    this.#cancelCounts?.();
    await this.#lastly("writing counts as the instance stops", async () => {
      if (this.#presence.isShown) {
        const store = await this.#parts.store();
        await store.disown(this.#parts.id, handlerGone, defaultRetention.failed);
        await store.leave(this.#parts.id);
      }
      this.#presence.forget();
      await this.writeCounts();
    });
  }

  /** Whether the last writes succeed; a database that does not answer is not waited for. */
  #lastly(during: string, write: () => Promise<void>): Promise<boolean> {
    const { events, logger, pending } = this.#parts;
    const late = () => {
      logger.warn(`${during}: the database does not answer, and they are not written`);
      pending.giveUp();
    };
    return inTime(write(), LAST_WRITES, { late, failed: (error) => events.report(error, during) });
  }

  refuseSecond(): void {
    if (this.#working) throw alreadyWorking(this.#working.name);
  }

  #ownShift(options: WorkerOptions): Shift {
    const open = (store: Store) => new InProcess(options.parallel, { ...this.#parts, store });
    return { name: "forever()", options, showing: this.#showing, open };
  }

  async #work(shift: Shift, watching: boolean): Promise<number> {
    const deadline = new Deadline(() => this.#parts.pending.giveUp());
    this.#deadline = deadline;
    this.#isReady = false;
    if (this.#stopped) deadline.set(LAST_WRITES);
    try {
      const store = await deadline.until(this.#parts.store());
      return this.#stopped ? 0 : await this.#open(shift, store, deadline, watching);
    } catch (error) {
      if (error instanceof Overdue) return 0;
      throw error;
    } finally {
      deadline.clear();
      this.#deadline = null;
    }
  }

  async #open(shift: Shift, store: Store, deadline: Deadline, watching: boolean): Promise<number> {
    this.#shift = shift;
    try {
      const executor = await shift.open(store);
      return this.#stopped ? 0 : await this.#workWith(shift, { executor, store, deadline }, watching);
    } finally {
      this.#shift = null;
      if (deadline.isOver) shift.kill?.();
      await shift.close?.();
    }
  }

  async #workWith(
    shift: Shift,
    { executor, store, deadline }: Pick<WorkerParts, "executor" | "store" | "deadline">,
    watching: boolean,
  ): Promise<number> {
    const { events, id } = this.#parts;
    const { options, showing } = shift;
    const { registry } = showing;
    const known = new KnownJobs(store, registry);
    const ticker = options.schedules ? tickerOn(store, known, showing, this.#parts) : null;
    const nextSeq = () => ++this.#seq;
    const parts = { ...this.#parts, registry, store, known, ticker, executor, nextSeq, deadline };
    const worker = new Worker(parts, options);
    const janitor = new Janitor({
      ...parts,
      beat: () => this.#beat(),
      sync: () => this.#sync(store, showing),
      checkLeases: () => worker.leases.check(),
      wake: () => worker.wake(),
    });
    this.#worker = worker;
    this.#ticker = ticker;
    this.#known = known;
    let unwatch = () => {};
    try {
      const shows = watching || showing.isStale;
      await deadline.until(this.#prepare(janitor, store, shows ? showing : null));
      this.#isReady = true;
      janitor.start();
      if (watching) {
        unwatch = store.watch(() => worker.wake());
        events.emit("worker.started", { worker: id, ...shownOf(options) });
      }
      const ran = await worker.work();
      const unwritten = deadline.isOver ? tellUnwritten(worker.unwritten, this.#parts) : [];
      if (watching) events.emit("worker.stopped", { worker: id, ran, unwritten });
      return ran;
    } finally {
      unwatch();
      janitor.stop();
      this.#worker = null;
      events.outage.forget(!deadline.isOver && (await this.#leave(janitor, store)));
    }
  }

  async #prepare(janitor: Janitor, store: Store, showing: JobSync | null): Promise<void> {
    await janitor.beat();
    if (showing) await this.#sync(store, showing);
    await janitor.reap();
  }

  #leave(janitor: Janitor, store: Store): Promise<boolean> {
    return this.#lastly("writing counts and lines as the worker ends", async () => {
      await this.#parts.logbook.flush();
      await janitor.flush();
      if (this.#parts.registry.hasAdHoc()) return;
      this.#presence.forget();
      await store.leave(this.#parts.id);
    });
  }

  /** Also for functions that are dispatched while it works: the row stays that of the worker. */
  async #beat(): Promise<void> {
    const { id, host } = this.#parts;
    const store = await this.#parts.store();
    const { showing, options } = this.#shift ?? { showing: this.#showing, options: null };
    const startedAt = await showing.startedAt(store);
    await store.beat({ id, host, pid: process.pid, ...shownOf(options), startedAt });
  }

  async #sync(store: Store, showing: JobSync): Promise<void> {
    await showing.show(store);
    this.#known?.forget();
    this.#ticker?.forget();
    this.wake();
  }
}

export function alreadyWorking(name: string): PunctualError {
  return new PunctualError(
    "WORKER_RUNNING",
    `This instance is working already: ${name} is under way. Call stop() first, or use a second instance.`,
  );
}
