import { PunctualError } from "../errors.ts";
import { Ticks } from "../job/ticks.ts";
import { checkName } from "../run/names.ts";
import { checkInteger, checkKeys } from "../run/options.ts";
import { defaultRetention } from "../run/retention.ts";
import { Ticker } from "../schedule/ticker.ts";
import type { Inserted, JobSync, NewRun, Store } from "../store/store.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import { FLUSH_EVERY, handlerGone, Janitor, SYNC_EVERY } from "./janitor.ts";
import { KnownJobs } from "./known-jobs.ts";
import { onSignals } from "./signals.ts";
import { Worker, type WorkerOptions, type WorkerParts } from "./worker.ts";

export interface RunOptions {
  /** The most runs of this pass. Default: 32. */
  batch?: number;
  /** Runs at once. Default: 10. */
  parallel?: number;
  /** Only these queues. Default: all. */
  queues?: string[];
}

export interface ForeverOptions {
  /** Runs at once in this process. Default: 10. */
  parallel?: number;
  /** Only these queues. Default: all. */
  queues?: string[];
  /** The most that is claimed at once. Default: what will start within a tenth of a second. */
  batch?: number;
  /** How long to sleep when nothing wakes it. Default: 200 ms. */
  sleep?: Duration;
  /** How long handlers may finish after stop() or a signal, before their signals abort. Default: 30 s. */
  grace?: Duration;
  /** Whether SIGINT and SIGTERM stop it. Default: true. */
  signals?: boolean;
}

export interface HostParts extends Omit<WorkerParts, "store" | "nextSeq" | "ticker" | "known"> {
  store(): Promise<Store>;
  queueLimits: ReadonlyMap<string, number>;
  host: string;
}

const PRESENCE_EVERY = 10_000;

/** The workers of one instance: one at a time, with the duties that go with it. */
export class Host {
  readonly #parts: HostParts;
  #startedAt: number | null = null;
  readonly #ticks: Ticks;
  #worker: Worker | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #forever: Promise<number> | null = null;
  #seq = 0;
  #present: Promise<void> | null = null;
  #cancelPresence: (() => void) | null = null;
  #cancelCounts: (() => void) | null = null;
  /** What the database was last told of the definitions; null: they have changed since. */
  #shown: JobSync["jobs"] | null = null;
  #shownAt = 0;
  #showing = false;
  #ticker: Ticker | null = null;
  #known: KnownJobs | null = null;
  /** A stop that was asked for before there was a worker holds for the one that would have come. */
  #stopped = false;
  #closing = false;

  constructor(parts: HostParts) {
    this.#parts = parts;
    this.#ticks = new Ticks(parts.registry, parts.queueLimits);
  }

  wake(): void {
    this.#worker?.wake();
  }

