import { PunctualError } from "../errors.ts";
import type { Events } from "../observe/events.ts";
import { checkInteger, checkKeys } from "../run/options.ts";
import { defaultRetention } from "../run/retention.ts";
import { Ticker } from "../schedule/ticker.ts";
import type { Inserted, NewRun, Store } from "../store/store.ts";
import type { Executor } from "./executor.ts";
import { InProcess } from "./in-process.ts";
import { BEAT_EVERY, FLUSH_EVERY, handlerGone, Janitor, reap } from "./janitor.ts";
import { KnownJobs } from "./known-jobs.ts";
import { FOREVER, type ForeverOptions, RUN, type RunOptions, toOptions } from "./options.ts";
import type { WorkerOptions, WorkerParts } from "./parts.ts";
import { Showing } from "./showing.ts";
import { ending, onSignals } from "./signals.ts";
import { Worker } from "./worker.ts";

export interface HostParts extends Omit<WorkerParts, "store" | "nextSeq" | "ticker" | "known" | "executor"> {
  store(): Promise<Store>;
  queueLimits: ReadonlyMap<string, number>;
  host: string;
}

/** What a worker works with, and where its handlers run. */
export interface Shift {
  /** Whose call it was. */
  name: string;
  options: WorkerOptions;
  showing: Showing;
  /** Before anything is claimed. */
  open(store: Store): Executor | Promise<Executor>;
  /** Nothing more will begin. */
  stopping?(): void;
  /** The process is about to exit, whatever is under way. */
  kill?(): void;
  /** After everything is settled. */
  close?(): Promise<void>;
}

const NOTHING = { parallel: 0, queues: null, exceptQueues: [], weights: null, schedules: false };

/** The workers of one instance: one at a time, with the duties that go with it. */
export class Host {
  readonly #parts: HostParts;
  readonly #showing: Showing;
  #worker: Worker | null = null;
  #shift: Shift | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  /** What works until it is stopped. */
  #working: { name: string; ended: Promise<number> } | null = null;
  #seq = 0;
  #present: Promise<void> | null = null;
  #cancelPresence: (() => void) | null = null;
  #cancelCounts: (() => void) | null = null;
  #isShowing = false;
  #ticker: Ticker | null = null;
  #known: KnownJobs | null = null;
  /** A stop that was asked for before there was a worker holds for the one that would have come. */
  #stopped = false;
  #closing = false;

