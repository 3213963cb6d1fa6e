import { defaultRetention } from "../run/retention.ts";
import {
  type ClaimedRun,
  type ClaimRequest,
  hasCrashed,
  type Lease,
  type PausedNames,
} from "../store/store.ts";
import type { ClockReading } from "../time.ts";
import { ABORT_GRACE, abortReasons, handlerGone } from "./attempt-ends.ts";
import { Buffer } from "./buffer.ts";
import { CHAIN_HELD_AT_MOST, Chains, goesBack } from "./chains.ts";
import { type Room, roomFor } from "./claim-request.ts";
import { CrashedRuns } from "./crashed-runs.ts";
import { LAST_WRITES, Overdue } from "./deadline.ts";
import { Exchanges } from "./exchanges.ts";
import { Executions } from "./executions.ts";
import type { Execution, Executor, Result, RunnableJob } from "./executor.ts";
import { type IsolatedExecution, Isolation } from "./isolation.ts";
import { Leases } from "./leases.ts";
import type { WorkerOptions } from "./options.ts";
import type { UnwrittenRun } from "./outbox.ts";
import { startedEvent, toOutboxEntry } from "./outbox-entry.ts";
import { HELD_AT_MOST, Pace } from "./pace.ts";
import type { WorkerParts } from "./parts.ts";
import { mustBeMarked, Suspects } from "./suspects.ts";
import type { WorkerRuns } from "./worker-runs.ts";