  /** Shown at the end of the turn, when the definition's calls are complete; with no worker, when one starts. */
  definitionsChanged(): void {
    this.#shown = null;
    if (!this.#worker || this.#showing) return;
    this.#showing = true;
    queueMicrotask(async () => {
      this.#showing = false;
      try {
        await this.#sync(await this.#parts.store());
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
    if (this.#worker) this.wake();
    else this.#writeCountsSoon();
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
      await this.#beat(0, null);
      const again = async () => {
        if (!registry.hasAdHoc()) {
          this.#present = null;
          return;
        }
        try {
          if (!this.#worker) await this.#beat(0, null);
        } catch (error) {
          events.report(error, "showing that this process lives");
        }
        this.#cancelPresence = clock.after(PRESENCE_EVERY, again, { background: true });
      };
      this.#cancelPresence = clock.after(PRESENCE_EVERY, again, { background: true });
    })().catch((error) => {
      this.#present = null;
      throw error;
    });
    return this.#present;
  }

  /** Passes of one instance come one after the other. */
  run(options: RunOptions): Promise<number> {
    checkKeys(options, ["batch", "parallel", "queues"], "run()");
    this.#refuseSecond();
    const chosen: WorkerOptions = {
      ...toOptions(options),
      budget: checkInteger(options.batch ?? 32, "batch", 1),
      batch: null,
    };
    const pass = this.#turn.then(() => this.#work(chosen, false));
    this.#turn = pass.catch(() => {});
    return pass;
  }

  forever(options: ForeverOptions): Promise<number> {
    checkKeys(options, ["parallel", "queues", "batch", "sleep", "grace", "signals"], "forever()");
    this.#refuseSecond();
    const chosen = toOptions(options);
    const off =
      options.signals === false
        ? () => {}
        : onSignals({
            stop: (signal) => {
              this.#parts.logger.info(
                `${signal}: finishing ${this.#worker?.running ?? 0} runs; once more to abort them`,
              );
              this.#stopped = true;
              this.#worker?.stop();
            },
            stopNow: () => this.#worker?.stopNow(),
          });
    this.#forever = this.#turn
      .then(() => this.#work(chosen, true))
      .finally(() => {
        off();
        this.#forever = null;
        this.#stopped = this.#closing;
      });
    return this.#forever;
  }

  async writeCounts(): Promise<void> {
    const tallies = this.#parts.tallies.take();
    if (tallies.length > 0) await (await this.#parts.store()).flush(tallies);
  }

  async stop(): Promise<void> {
    this.#closing = true;
    this.#stopped = true;
    this.#worker?.stop();
    await Promise.allSettled([this.#forever, this.#turn]);
    this.#cancelPresence?.();
    this.#cancelCounts?.();
    if (this.#present) {
      const store = await this.#parts.store();
      await store.disown(this.#parts.id, handlerGone, defaultRetention.failed);
      await store.leave(this.#parts.id);
    }
    await this.writeCounts();
  }

  async #work(options: WorkerOptions, watching: boolean): Promise<number> {
    const { events, id } = this.#parts;
    const store = await this.#parts.store();
    if (this.#stopped) return 0;
    const known = new KnownJobs(store, this.#parts.registry);
    const ticker = this.#tickerOn(store, known);
    const parts = { ...this.#parts, store, known, ticker, nextSeq: () => ++this.#seq };
    const janitor = new Janitor({
      ...parts,
      beat: () => this.#beat(options.parallel, options.queues),
      sync: () => this.#sync(store),
    });
    const worker = new Worker(parts, options);
    this.#worker = worker;
    this.#ticker = ticker;
    this.#known = known;
    let unwatch = () => {};
    try {
      await this.#beat(options.parallel, options.queues);
      if (watching || this.#shown === null || this.#isStale()) await this.#sync(store);
      await janitor.reap();
      janitor.start();
      if (watching) {
        unwatch = store.watch(() => worker.wake());
        events.emit("worker.started", { worker: id, parallel: options.parallel, queues: options.queues });
      }
      const ran = await worker.work();
      if (watching) events.emit("worker.stopped", { worker: id, ran });
      return ran;
    } finally {
      unwatch();
      janitor.stop();
      this.#worker = null;
      await janitor.flush();
      if (!this.#parts.registry.hasAdHoc()) {
        // The next function that is dispatched shows this process again.
        this.#present = null;
        this.#cancelPresence?.();
        await store.leave(id);
      }
    }
  }

  async #beat(parallel: number, queues: string[] | null): Promise<void> {
    const { id, host } = this.#parts;
    const store = await this.#parts.store();
    await store.beat({
      id,
      host,
      pid: process.pid,
      parallel,
      queues,
      startedAt: await this.#started(store),
    });
  }

  /** By the database's time, for it decides whose definitions are the latest. */
  async #started(store: Store): Promise<number> {
    this.#startedAt ??= await store.now();
    return this.#startedAt;
  }

  async #sync(store: Store): Promise<void> {
    const { registry, queueLimits, id } = this.#parts;
    this.#shown ??= registry.fromEach((definition) => this.#ticks.show(definition));
    this.#shownAt = this.#parts.clock.now();
    await store.syncJobs({
      worker: id,
      startedAt: await this.#started(store),
      jobs: this.#shown,
      queues: [...queueLimits].map(([name, limit]) => ({ name, limit })),
    });
    this.#known?.forget();
    this.#ticker?.forget();
    this.wake();
  }

  /** Passes that come one after the other show the jobs as often as a worker does. */
  #isStale(): boolean {
    return this.#parts.clock.now() - this.#shownAt >= SYNC_EVERY;
  }

  #tickerOn(store: Store, known: KnownJobs): Ticker {
    const { clock, events, tallies } = this.#parts;
    return new Ticker({
      store,
      clock,
      find: (due) => this.#ticks.find(due),
      elsewhere: () => known.elsewhere(),
      ticked: ({ schedule, job, runs, missed }) => {
        tallies.dispatched(job, clock.now(), runs.length);
        const made = runs.map(({ id, tickAt }) => ({ id, scheduledFor: new Date(tickAt) }));
        events.emit("schedule.ticked", { schedule, job, runs: made, missed });
      },
    });
  }

  #refuseSecond(): void {
    if (!this.#forever) return;
    throw new PunctualError(
      "WORKER_RUNNING",
      "This instance is working already: forever() is under way. Call stop() first, or use a second instance.",
    );
  }
}

function toOptions(options: RunOptions & ForeverOptions): WorkerOptions {
  const { queues, batch } = options;
  if (queues !== undefined && (!Array.isArray(queues) || queues.length === 0)) {
    throw new PunctualError(
      "INVALID_OPTION",
      "Expected queues as a list of at least one name; leave it out for all queues.",
    );
  }
  return {
    parallel: checkInteger(options.parallel ?? 10, "parallel", 1, 10_000),
    queues: queues?.map((name) => checkName(name, "a queue name")) ?? null,
    batch: batch === undefined ? null : checkInteger(batch, "batch", 1),
    sleep: Math.max(1, toMilliseconds(options.sleep ?? "200ms", "sleep")),
    budget: null,
    grace: toMilliseconds(options.grace ?? 30, "grace"),
  };
}
