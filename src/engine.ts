import { hostname } from "node:os";
import { databaseWithoutConfig } from "./database-choice.ts";
import { BatchSender } from "./dispatch/batch-sender.ts";
import type { RunShape } from "./dispatch/dispatch.ts";
import { Dispatch } from "./dispatch/dispatch.ts";
import { type BatchRecording, DispatchRecorder } from "./dispatch/recorder.ts";
import { Sender } from "./dispatch/sender.ts";
import { PunctualError } from "./errors.ts";
import { Emitter } from "./events/events.ts";
import { type Logger, toLogger } from "./events/logger.ts";
import { type AdHoc, AdHocDispatch } from "./job/adhoc.ts";
import { Batches } from "./job/batches.ts";
import type { Dispatchable } from "./job/dispatchable.ts";
import type { Handler } from "./job/handlers.ts";
import { Preparer } from "./job/prepare.ts";
import { type QueueLimit, QueueOrders } from "./job/queue-orders.ts";
import { Registry } from "./job/registry.ts";
import { type Settings, toSettings } from "./job/settings.ts";
import { jobFileLoader } from "./job-file-loader.ts";
import type { PunctualOptions } from "./options.ts";
import { randomId, randomText, realRandom } from "./random.ts";
import type { BatchControl } from "./run/batch.ts";
import { currentRun } from "./run/context.ts";
import { JobCounts } from "./run/job-counts.ts";
import { DEFAULT_MAX_PAYLOAD } from "./run/payload.ts";
import type { Run, RunControl } from "./run/run.ts";
import { LazyStore } from "./store/lazy.ts";
import type { DatabaseSource } from "./store/open.ts";
import { childIdentity, instanceNumberOf, refuseFunction } from "./supervisor/child-identity.ts";
import type { ChildRunner } from "./supervisor/child-runner.ts";
import type { SuperviseOptions } from "./supervisor/options.ts";
import type { ChildInfo, Supervisor } from "./supervisor/supervisor.ts";
import { type Clock, checkClock, systemClock } from "./time.ts";
import { checkName } from "./validate/names.ts";
import { checkInteger } from "./validate/options.ts";
import { version } from "./version.ts";
import { inTime, LAST_WRITES } from "./worker/deadline.ts";
import { FactsReader } from "./worker/facts.ts";
import { JobSync } from "./worker/job-sync.ts";
import { Logbook } from "./worker/logbook.ts";
import type { InstanceParts } from "./worker/parts.ts";
import { Presence } from "./worker/presence.ts";
import { type RepairReport, repair } from "./worker/repair.ts";
import { alreadyWorking, WorkSessions } from "./worker/work-sessions.ts";

/**
 * The store, the jobs and the worker of an instance, wired together. `Punctual` is the public class in front of it: job
 * files that are loaded together share one engine.
 */
export class Engine {
  readonly id: string = randomId();
  readonly options: PunctualOptions;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly events: Emitter;
  readonly defaults: Settings;
  readonly store: LazyStore;
  readonly registry: Registry;
  readonly queueLimits: Map<string, QueueLimit> = new Map<string, QueueLimit>();
  /** Limits that jobs are under by name. */
  readonly namedLimits: Map<string, QueueLimit> = new Map<string, QueueLimit>();
  readonly queueOrders: QueueOrders;
  readonly counts: JobCounts;
  readonly sessions: WorkSessions;
  readonly preparer: Preparer;
  readonly sender: Sender;
  readonly batches: Batches;
  readonly #parts: InstanceParts;
  #supervisor: Supervisor | null = null;
  #childRunner: ChildRunner | null = null;
  #stopping: Promise<void> | null = null;

