import { defaultRetention } from "../run/retention.ts";
import { monotonicOf } from "../schedule/ticker.ts";
import { type ClaimedRun, type ClaimRequest, hasCrashed } from "../store/store.ts";
import { readClock, yieldToEventLoop } from "../time.ts";
import { ABORT_GRACE, abortReasons, handlerGone } from "./attempt-ends.ts";
import { Buffer } from "./buffer.ts";
import { claimRequest, NO_ROOM, type Room, roomFor } from "./claim-request.ts";
import { CrashedRuns } from "./crashed-runs.ts";
import { LAST_WRITES, Overdue } from "./deadline.ts";
import { Executions } from "./executions.ts";
import type { Execution, Executor, Result, RunnableJob } from "./executor.ts";
import { type IsolatedRun, Isolation } from "./isolation.ts";
import { Leases } from "./leases.ts";
import { strideOf, type WorkerOptions } from "./options.ts";
import { Outbox, type UnwrittenRun } from "./outbox.ts";
import { startedEvent, toOutboxEntry } from "./outbox-entry.ts";
import { HELD_AT_MOST, Pace } from "./pace.ts";
import type { WorkerParts } from "./parts.ts";
import { tickSchedules } from "./schedule-ticks.ts";
import { Sleep, untilAnswered } from "./waits.ts";