  constructor(parts: HostParts) {
    this.#parts = parts;
    this.#showing = new Showing(parts);
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
  definitionsChanged(showing: Showing = this.#showing): void {
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
  sent(runs: NewRun[], inserted: Inserted[]): void {
    const { tallies, events, clock, registry } = this.#parts;
    const now = clock.now();
    const heard = events.hears("run.dispatched");
    for (const [index, run] of runs.entries()) {
      const { name, queue, owner, lane } = run;
      const one = inserted[index]!;
      if (!one.inserted && owner !== null) registry.forgetAdHoc(lane);
      if (one.inserted && owner === null) tallies.dispatched(name, now);
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
    const { clock, events, registry } = this.#parts;
    this.#present ??= (async () => {
      await this.#beat();
      const again = async () => {
        if (!registry.hasAdHoc()) {
          this.#present = null;
          return;
        }
        try {
          if (!this.#worker) await this.#beat();
        } catch (error) {
          events.report(error, "showing that this process lives");
        }
        this.#cancelPresence = clock.after(BEAT_EVERY, again, { background: true });
      };
      this.#cancelPresence = clock.after(BEAT_EVERY, again, { background: true });
    })().catch((error) => {
      this.#present = null;
      throw error;
    });
    return this.#present;
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
  }

  /** Once, what a worker of this instance does again and again; gives how many runs it took back. */
  async reap(): Promise<number> {
    const reaped = await reap({ ...this.#parts, store: await this.#parts.store() });
    await this.writeCounts();
    return reaped;
  }

  async writeCounts(): Promise<void> {
    const tallies = this.#parts.tallies.take();
    if (tallies.length > 0) await (await this.#parts.store()).flush(tallies);
  }

  async stop(): Promise<void> {
    this.#closing = true;
    this.stopWorking();
    await Promise.allSettled([this.#working?.ended, this.#turn]);
    this.#cancelPresence?.();
    this.#cancelCounts?.();
    if (this.#present) {
      const store = await this.#parts.store();
      await store.disown(this.#parts.id, handlerGone, defaultRetention.failed);
      await store.leave(this.#parts.id);
    }
    await this.writeCounts();
  }

  refuseSecond(): void {
    if (this.#working) throw alreadyWorking(this.#working.name);
  }

  #ownShift(options: WorkerOptions): Shift {
    const open = (store: Store) => new InProcess(options.parallel, { ...this.#parts, store });
    return { name: "forever()", options, showing: this.#showing, open };
  }

  async #work(shift: Shift, watching: boolean): Promise<number> {
    const store = await this.#parts.store();
    if (this.#stopped) return 0;
    this.#shift = shift;
    try {
      const executor = await shift.open(store);
      return this.#stopped ? 0 : await this.#workWith(shift, executor, store, watching);
    } finally {
      this.#shift = null;
      await shift.close?.();
    }
  }

  async #workWith(shift: Shift, executor: Executor, store: Store, watching: boolean): Promise<number> {
    const { events, id } = this.#parts;
    const { options, showing } = shift;
    const { registry } = showing;
    const known = new KnownJobs(store, registry);
    const ticker = options.schedules ? this.#tickerOn(store, known, showing) : null;
    const nextSeq = () => ++this.#seq;
    const parts = { ...this.#parts, registry, store, known, ticker, executor, nextSeq };
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
      await janitor.beat();
      if (watching || showing.isStale) await this.#sync(store, showing);
      await janitor.reap();
      janitor.start();
      if (watching) {
        unwatch = store.watch(() => worker.wake());
        events.emit("worker.started", { worker: id, ...shownOf(options) });
      }
      const ran = await worker.work();
      if (watching) events.emit("worker.stopped", { worker: id, ran });
      return ran;
    } finally {
      unwatch();
      janitor.stop();
      this.#worker = null;
      await this.#parts.logbook.flush();
      await janitor.flush();
      if (!this.#parts.registry.hasAdHoc()) {
        // The next function that is dispatched shows this process again.
        this.#present = null;
        this.#cancelPresence?.();
        await store.leave(id);
      }
    }
  }

  /** Also for functions that are dispatched while it works: the row stays that of the worker. */
  async #beat(): Promise<void> {
    const { id, host } = this.#parts;
    const store = await this.#parts.store();
    const { showing, options } = this.#shift ?? { showing: this.#showing, options: null };
    const startedAt = await showing.startedAt(store);
    await store.beat({ id, host, pid: process.pid, ...shownOf(options), startedAt });
  }

  async #sync(store: Store, showing: Showing): Promise<void> {
    await showing.show(store);
    this.#known?.forget();
    this.#ticker?.forget();
    this.wake();
  }

  #tickerOn(store: Store, known: KnownJobs, { ticks }: Showing): Ticker {
    const { clock, events, tallies } = this.#parts;
    return new Ticker({
      store,
      clock,
      find: (due) => ticks.find(due),
      elsewhere: () => known.elsewhere(),
      ticked: ({ schedule, job, runs, missed }) => {
        tallies.dispatched(job, clock.now(), runs.length);
        const made = runs.map(({ id, tickAt }) => ({ id, scheduledFor: new Date(tickAt) }));
        events.emit("schedule.ticked", { schedule, job, runs: made, missed });
      },
    });
  }
}

export function alreadyWorking(name: string): PunctualError {
  return new PunctualError(
    "WORKER_RUNNING",
    `This instance is working already: ${name} is under way. Call stop() first, or use a second instance.`,
  );
}

/** What others must know of a worker; null: of a process that runs its own functions at most. */
function shownOf(options: WorkerOptions | null): Omit<Events["worker.started"], "worker"> {
  const { parallel, queues, exceptQueues, weights, schedules } = options ?? NOTHING;
  return { parallel, queues, exceptQueues, weights, schedules };
}
