import { PunctualError } from "../errors.ts";
import type { Registry } from "../job/registry.ts";
import type { Emitter } from "../observe/events.ts";
import type { Logger } from "../observe/logger.ts";
import { randomText } from "../run/random.ts";
import { defaultRetention } from "../run/retention.ts";
import { monotonicOf } from "../schedule/moment.ts";
import type { ClaimedRun, ClaimRequest, Store } from "../store/store.ts";
import { type Clock, yieldToEventLoop } from "../time.ts";
import { Buffer } from "./buffer.ts";
import { abortReasons } from "./ends.ts";
import { type ExecuteParts, Execution, type Runnable } from "./execute.ts";
import { DEFAULT_LEASE, type KnownJobs } from "./known-jobs.ts";
import { Leases } from "./leases.ts";
import { Outbox } from "./outbox.ts";
import { Pace } from "./pace.ts";
import { Rest } from "./rest.ts";
import { Running } from "./running.ts";
import { toSettling } from "./settle.ts";
import type { Tallies } from "./tallies.ts";

/** A run claimed ahead goes back if it has not started by then. */
const HELD_AT_MOST = 200;

/** How long a run with a crash behind it waits for its neighbours to finish, so that it can run alone. */
const ALONE_AFTER = 10_000;

export interface WorkerOptions {
  parallel: number;
  /** Null: every queue. */
  queues: string[] | null;
  /** The most that is claimed at once; null: as many as will start soon. */
  batch: number | null;
  sleep: number;
  /** Ends after so many runs, or when nothing is due; null: only by stop(). */
  budget: number | null;
  /** How long stop() waits for handlers before it aborts them. */
  grace: number;
}

export interface WorkerParts {
  id: string;
  store: Store;
  clock: Clock;
  events: Emitter;
  registry: Registry;
  tallies: Tallies;
  logger: Logger;
  instance: object;
  random(): number;
  nextSeq(): number;
  known: KnownJobs;
  ticker: { readonly wait: number; tick(): Promise<void> };
}

