import { hostname } from "node:os";
import { Dispatch } from "./dispatch/dispatch.ts";
import { Sender } from "./dispatch/sender.ts";
import type { DispatchOptions, Shape } from "./dispatch/shape.ts";
import { PunctualError } from "./errors.ts";
import { Emitter } from "./events/events.ts";
import { type Logger, toLogger } from "./events/logger.ts";
import { type AdHoc, AdHocDispatch } from "./job/adhoc.ts";
import type { Dispatchable } from "./job/dispatchable.ts";
import { shapeOf } from "./job/draft.ts";
import type { Handler } from "./job/handlers.ts";
import { Preparer } from "./job/prepare.ts";
import { Registry } from "./job/registry.ts";
import { type Settings, toSettings } from "./job/settings.ts";
import { jobFileLoader } from "./job-file-loader.ts";
import { defaultSource, type PunctualOptions } from "./options.ts";
import { randomText } from "./random.ts";
import { currentRun } from "./run/context.ts";
import { JobCounts } from "./run/job-counts.ts";
import { DEFAULT_MAX_PAYLOAD } from "./run/payload.ts";
import type { Run, RunControl } from "./run/run.ts";
import { LazyStore } from "./store/lazy.ts";
import type { DatabaseSource } from "./store/open.ts";
import type { ChildRunner } from "./supervisor/child-runner.ts";
import { inside, instanceNumber, refuseFunction } from "./supervisor/inside.ts";
import type { SuperviseOptions } from "./supervisor/options.ts";
import type { ChildInfo, Supervisor, SupervisorParts } from "./supervisor/supervisor.ts";
import { type Clock, checkClock, systemClock } from "./time.ts";
import { checkName } from "./validate/names.ts";
import { checkInteger } from "./validate/options.ts";
import { inTime, LAST_WRITES } from "./worker/deadline.ts";
import { Logbook } from "./worker/logbook.ts";
import { type RepairReport, repair } from "./worker/repair.ts";
import { alreadyWorking, Host } from "./worker/work-sessions.ts";

/**
 * What an instance runs on: its store, its jobs, its worker, wired. Apart from `Punctual`, which is only the way in, since
 * the instances of job files that are loaded together come to share one.
 */
export class Engine {
  readonly id: string = randomText().slice(0, 12);
  readonly options: PunctualOptions;
  readonly store: LazyStore;
  readonly clock: Clock;
  readonly events: Emitter;
  readonly logger: Logger;
  readonly defaults: Settings;
  readonly registry: Registry = new Registry((message) => this.logger.warn(message));
  readonly queueLimits: Map<string, number> = new Map<string, number>();
  readonly sender: Sender;
  readonly preparer: Preparer;
  readonly host: Host;
  readonly #supervising: Omit<SupervisorParts, "number">;
  #supervisor: Supervisor | null = null;
  #serving: ChildRunner | null = null;
  #stopping: Promise<void> | null = null;

  /** `source` null: the default database. */
  constructor(source: DatabaseSource | null, options: PunctualOptions, control: RunControl) {
    this.options = options;
    this.logger = toLogger(options.logger);
    this.clock = options.clock === undefined ? systemClock : checkClock(options.clock);
    this.events = new Emitter(this.logger, this.clock);
    this.defaults = toSettings(options.defaults);
    this.store = new LazyStore(
      source === null ? defaultSource(jobFileLoader() ? null : this.logger) : source,
      {
        clock: this.clock,
        prefix: options.prefix ?? "punctual_",
        install: options.install ?? true,
      },
    );
    const { id, clock, events, logger, registry, queueLimits } = this;
    const store = () => this.store.get();
    const shared = {
      id,
      store,
      clock,
      events,
      logger,
      registry,
      counts: new JobCounts(),
      logbook: new Logbook({ store, clock, events, logger }, options.logs ?? true),
      queueLimits,
      instance: this as object,
      random: options.random ?? Math.random,
      host: hostname(),
      pending: this.store.pending,
    };
    this.host = new Host(shared);
    this.#supervising = { ...shared, workers: this.host, defaults: this.defaults };
    const maxPayload = checkInteger(options.maxPayload ?? DEFAULT_MAX_PAYLOAD, "maxPayload in bytes", 1);
    this.preparer = new Preparer({
      ...shared,
      defaults: this.defaults,
      owner: id,
      maxPayload,
      now: () => clock.now(),
      beat: () => this.host.present(),
      report: (error) => events.report(error, "writing beside a dispatch in a transaction"),
      warn: (message) => logger.warn(message),
    });
    this.sender = new Sender({
      store: shared.store,
      prepare: (dispatch, within) => this.preparer.prepare(dispatch, within),
      control,
      maxPayload,
      sent: (runs, inserted) => this.host.sent(runs, inserted),
      unheard: (error) => events.report(error, "a dispatch that nobody awaited"),
    });
  }