  /** `source` null: the default database. */
  constructor(source: DatabaseSource | null, options: PunctualOptions, control: RunControl & BatchControl) {
    this.options = options;
    const logger = toLogger(options.logger);
    const clock = options.clock === undefined ? systemClock : checkClock(options.clock);
    const random = options.random ?? realRandom;
    const events = new Emitter(logger, clock);
    const defaults = toSettings(options.defaults);
    const maxPayload = checkInteger(options.maxPayload ?? DEFAULT_MAX_PAYLOAD, "maxPayload in bytes", 1);
    this.logger = logger;
    this.clock = clock;
    this.events = events;
    this.defaults = defaults;

    // Set below: a change needs the recorder.
    let batchChanged: BatchRecording = () => {};

    // The database, opened on first use.
    this.store = new LazyStore(
      source === null ? databaseWithoutConfig(jobFileLoader() ? null : logger) : source,
      {
        clock,
        prefix: options.prefix ?? "punctual_",
        install: options.install ?? true,
        opened: (store) => {
          store.batches.onChange = (change) => batchChanged(change);
        },
      },
    );
    const openStore = () => this.store.get(true);

    // Definitions, counts and logs.
    const registry = new Registry((message) => logger.warn(message));
    const counts = new JobCounts({
      openStore,
      clock,
      report: (error) => events.report(error, "writing counts"),
    });
    const logbook = new Logbook({ openStore, clock, events, logger }, options.logs ?? true);
    this.registry = registry;
    const unweighed = (error: unknown, queue: string) =>
      events.report(error, `weighing the lanes of queue "${queue}"`);
    this.queueOrders = new QueueOrders(unweighed, random);
    this.counts = counts;

    // The worker.
    const parts: InstanceParts = {
      id: this.id,
      hostname: hostname(),
      clock,
      random,
      events,
      logger,
      registry,
      queueLimits: this.queueLimits,
      namedLimits: this.namedLimits,
      queueOrders: this.queueOrders,
      counts,
      logbook,
      openStore,
      pending: this.store.pending,
      engine: this,
      batches: { control, addAsMember: (id, additions) => this.batches.add(id, additions, true) },
      // A smaller limit of payloads does not apply to results.
      maxResult: Math.max(maxPayload, DEFAULT_MAX_PAYLOAD),
    };
    const jobSync = new JobSync(parts);
    const facts = new FactsReader(clock, version(), () =>
      this.children().map(({ number, pid, state, running, memory }) => ({
        number,
        pid,
        state,
        running,
        memory,
      })),
    );
    const presence = new Presence(parts, jobSync, facts);
    const sessions = new WorkSessions(parts, jobSync, presence);
    this.#parts = parts;
    this.sessions = sessions;

    // The path of a dispatch: `preparer` makes the row, `sender` inserts it, `recorder` counts it.
    const preparer = new Preparer({
      openStore,
      registry,
      namedLimits: this.namedLimits,
      defaults,
      owner: this.id,
      maxPayload,
      now: () => clock.now(),
      beat: () => presence.start(),
      report: (error) => events.report(error, "writing beside a dispatch in a transaction"),
      warn: (message) => logger.warn(message),
    });
    const recorder = new DispatchRecorder({
      clock,
      events,
      counts,
      forgetAdHoc: (lane) => registry.forgetAdHoc(lane),
    });
    const sent = (...dispatched: Parameters<DispatchRecorder["record"]>) => {
      recorder.record(...dispatched);
      // A worker's janitor flushes the counts.
      if (!sessions.hasWorker) counts.flushSoon();
      sessions.wake();
    };
    this.preparer = preparer;
    this.sender = new Sender({
      openStore,
      prepare: (dispatch, within) => preparer.prepare(dispatch, within),
      control,
      maxPayload,
      sent,
      unawaited: (error) => events.report(error, "a dispatch that was not awaited"),
    });
    this.batches = new Batches({
      preparer,
      sender: new BatchSender({ openStore, control, sent }),
      maxPayload,
      parentId: () => this.#parentId(),
      track: (sending) => this.sender.track(sending),
      unawaited: (error) => events.report(error, "a batch that was not awaited"),
    });
    batchChanged = (change) => recorder.recordBatch(change, sent);
  }

  /** Takes over the jobs, limits and listeners of another engine, and stops that one. */
  take(other: Engine): Promise<void> {
    for (const definition of other.registry.definitions()) this.registry.define(definition);
    this.registry.take(other.registry);
    for (const [queue, limit] of other.queueLimits)
      if (!this.queueLimits.has(queue)) this.queueLimits.set(queue, limit);
    for (const [name, limit] of other.namedLimits)
      if (!this.namedLimits.has(name)) this.namedLimits.set(name, limit);
    this.queueOrders.take(other.queueOrders);
    this.events.adopt(other.events);
    this.sessions.definitionsChanged();
    return other.stop();
  }

  /** Dispatches a job as this process defines it at this moment. */
  send(job: Dispatchable<never>, shape: RunShape): Dispatch<never, never> {
    const parentId = this.#parentId();
    return new Dispatch<never, never>(this.preparer.capture(job), shape, parentId, this.sender);
  }