/** Claims, executes and settles runs until it is stopped or done. `exchanges.ts` has the loop. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #options: WorkerOptions;
  readonly #buffer: Buffer;
  readonly #chains = new Chains();
  readonly #suspects = new Suspects();
  readonly #executions: Executions;
  readonly #exchanges: Exchanges;
  readonly leases: Leases;
  readonly #pace: Pace;
  readonly #executor: Executor;
  readonly #isolation: Isolation;
  readonly #crashed: CrashedRuns;
  /** Claimed runs that count towards the budget. */
  #claimed = 0;
  #ran = 0;
  #cancelGrace: (() => void) | null = null;

  constructor(parts: WorkerParts, options: WorkerOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#pace = new Pace(parts.store.streams);
    this.#exchanges = new Exchanges(parts, { options, pace: this.#pace, runs: this.#runs() });
    this.#buffer = new Buffer(options.weights !== null, parts.queueOrders.fair);
    this.leases = new Leases({
      ...parts,
      lost: (run, expired) => this.#lose(run, expired),
      cancelled: (ids) => this.cancel(ids),
    });
    this.#executions = new Executions({
      ...parts,
      pace: this.#pace,
      started: (run) => this.#started(run),
      settle: (...of) => this.#settle(...of),
      ended: (...of) => this.#ended(...of),
      freed: (run) => this.#freed(run),
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
    const known = this.#exchanges.unwritten.map(({ run, settlement: { outcome } }) => ({ run, outcome }));
    const others = [...this.#executions.runs, ...this.#crashed.runs];
    return [...known, ...others.map((run) => ({ run, outcome: null }))];
  }

  /** Makes the worker exchange now, because a run may be due or cancelled. */
  wake(): void {
    this.#exchanges.wake();
  }

  /** Works until it is stopped or done. Returns how many runs it ran. */
  async work(): Promise<number> {
    const { deadline } = this.#parts;
    try {
      await deadline.until(this.#exchanges.work());
      await deadline.until(this.#executor.crashHooksCalled());
    } catch (error) {
      if (!(error instanceof Overdue)) throw error;
    } finally {
      this.#cancelGrace?.();
      this.leases.stop();
    }
    return this.#ran;
  }

  /** While paused it claims nothing. Releases runs that have not started; the others continue. */
  setPaused(paused: boolean): void {
    this.#exchanges.mode = paused ? "paused" : "working";
    if (paused) this.#releaseAll();
  }

  /** Stops claiming, releases runs that have not started, waits for the others, and aborts them after `grace`. */
  stop(): void {
    if (this.#exchanges.mode === "stopping") return;
    this.#exchanges.mode = "stopping";
    this.#releaseAll();
    const { clock, events, id } = this.#parts;
    events.emit("worker.stopping", { worker: id, running: this.#executions.size });
    this.#cancelGrace = clock.after(this.#options.grace, () => this.stopNow(), { background: true });
  }

  /** Stops as `stop()` does, but aborts running handlers at once. */
  stopNow(): void {
    this.stop();
    this.#parts.deadline.set(this.#executions.size > 0 ? ABORT_GRACE + LAST_WRITES : LAST_WRITES);
    this.#executions.abortAll(abortReasons.shutdown());
  }

  /** Returns the claimed runs as the exchanges see them. */
  #runs(): WorkerRuns {
    return {
      buffered: () => this.#buffer.size,
      unsettled: () =>
        this.#buffer.size +
        this.#chains.waiting +
        this.#suspects.size +
        this.#isolation.waiting +
        this.#executions.size +
        this.#crashed.size,
      chains: this.#chains,
      isBudgetUsed: () => this.#options.budget !== null && this.#claimed >= this.#options.budget,
      room: (asked) => this.#room(asked),
      fill: () => this.#fill(),
      releaseHeld: () => this.#releaseHeld(),
      releaseAll: () => this.#releaseAll(),
      hold: (claimed, claim, sent) => this.#hold(claimed, claim, sent),
      cancel: (ids) => this.cancel(ids),
      releasePaused: (paused) => this.#releasePaused(paused),
      newStarts: (stream) => [...this.#executions.newStarts(stream), ...this.#suspects.startsOf(stream)],
      startsWritten: (starts) => this.#startsWritten(starts),
      drop: (run) => this.leases.drop(run),
    };
  }

  #room(asked: number): Room {
    const parts = {
      executor: this.#executor,
      options: this.#options,
      buffer: this.#buffer,
      pace: this.#pace,
      claimed: this.#claimed,
      asked,
      crashed: this.#isolation.capacity,
    };
    return roomFor(parts, this.#parts.clock.monotonic());
  }

  /** Holds the runs that a claim brought. Returns true if another claim may bring more. */
  #hold(claimed: ClaimedRun[], claim: ClaimRequest, sent: ClockReading): boolean {
    this.#claimed += claimed.length;
    for (const run of claimed) this.leases.hold(run, claim.leases[run.name] ?? claim.lease, sent);
    const mayBringMore = this.#isolation.add(claim, claimed);
    const others = claimed.filter((run) => !hasCrashed(run));
    const since = this.#parts.clock.monotonic();
    this.#buffer.add(this.#chains.add(others, since), since);
    return mayBringMore;
  }

  /** Starts claimed runs in the free slots. */
  #fill(): void {
    this.#isolation.admitOthers();
    const isQuiet = !this.#isolation.isClosed || this.#releaseBuffered();
    if (isQuiet) for (const one of this.#isolation.startable()) void this.#startIsolated(one);
    for (;;) {
      const next = this.#buffer.peek();
      if (!next || !this.#executor.hasRoomFor(next)) return;
      this.#buffer.take();
      if (mustBeMarked(next)) {
        this.#suspects.add(next);
        this.wake();
        continue;
      }
      // If this process was suspended, another worker may have claimed the run. If none has, the release lets a worker
      // claim it.
      const isTrusted = this.leases.trusts(next);
      const job = isTrusted ? this.#jobOf(next) : null;
      if (job) this.#executions.start(this.#executor, next, job);
      else if (!isTrusted) this.#release(next);
    }
  }

  #startsWritten(starts: Lease[]): void {
    this.#buffer.add(this.#suspects.written(starts), this.#parts.clock.monotonic());
  }

  /** Releases buffered runs, so that they are not charged with a crash. Returns whether everything is written. */
  #releaseBuffered(): boolean {
    for (const run of [...this.#buffer.takeAll(), ...this.#chains.takeIf(() => true)]) this.#release(run);
    return this.#exchanges.isQuiet;
  }

  async #startIsolated(one: IsolatedExecution): Promise<void> {
    const { run, cell } = one;
    one.phase = "starting";
    try {
      // Written before the handler starts, so that a further crash is charged to this run only.
      const isHeld = await this.#parts.store.start(run, cell.isEmpty());
      run.started = true;
      if (!isHeld) this.#exchanges.add(run, null);
      else if (this.#exchanges.mode !== "working" || !this.leases.trusts(run)) this.#release(run);
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
    const job = this.#parts.registry.handlerOf(run);
    if (!job) void this.#refuse(run);
    return job ?? null;
  }

  #started(run: ClaimedRun): void {
    const { events } = this.#parts;
    // This execution only computes the key of an unkeyed run. A later claim takes the run, under the limit of its key.
    if (run.unkeyed) this.#claimed--;
    else {
      this.#ran++;
      if (events.hasListeners("run.started")) events.emit("run.started", startedEvent(run));
    }
  }

  #settle({ run, job, duration }: Execution, result: Result): void {
    if (result.outcome === "crashed") this.#crashed.add(run, result.error);
    else if (result.outcome === null) this.#exchanges.add(run, null);
    else this.#exchanges.add(run, toOutboxEntry(run, result, duration, job.settings.keep));
  }

  #ended({ run, duration }: Execution, result: Result): void {
    this.#chains.ended(run, duration);
    if (goesBack(result)) for (const one of this.#chains.takeBehind(run)) this.#release(one);
  }

  #freed(run: ClaimedRun): void {
    this.#startNext(run);
    // A synchronous handler returns while its run is being started: the `#fill()` under way then starts the next run.
    if (!this.#executions.isStarting) this.#fill();
    this.#exchanges.slotFreed(run);
  }

  /** Lets the next run of a chain start: this one has returned, or has left the worker. */
  #startNext(run: ClaimedRun): void {
    const next = this.#chains.next(run);
    if (next) this.#buffer.add([next], this.#parts.clock.monotonic());
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
    this.#exchanges.add(
      run,
      toOutboxEntry(run, { outcome: "failed", error: handlerGone() }, 0, defaultRetention),
    );
  }

  #releaseAll(): void {
    for (const run of this.#takeIf(() => true)) this.#release(run);
  }

  /** Releases runs that are paused, except ad hoc runs: claims take these even if they are paused. */
  #releasePaused({ jobs, queues }: PausedNames): void {
    if (jobs.length === 0 && queues.length === 0) return;
    const pausedJobs = new Set(jobs);
    const pausedQueues = new Set(queues);
    const isPaused = (run: ClaimedRun) =>
      run.owner === null && (pausedJobs.has(run.name) || pausedQueues.has(run.queue));
    for (const run of this.#takeIf(isPaused)) this.#release(run);
  }

  /** Takes runs that have not started out of the parts that hold them. */
  #takeIf(wanted: (run: ClaimedRun) => boolean): ClaimedRun[] {
    return [this.#buffer, this.#chains, this.#suspects, this.#isolation].flatMap((part) =>
      part.takeIf(wanted),
    );
  }

  /** Releases a run, and those behind it: they must not start before it. */
  #release(run: ClaimedRun): void {
    for (const one of [run, ...this.#chains.takeBehind(run)]) {
      this.#claimed--;
      this.#exchanges.add(one, toOutboxEntry(one, { outcome: "released" }, 0, defaultRetention));
    }
  }

  /** Releases runs that have waited too long in the buffer or in a chain, for other workers. */
  #releaseHeld(): void {
    const now = this.#parts.clock.monotonic();
    if (this.#buffer.size > 0)
      for (const run of this.#buffer.takeWaiting(now - HELD_AT_MOST)) this.#release(run);
    for (const run of this.#chains.takeWaiting(now - CHAIN_HELD_AT_MOST)) this.#release(run);
  }

  #lose(run: ClaimedRun, expired: boolean): void {
    if (!this.#executions.lose(run)) {
      // The lease may have expired here and not in the database: without a release the run would wait until it expires
      // there too.
      for (const one of this.#takeIf((one) => one === run)) if (expired) this.#release(one);
    } else for (const one of this.#chains.takeBehind(run)) this.#release(one);
    this.#isolation.lose(run);
  }

  /** Aborts the handlers of cancelled runs, and settles those that have not started. */
  cancel(ids: number[]): void {
    if (ids.length === 0) return;
    this.#executions.cancel(ids);
    const cancelled = new Set(ids);
    for (const run of this.#takeIf((one) => cancelled.has(one.id))) {
      this.#startNext(run);
      this.#exchanges.add(
        run,
        toOutboxEntry(run, { outcome: "cancelled", reason: null }, 0, defaultRetention),
      );
    }
  }
}