  /** Takes over the jobs, limits and listeners of another one, which then stops. */
  take(other: Engine): Promise<void> {
    for (const definition of other.registry.definitions()) this.registry.define(definition);
    this.registry.take(other.registry);
    for (const [queue, limit] of other.queueLimits)
      if (!this.queueLimits.has(queue)) this.queueLimits.set(queue, limit);
    this.events.take(other.events);
    this.host.definitionsChanged();
    return other.stop();
  }

  /** A dispatch of a job, with everything that this process knows of the job captured now. */
  send(job: Dispatchable<never>, shape: Shape): Dispatch<never> {
    const parentId = this.#parentId();
    return new Dispatch<never>(this.preparer.capture(job), shape, parentId, this.sender);
  }

  async sendMany(
    job: Dispatchable<never>,
    all: Iterable<unknown> | AsyncIterable<unknown>,
    options?: DispatchOptions,
  ): Promise<Run[]> {
    const parentId = this.#parentId();
    const shape = options === undefined ? {} : shapeOf(options);
    return this.sender.sendMany(this.preparer.many(job, all, shape, parentId));
  }

  /** A dispatch of a function, which only this process can run. */
  sendFunction(name: string, handler: Handler<unknown>): AdHocDispatch {
    this.refuseStopped();
    checkName(name, "a job name");
    this.registry.checkAdHoc(name);
    return this.sendHere({ name, handler, schema: null, settings: this.defaults, borrowed: false }, {});
  }

  sendHere(adHoc: Omit<AdHoc, "lane">, shape: Shape): AdHocDispatch {
    refuseFunction(adHoc.name);
    const lane = `${randomText()}|adhoc`;
    return new AdHocDispatch({ ...adHoc, lane }, shape, this.#parentId(), this.sender);
  }

  /** Whose handler dispatches. Once stopped only a handler may, while the worker drains: what follows is part of its work. */
  #parentId(): number | null {
    const current = currentRun.getStore();
    if (current?.instance === this) return current.id;
    this.refuseStopped();
    return null;
  }

  async repair(): Promise<RepairReport> {
    const installed = await this.store.install({});
    return { ...(await repair(await this.store.get(), () => this.host.reap())), installed };
  }

  /** Works with child processes; in one of them, for the process that started it. */
  async supervise(options: SuperviseOptions): Promise<number> {
    // Before anything is awaited: the children count the calls as they come, and come to the same number.
    const number = instanceNumber(this);
    const child = inside();
    if (child) return number === child.instance ? this.#serve() : 0;
    const { Supervisor } = await import("./supervisor/supervisor.ts");
    if (this.#stopping) return 0;
    const supervisor = new Supervisor({ ...this.#supervising, number }, options);
    const supervised = supervisor.supervise();
    this.#supervisor = supervisor;
    return supervised;
  }

  async #serve(): Promise<number> {
    const { ChildRunner } = await import("./supervisor/child-runner.ts");
    if (this.#serving?.isServing) throw alreadyWorking("supervise()");
    const flush = async () => {
      await this.sender.flush();
      await this.host.writeCounts();
    };
    this.#serving = new ChildRunner({ ...this.#supervising, flush });
    this.host.beside = this.#serving;
    return this.#serving.serve();
  }

  /** Whether something works here, also for another process. */
  get isWorking(): boolean {
    return this.host.isWorking || this.#serving?.isServing === true;
  }

  /** The child processes there are. */
  children(): ChildInfo[] {
    return this.#supervisor?.children() ?? [];
  }

  /** Whether a call that would work is left out, because this process works for another. */
  isHeld(method: string): boolean {
    const child = inside();
    if (!child) return false;
    this.logger.warn(`${method} does nothing in child process ${child.number}: it works for its supervisor`);
    return true;
  }

  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      await this.#serving?.stop();
      // What was dispatched has the time that handlers have; meanwhile the worker stops.
      const { grace } = this.host;
      this.host.stopWorking();
      await this.#inTime(this.sender.flush(), grace);
      await this.host.stop();
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
      "This instance was stopped: it takes no more work. Make a new Punctual().",
    );
  }
}