  async sendMany(
    job: Dispatchable<never>,
    all: Iterable<unknown> | AsyncIterable<unknown>,
    shape: RunShape,
  ): Promise<Run<never>[]> {
    const parentId = this.#parentId();
    return this.sender.sendMany(this.preparer.many(job, all, shape, { parentId }));
  }

  /** Dispatches a function, which only this process can run. */
  sendFunction(name: string, handler: Handler<unknown>): AdHocDispatch<never> {
    this.refuseStopped();
    checkName(name, "a job name");
    this.registry.checkAdHoc(name);
    return this.sendHere({ name, handler, schema: null, settings: this.defaults, borrowed: false }, {});
  }

  sendHere(adHoc: Omit<AdHoc, "lane">, shape: RunShape): AdHocDispatch<never> {
    refuseFunction(adHoc.name);
    const lane = `${randomText()}|adhoc`;
    return new AdHocDispatch({ ...adHoc, lane }, shape, this.#parentId(), this.sender);
  }

  /** Returns the run whose handler dispatches. After `stop()` only handlers may dispatch, while the worker drains. */
  #parentId(): number | null {
    const current = currentRun.getStore();
    if (current?.instance === this) return current.id;
    this.refuseStopped();
    return null;
  }

  async repair(): Promise<RepairReport> {
    const installed = await this.store.install({});
    return { ...(await repair(await this.store.get(), this.#parts)), installed };
  }

  /** Works with child processes; inside a child process, works for its parent. */
  async supervise(options: SuperviseOptions): Promise<number> {
    // Counted before the first await: parent and children count the calls in the same order, and get the same number.
    const instanceNumber = instanceNumberOf(this);
    const child = childIdentity();
    if (child) return instanceNumber === child.instanceNumber ? this.#runForParent(options) : 0;
    const { Supervisor } = await import("./supervisor/supervisor.ts");
    if (this.#stopping) return 0;
    const { sessions, defaults } = this;
    const supervisor = new Supervisor({ ...this.#parts, sessions, defaults, instanceNumber }, options);
    const supervised = supervisor.supervise();
    this.#supervisor = supervisor;
    return supervised;
  }

  async #runForParent(options: SuperviseOptions): Promise<number> {
    const { ChildRunner } = await import("./supervisor/child-runner.ts");
    const { toSupervision } = await import("./supervisor/options.ts");
    if (this.#childRunner?.isRunning) throw alreadyWorking("supervise()");
    const flush = async () => {
      await this.sender.flush();
      await this.counts.flush();
    };
    const childRunner = new ChildRunner({
      ...this.#parts,
      defaults: this.defaults,
      slots: toSupervision(options).parallel,
      flush,
    });
    this.#childRunner = childRunner;
    this.sessions.parentLink = childRunner;
    return childRunner.run();
  }

  /** Whether this process works, for itself or for a supervisor. */
  get isWorking(): boolean {
    return this.sessions.isWorking || this.#childRunner?.isRunning === true;
  }

  /** The child processes of `supervise()`. */
  children(): ChildInfo[] {
    return this.#supervisor?.children() ?? [];
  }

  /** Whether a call that would work is ignored, because this process is a child of a supervisor. */
  ignoresInChild(method: string): boolean {
    const child = childIdentity();
    if (!child) return false;
    this.logger.warn(`${method} does nothing in child process ${child.number}: it works for its supervisor`);
    return true;
  }

  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      await this.#childRunner?.stop();
      // Dispatches have as long as handlers. Meanwhile the worker stops.
      const { grace } = this.sessions;
      this.sessions.stopWorking();
      await this.#inTime(this.sender.flush(), grace);
      await this.sessions.stop();
      await this.#inTime(this.sender.flush(), LAST_WRITES);
      await this.#inTime(this.store.close(), LAST_WRITES);
    })();
    return this.#stopping;
  }

  async #inTime(work: Promise<void>, ms: number): Promise<void> {
    await inTime(work, ms, {
      late: () => this.store.pending.giveUp(),
      failed: (error) => this.events.report(error, "stopping"),
    });
  }

  refuseStopped(): void {
    if (!this.#stopping) return;
    throw new PunctualError(
      "CLOSED",
      "This instance was stopped and accepts no more work. Create a new Punctual().",
    );
  }
}