/** The loop that claims for free capacity, executes, and settles: each exchange carries what is done and brings what is next. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #options: WorkerOptions;
  readonly #buffer = new Buffer();
  readonly #running = new Running();
  readonly #outbox: Outbox;
  readonly #leases: Leases;
  readonly #pace: Pace;
  readonly #rest: Rest;
  readonly #execute: ExecuteParts;
  /** Handlers that have not returned, settled or not. */
  #busy = 0;
  /** The run that has this process to itself: nothing else starts until its handler has returned. */
  #alone: ClaimedRun | null = null;
  #starting = false;
  #suspectSince: number | null = null;
  /** There may be more to claim. */
  #hungry = true;
  /** Time to ask the database even with nothing to settle and no room: somebody may have cancelled a run. */
  #looking = true;
  #stopping = false;
  #claimed = 0;
  #ran = 0;
  #nextDue: number | null = null;
  #cancelGrace: (() => void) | null = null;

  constructor(parts: WorkerParts, options: WorkerOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#pace = new Pace(parts.clock.monotonic());
    this.#rest = new Rest(parts.clock);
    this.#outbox = new Outbox(parts, (run) => this.#leases.drop(run));
    this.#leases = new Leases({
      ...parts,
      worker: parts.id,
      lost: (run) => this.#lost(run),
      cancelled: (ids) => this.#cancel(ids),
    });
    this.#execute = {
      ...parts,
      completeWith: (run, work) => this.#outbox.completeWith(run, work, this.#jobOf(run)),
    };
  }

  get running(): number {
    return this.#running.size;
  }

  /** Something may be due: look now. */
  wake(): void {
    this.#hungry = true;
    this.#looking = true;
    this.#rest.end();
  }

  /** Until it is stopped or its budget is used; gives how many runs it ran. */
  async work(): Promise<number> {
    try {
      for (;;) {
        this.#releaseHeld();
        this.#fill();
        await this.#tick();
        const claim = await this.#claimRequest();
        if (claim || this.#outbox.size > 0 || this.#looking) {
          const got = await this.#exchange(claim);
          await yieldToEventLoop();
          if (got > 0 || this.#outbox.size > 0) continue;
        }
        if (this.#isDone()) break;
        await this.#sleep();
      }
    } finally {
      this.#cancelGrace?.();
      this.#leases.stop();
    }
    return this.#ran;
  }

  /** Claims nothing more, gives back what has not started, waits; after the grace it aborts what still runs. */
  stop(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    for (const run of this.#buffer.takeAll()) this.#giveBack(run);
    const { clock, events, id } = this.#parts;
    events.emit("worker.stopping", { worker: id, running: this.#running.size });
    this.#cancelGrace = clock.after(this.#options.grace, () => this.stopNow(), { background: true });
    this.#rest.end();
  }

  stopNow(): void {
    this.stop();
    this.#running.abortAll(abortReasons.shutdown());
  }

  async #exchange(claim: ClaimRequest | null): Promise<number> {
    const sentAt = this.#parts.clock.monotonic();
    if (claim) this.#hungry = false;
    this.#looking = false;
    const started = this.#running.startedSince();
    const answer = await this.#outbox.exchange(started, claim);
    if (claim && answer.claimed.length >= claim.limit) this.#hungry = true;
    this.#claimed += answer.claimed.length;
    for (const run of answer.claimed) {
      this.#leases.hold(run, claim!.leases[run.name] ?? claim!.lease, sentAt);
    }
    this.#buffer.add(answer.claimed, this.#parts.clock.monotonic());
    if (this.#stopping) for (const run of this.#buffer.takeAll()) this.#giveBack(run);
    this.#cancel(answer.cancelled);
    this.#fill();
    this.#nextDue = await monotonicOf(answer.nextDue, this.#parts);
    return answer.claimed.length;
  }

  /** What is due becomes runs; a fault here must not keep those that are there from running. */
  async #tick(): Promise<void> {
    const { ticker, events } = this.#parts;
    if (this.#stopping || (!this.#looking && ticker.wait > 0)) return;
    try {
      await ticker.tick();
    } catch (error) {
      events.report(error, "ticking schedules");
    }
  }

  async #claimRequest(): Promise<ClaimRequest | null> {
    if (!this.#hungry && this.#outbox.size === 0) return null;
    const { limit, start } = this.#room();
    if (limit <= 0) return null;
    const exclude = await this.#parts.known.elsewhere();
    if (this.#stopping) return null;
    return {
      token: randomText(),
      limit,
      start,
      queues: this.#options.queues,
      exclude,
      owner: this.#parts.id,
      lease: DEFAULT_LEASE,
      leases: this.#parts.known.unusualLeases(),
    };
  }

  /** How many runs there is room for, and how many of them would start at once. */
  #room(): { limit: number; start: number } {
    if (this.#stopping || this.#alone || this.#suspectSince !== null) return { limit: 0, start: 0 };
    const { parallel, batch, budget } = this.#options;
    const taken = this.#busy + this.#buffer.size;
    const room = parallel + this.#pace.ahead(this.#parts.clock.monotonic()) - taken;
    const left = budget === null ? room : Math.min(room, budget - this.#claimed);
    const limit = batch === null ? left : Math.min(left, batch);
    return { limit, start: Math.max(0, Math.min(limit, parallel - taken)) };
  }

  #fill(): void {
    while (this.#busy < this.#options.parallel && this.#alone === null) {
      const next = this.#buffer.peek();
      // The one that waited to run alone may have been cancelled or lost meanwhile.
      if (!next || next.crashes === 0) this.#suspectSince = null;
      if (!next) return;
      if (next.crashes > 0 && !this.#mayRunAlone()) return;
      this.#buffer.take();
      // After a pause of the process it may be another worker's by now; if not, it is claimed again.
      if (!this.#leases.trusts(next)) this.#giveBack(next);
      else if (next.crashes > 0) void this.#startAlone(next);
      else this.#start(next);
    }
  }

  /** A run that took its process down with it must not take its neighbours along, nor be mixed up with them. */
  #mayRunAlone(): boolean {
    const now = this.#parts.clock.monotonic();
    this.#suspectSince ??= now;
    // What was claimed with it counts as started, and would be charged with its crash.
    for (const run of this.#buffer.takeIf((one) => one.crashes === 0)) this.#giveBack(run);
    if (!this.#outbox.isEmpty) return false;
    return this.#busy === 0 || now - this.#suspectSince >= ALONE_AFTER;
  }

  async #startAlone(run: ClaimedRun): Promise<void> {
    this.#suspectSince = null;
    this.#alone = run;
    this.#starting = true;
    try {
      // Before the handler starts, so that one more crash is charged to this run and to no other.
      const held = await this.#parts.store.start(run);
      this.#starting = false;
      run.started = true;
      if (!held) this.#outbox.add(run, null);
      else if (this.#stopping) this.#giveBack(run);
      else await this.#start(run);
    } catch (error) {
      this.#starting = false;
      this.#parts.events.report(error, `starting run ${run.id}`);
      this.#giveBack(run);
    }
    this.#alone = null;
    this.wake();
  }

  /** Settles when the handler has returned. */
  #start(run: ClaimedRun): Promise<void> {
    const job = this.#jobOf(run);
    if (!job) return this.#refuse(run);
    const { clock, events } = this.#parts;
    const startedAt = clock.monotonic();
    if (events.hears("run.started")) {
      events.emit("run.started", { id: run.id, name: run.name, queue: run.queue, attempt: run.attempts });
    }
    const execution = new Execution(run, job, this.#execute);
    this.#running.add(execution);
    this.#busy++;
    this.#ran++;
    void execution.result.then((result) => {
      this.#running.remove(execution);
      this.#pace.done();
      const settling =
        result.outcome === null
          ? null
          : toSettling(run, result, clock.monotonic() - startedAt, job.settings.keep);
      this.#outbox.add(run, settling);
      this.#rest.end();
    });
    return execution.returned.then(() => {
      this.#busy--;
      // Its outcome has left already, with a claim for less than there is room for now.
      if (this.#outbox.size === 0) this.#hungry = true;
      this.#fill();
      this.#rest.end();
    });
  }

  #jobOf(run: ClaimedRun): Runnable | undefined {
    const { registry } = this.#parts;
    if (run.owner === null) return registry.definition(run.name);
    const adHoc = registry.adHoc(run.lane);
    return adHoc && { ...adHoc, schema: null };
  }

  /** Claimed in the moment between a new name and our knowing it: another process defines it. */
  async #refuse(run: ClaimedRun): Promise<void> {
    if (run.owner === null) {
      this.#parts.known.refuse(run.name);
      return this.#giveBack(run);
    }
    const error = new PunctualError("HANDLER_GONE", "Its function was dispatched by another process.");
    this.#outbox.add(run, toSettling(run, { outcome: "failed", error }, 0, defaultRetention));
  }

  #giveBack(run: ClaimedRun): void {
    this.#claimed--;
    this.#outbox.add(run, toSettling(run, { outcome: "released" }, 0, defaultRetention));
  }

  #releaseHeld(): void {
    if (this.#buffer.size === 0) return;
    const before = this.#parts.clock.monotonic() - HELD_AT_MOST;
    for (const run of this.#buffer.takeWaiting(before)) this.#giveBack(run);
  }

  #lost(run: ClaimedRun): void {
    if (!this.#running.lose(run)) this.#buffer.remove(run);
  }

  #cancel(ids: number[]): void {
    this.#running.cancel(ids);
    const asked = new Set(ids);
    for (const run of this.#buffer.takeIf((one) => asked.has(one.id))) {
      this.#outbox.add(run, toSettling(run, { outcome: "cancelled", reason: null }, 0, defaultRetention));
    }
  }

  #isDone(): boolean {
    const unsettled = this.#running.size + this.#buffer.size + this.#outbox.size;
    if (unsettled > 0 || this.#starting) return false;
    const { budget } = this.#options;
    return this.#stopping || (budget !== null && (!this.#hungry || this.#claimed >= budget));
  }

  /** Until an outcome, a wake-up, the next due run, or the time to look again. */
  async #sleep(): Promise<void> {
    if (this.#looking || this.#outbox.size > 0 || (this.#hungry && this.#room().limit > 0)) return;
    const held = this.#buffer.size > 0 ? HELD_AT_MOST : Number.POSITIVE_INFINITY;
    await this.#rest.for(Math.min(this.#options.sleep, held, this.#untilDue()), () => this.wake());
  }

  /** What is due ends the sleep only if something can be done about it: else it would end it again and again. */
  #untilDue(): number {
    if (this.#stopping) return Number.POSITIVE_INFINITY;
    const { clock, ticker } = this.#parts;
    const claims = this.#nextDue !== null && this.#room().limit > 0;
    return Math.min(ticker.wait, claims ? this.#nextDue! - clock.monotonic() : Number.POSITIVE_INFINITY);
  }
}