/** The loop that claims, executes and settles runs. An exchange is one call of the store that settles and claims. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #options: WorkerOptions;
  readonly #buffer: Buffer;
  readonly #executions: Executions;
  readonly #outbox: Outbox;
  readonly leases: Leases;
  readonly #pace = new Pace();
  readonly #sleep: Sleep;
  readonly #executor: Executor;
  readonly #isolation: Isolation;
  readonly #crashed: CrashedRuns;
  readonly #stride: ClaimRequest["stride"];
  /** Whether the database may have more runs to claim. */
  #hungry = true;
  /** Whether to exchange even without outcomes or room, to learn which runs other processes have cancelled. */
  #looking = true;
  #stopping = false;
  /** Claimed runs that count towards the budget. */
  #claimed = 0;
  #ran = 0;
  /** When the next run is due, on the monotonic clock. */
  #nextDue: number | null = null;
  #cancelGrace: (() => void) | null = null;

  constructor(parts: WorkerParts, options: WorkerOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#stride = strideOf(options, parts.random);
    this.#buffer = new Buffer(this.#stride !== null);
    this.#sleep = new Sleep(parts.clock);
    this.#outbox = new Outbox(parts, {
      drop: (run) => this.leases.drop(run),
      wake: () => this.wake(),
    });
    this.leases = new Leases({
      ...parts,
      lost: (run, expired) => this.#lose(run, expired),
      cancelled: (ids) => this.#cancel(ids),
    });
    this.#executions = new Executions({
      ...parts,
      pace: this.#pace,
      settle: (...of) => this.#settle(...of),
      freed: () => this.#freed(),
    });
    this.#executor = parts.executor;
    this.#executor.leasesExtended = (ms) => this.leases.extend(ms);
    this.#isolation = new Isolation({ ...parts, wake: () => this.wake() });
    this.#crashed = new CrashedRuns(parts, (run) => {
      this.leases.drop(run);
      this.wake();
    });
  }

  get running(): number {
    return this.#executions.size;
  }

  /** Runs of this worker whose outcome is not in the database. */
  get unwritten(): UnwrittenRun[] {
    const known = this.#outbox.unwritten.map(({ run, settlement: { outcome } }) => ({ run, outcome }));
    const others = [...this.#executions.runs, ...this.#crashed.runs];
    return [...known, ...others.map((run) => ({ run, outcome: null }))];
  }

  /** Makes the worker exchange now, because a run may be due or cancelled. */
  wake(): void {
    this.#hungry = true;
    this.#looking = true;
    this.#sleep.end();
  }

  /** Works until it is stopped or done, see `#isDone()`. Returns how many runs it ran. */
  async work(): Promise<number> {
    try {
      await this.#parts.deadline.until(this.#loop());
    } catch (error) {
      if (!(error instanceof Overdue)) throw error;
    } finally {
      this.#cancelGrace?.();
      this.leases.stop();
    }
    return this.#ran;
  }

  async #loop(): Promise<void> {
    const { deadline } = this.#parts;
    while (!deadline.isOver) {
      this.#releaseHeld();
      this.#fill();
      await this.#tick();
      await this.#sleep.until(this.#pace.gathered, () => this.#mustExchange());
      const claim = await this.#claimRequest();
      if (claim || this.#outbox.size > 0 || this.#looking) {
        const got = await this.#exchange(claim);
        await yieldToEventLoop();
        if (got > 0 || this.#outbox.size > 0) continue;
      }
      if (this.#isDone()) return this.#executor.crashHooksCalled();
      await this.#sleepUntilDue();
    }
  }

  /** Stops claiming, releases runs that have not started, waits for the others, and aborts them after `grace`. */
  stop(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#releaseAll();
    const { clock, events, id } = this.#parts;
    events.emit("worker.stopping", { worker: id, running: this.#executions.size });
    this.#cancelGrace = clock.after(this.#options.grace, () => this.stopNow(), { background: true });
    this.#sleep.end();
  }

  /** Stops as `stop()` does, but aborts running handlers at once. */
  stopNow(): void {
    this.stop();
    this.#parts.deadline.set(this.#executions.size > 0 ? ABORT_GRACE + LAST_WRITES : LAST_WRITES);
    this.#executions.abortAll(abortReasons.shutdown());
  }

  async #exchange(claim: ClaimRequest | null): Promise<number> {
    const sent = readClock(this.#parts.clock);
    if (claim) this.#hungry = false;
    this.#looking = false;
    const { nextDue, ...answer } = await this.#outbox.exchange(this.#executions.newStarts(), claim);
    this.#pace.exchanged(sent.monotonic, this.#parts.clock.monotonic());
    if (claim && (answer.unclaimed || answer.claimed.length >= claim.limit)) this.#hungry = true;
    this.#claimed += answer.claimed.length;
    for (const run of answer.claimed) this.leases.hold(run, claim!.leases[run.name] ?? claim!.lease, sent);
    if (claim && this.#isolation.add(claim, answer.claimed)) this.#hungry = true;
    const others = answer.claimed.filter((run) => !hasCrashed(run));
    this.#buffer.add(others, this.#parts.clock.monotonic());
    if (this.#stopping) this.#releaseAll();
    this.#cancel(answer.cancelled);
    this.#fill();
    const readTime = () => monotonicOf(nextDue, this.#parts);
    this.#nextDue = await untilAnswered(readTime, "reading the database's time", this.#parts);
    return answer.claimed.length;
  }

  /** Ticks one slice of the due schedules. */
  async #tick(): Promise<void> {
    const { ticker, events, id: worker } = this.#parts;
    if (events.hasListeners("worker.turned")) events.emit("worker.turned", { worker });
    if (!ticker || this.#stopping || (!this.#looking && ticker.wait > 0)) return;
    if ((await tickSchedules(ticker, this.#parts)) > 0) this.#hungry = true;
  }

  async #claimRequest(): Promise<ClaimRequest | null> {
    if (!this.#hungry && this.#outbox.size === 0) return null;
    const room = this.#room();
    if (room.limit <= 0) return null;
    const claim = await claimRequest(this.#parts, this.#options, this.#stride, room);
    return this.#stopping ? null : claim;
  }

  #room(): Room {
    if (this.#stopping) return NO_ROOM;
    const parts = {
      executor: this.#executor,
      options: this.#options,
      buffer: this.#buffer,
      pace: this.#pace,
      claimed: this.#claimed,
      crashed: this.#isolation.capacity,
    };
    return roomFor(parts, this.#parts.clock.monotonic());
  }

  /** Starts claimed runs in the free slots. */
  #fill(): void {
    this.#isolation.admitOthers();
    const isQuiet = !this.#isolation.isClosed || this.#releaseBuffered();
    if (isQuiet) for (const one of this.#isolation.startable()) void this.#startIsolated(one);
    while (this.#executor.free > 0) {
      const next = this.#buffer.take();
      if (!next) return;
      // If this process was suspended, another worker may have claimed the run. If none has, a released run is claimed
      // again.
      const isTrusted = this.leases.trusts(next);
      const job = isTrusted ? this.#jobOf(next) : null;
      if (job) this.#executions.start(this.#executor, next, job);
      else if (!isTrusted) this.#release(next);
    }
  }

  /** Releases buffered runs, so that they are not charged with a crash. Returns whether everything is written. */
  #releaseBuffered(): boolean {
    for (const run of this.#buffer.takeAll()) this.#release(run);
    return this.#outbox.isEmpty;
  }

  async #startIsolated(one: IsolatedRun): Promise<void> {
    const { run, cell } = one;
    one.phase = "starting";
    try {
      // Written before the handler starts, so that a further crash is charged to this run only.
      const isHeld = await this.#parts.store.start(run, cell.isEmpty());
      run.started = true;
      if (!isHeld) this.#outbox.add(run, null);
      else if (this.#stopping || !this.leases.trusts(run)) this.#release(run);
      else {
        const job = this.#jobOf(run);
        if (job) await this.#executions.runIn(this.#isolation.started(one), run, job);
      }
    } catch (error) {
      this.#parts.events.report(error, `starting run ${run.id}`);
      this.#release(run);
    }
    this.#isolation.end(one);
  }

  /** Returns the job of a run that is about to start. Refuses a run without one. */
  #jobOf(run: ClaimedRun): RunnableJob | null {
    const { registry, events } = this.#parts;
    const job = registry.handlerOf(run);
    if (!job) void this.#refuse(run);
    // This execution only computes the key of an unkeyed run. A later claim takes the run, under the limit of its key.
    else if (run.unkeyed) this.#claimed--;
    else {
      this.#ran++;
      if (events.hasListeners("run.started")) events.emit("run.started", startedEvent(run));
    }
    return job ?? null;
  }

  #settle({ run, job, duration }: Execution, result: Result): void {
    if (result.outcome === "crashed") this.#crashed.add(run, result.error);
    else if (result.outcome === null) this.#outbox.add(run, null);
    else this.#outbox.add(run, toOutboxEntry(run, result, duration, job.settings.keep));
    this.#sleep.end();
  }

  #freed(): void {
    // The outcome may have been sent with a claim that did not count this slot as free: claim for it now.
    if (this.#outbox.size === 0) this.#hungry = true;
    // While a run starts, its synchronous handler has returned, and `#fill()` goes on.
    if (!this.#executions.isStarting) this.#fill();
    this.#sleep.end();
  }

  /**
   * Releases a run whose job this process does not define, or fails an ad hoc run whose function another process has.
   */
  async #refuse(run: ClaimedRun): Promise<void> {
    if (run.owner === null) {
      this.#release(run);
      const { known, logger, events } = this.#parts;
      return known.refuse(run, logger).catch((error) => events.report(error, `releasing run ${run.id}`));
    }
    this.#outbox.add(
      run,
      toOutboxEntry(run, { outcome: "failed", error: handlerGone() }, 0, defaultRetention),
    );
  }

  #releaseAll(): void {
    for (const run of this.#takeIf(() => true)) this.#release(run);
  }

  /** Takes runs that have not started out of the buffer and the isolation. */
  #takeIf(wanted: (run: ClaimedRun) => boolean): ClaimedRun[] {
    return [...this.#buffer.takeIf(wanted), ...this.#isolation.takeIf(wanted)];
  }

  #release(run: ClaimedRun): void {
    this.#claimed--;
    this.#outbox.add(run, toOutboxEntry(run, { outcome: "released" }, 0, defaultRetention));
  }

  /** Releases runs that have waited in the buffer for `HELD_AT_MOST`, for other workers. */
  #releaseHeld(): void {
    if (this.#buffer.size === 0) return;
    const before = this.#parts.clock.monotonic() - HELD_AT_MOST;
    for (const run of this.#buffer.takeWaiting(before)) this.#release(run);
  }

  #lose(run: ClaimedRun, expired: boolean): void {
    if (!this.#executions.lose(run)) {
      // The lease may have expired here and not in the database: without a release the run would wait until it expires
      // there too.
      for (const one of this.#takeIf((one) => one === run)) if (expired) this.#release(one);
    }
    this.#isolation.lose(run);
  }

  #cancel(ids: number[]): void {
    this.#executions.cancel(ids);
    const cancelled = new Set(ids);
    for (const run of this.#takeIf((one) => cancelled.has(one.id))) {
      this.#outbox.add(run, toOutboxEntry(run, { outcome: "cancelled", reason: null }, 0, defaultRetention));
    }
  }

  /** Whether to exchange now instead of gathering more outcomes. */
  #mustExchange(): boolean {
    return this.#buffer.size === 0 || this.#looking || this.#stopping;
  }

  #isDone(): boolean {
    const waiting = this.#buffer.size + this.#isolation.waiting;
    const unsettled = this.#executions.size + waiting + this.#outbox.unwritten.length + this.#crashed.size;
    if (unsettled > 0 || (this.#parts.ticker?.isDue && !this.#stopping)) return false;
    const { budget, untilEmpty } = this.#options;
    return this.#stopping || (untilEmpty && !this.#hungry) || (budget !== null && this.#claimed >= budget);
  }

  /** Sleeps until an outcome, a wake-up, the next due run or tick, or the end of `sleep`. */
  async #sleepUntilDue(): Promise<void> {
    if (this.#looking || this.#outbox.size > 0 || (this.#hungry && this.#room().limit > 0)) return;
    if (this.#parts.ticker?.isDue && !this.#stopping) return yieldToEventLoop();
    const held = this.#buffer.size > 0 ? HELD_AT_MOST : Number.POSITIVE_INFINITY;
    await this.#sleep.for(Math.min(this.#options.sleep, held, this.#untilDue()), () => this.wake());
  }

  /** Returns the time until the next tick or due run. A run counts only if there is room: else the loop would spin. */
  #untilDue(): number {
    if (this.#stopping) return Number.POSITIVE_INFINITY;
    const { clock, ticker } = this.#parts;
    const untilTick = ticker?.wait ?? Number.POSITIVE_INFINITY;
    if (this.#nextDue === null || this.#room().limit <= 0) return untilTick;
    return Math.min(untilTick, this.#nextDue - clock.monotonic());
  }
}
