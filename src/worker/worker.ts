import { PunctualError } from "../errors.ts";
import { defaultRetention } from "../run/retention.ts";
import { type ClaimedRun, type ClaimRequest, hasCrashed } from "../store/store.ts";
import { readClock, yieldToEventLoop } from "../time.ts";
import { abortReasons } from "./attempt-ends.ts";
import { Buffer } from "./buffer.ts";
import { claimRequest, nextDueOf, tickSlice } from "./claim-request.ts";
import { CrashedRuns } from "./crashed-runs.ts";
import { LAST_WRITES, Overdue } from "./deadline.ts";
import { GRACE } from "./execute.ts";
import type { Cell, Executor, Result } from "./executor.ts";
import { type Isolated, Isolation } from "./isolation.ts";
import { Leases } from "./leases.ts";
import type { WorkerOptions } from "./options.ts";
import { strideOf } from "./options.ts";
import { Outbox } from "./outbox.ts";
import { HELD_AT_MOST, Pace } from "./pace.ts";
import type { WorkerParts } from "./parts.ts";
import { NO_ROOM, type Room, roomFor } from "./room.ts";
import { Running } from "./running.ts";
import { startedEvent, toSettling } from "./settle.ts";
import { toUnwritten, type Unwritten } from "./unwritten.ts";
import { Sleep } from "./waits.ts";

/** The loop that claims for free capacity, executes, and settles: each exchange carries what is done and brings what is next. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #options: WorkerOptions;
  readonly #buffer: Buffer;
  readonly #running = new Running();
  readonly #outbox: Outbox;
  readonly leases: Leases;
  readonly #pace = new Pace();
  readonly #rest: Sleep;
  readonly #executor: Executor;
  readonly #isolation: Isolation;
  readonly #crashes: CrashedRuns;
  readonly #stride: ClaimRequest["stride"];
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
    this.#stride = strideOf(options, parts.random);
    this.#buffer = new Buffer(this.#stride !== null);
    this.#rest = new Sleep(parts.clock);
    this.#outbox = new Outbox(parts, {
      drop: (run) => this.leases.drop(run),
      wake: () => this.wake(),
    });
    this.leases = new Leases({
      ...parts,
      lost: (run, expired) => this.#lost(run, expired),
      cancelled: (ids) => this.#cancel(ids),
    });
    this.#executor = parts.executor;
    this.#isolation = new Isolation({ ...parts, wake: () => this.wake() });
    this.#crashes = new CrashedRuns(parts, (run) => {
      this.leases.drop(run);
      this.wake();
    });
  }

  get running(): number {
    return this.#running.size;
  }

  /** Runs of this worker of which the database does not know what became of them. */
  get unwritten(): Unwritten[] {
    return toUnwritten(this.#outbox.unwritten, [...this.#running.runs, ...this.#crashes.runs]);
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
      await this.#rest.until(this.#pace.gathered, () => this.#isNeeded());
      const claim = await this.#claimRequest();
      if (claim || this.#outbox.size > 0 || this.#looking) {
        const got = await this.#exchange(claim);
        await yieldToEventLoop();
        if (got > 0 || this.#outbox.size > 0) continue;
      }
      if (this.#isDone()) return this.#executor.crashHooksCalled();
      await this.#sleep();
    }
  }

  /** Claims nothing more, gives back what has not started, waits; after the grace it aborts what still runs. */
  stop(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#giveBackAll();
    const { clock, events, id } = this.#parts;
    events.emit("worker.stopping", { worker: id, running: this.#running.size });
    this.#cancelGrace = clock.after(this.#options.grace, () => this.stopNow(), { background: true });
    this.#rest.end();
  }

  stopNow(): void {
    this.stop();
    this.#parts.deadline.set(this.#running.size > 0 ? GRACE + LAST_WRITES : LAST_WRITES);
    this.#running.abortAll(abortReasons.shutdown());
  }

  async #exchange(claim: ClaimRequest | null): Promise<number> {
    const sent = readClock(this.#parts.clock);
    if (claim) this.#hungry = false;
    this.#looking = false;
    const answer = await this.#outbox.exchange(this.#running.startedSince(), claim);
    this.#pace.exchanged(sent.monotonic, this.#parts.clock.monotonic());
    if (claim && (answer.unclaimed || answer.claimed.length >= claim.limit)) this.#hungry = true;
    this.#claimed += answer.claimed.length;
    for (const run of answer.claimed) this.leases.hold(run, claim!.leases[run.name] ?? claim!.lease, sent);
    if (claim && this.#isolation.add(claim, answer.claimed)) this.#hungry = true;
    const others = answer.claimed.filter((run) => !hasCrashed(run));
    this.#buffer.add(others, this.#parts.clock.monotonic());
    if (this.#stopping) this.#giveBackAll();
    this.#cancel(answer.cancelled);
    this.#fill();
    this.#nextDue = await nextDueOf(answer.nextDue, this.#parts);
    return answer.claimed.length;
  }

  /** Ticks one slice of the due schedules. */
  async #tick(): Promise<void> {
    const { ticker, events, id: worker } = this.#parts;
    if (events.hears("worker.turned")) events.emit("worker.turned", { worker });
    if (!ticker || this.#stopping || (!this.#looking && ticker.wait > 0)) return;
    if ((await tickSlice(ticker, this.#parts)) > 0) this.#hungry = true;
  }

  async #claimRequest(): Promise<ClaimRequest | null> {
    if (!this.#hungry && this.#outbox.size === 0) return null;
    const room = this.#room();
    if (room.limit <= 0) return null;
    const claim = await claimRequest(this.#parts, this.#options, this.#stride, room);
    return this.#stopping ? null : claim;
  }

  /** How many runs there is room for, how many of them would start at once, and how many at once or next. */
  #room(): Room {
    if (this.#stopping) return NO_ROOM;
    const used = { buffer: this.#buffer, claimed: this.#claimed, crashed: this.#isolation.capacity };
    return roomFor(this.#executor, used, this.#options, this.#pace, this.#parts.clock.monotonic());
  }

  #fill(): void {
    this.#isolation.admitOthers();
    const isQuiet = !this.#isolation.isClosed || this.#isEmptied();
    if (isQuiet) for (const one of this.#isolation.startable()) void this.#startIsolated(one);
    while (this.#executor.free > 0) {
      const next = this.#buffer.take();
      if (!next) return;
      // After a pause of the process it may be another worker's by now; if not, it is claimed again.
      if (this.leases.trusts(next)) void this.#start(next);
      else this.#giveBack(next);
    }
  }

  /** Releases the rest of the batch: it counts as started, and would be charged with the crash of a run that is alone here. */
  #isEmptied(): boolean {
    for (const run of this.#buffer.takeAll()) this.#giveBack(run);
    return this.#outbox.isEmpty;
  }

  async #startIsolated(one: Isolated): Promise<void> {
    const { run, cell } = one;
    one.phase = "starting";
    try {
      // Before the handler starts, so that one more crash is charged to this run and to no other.
      const held = await this.#parts.store.start(run, cell.isEmpty());
      run.started = true;
      if (!held) this.#outbox.add(run, null);
      else if (this.#stopping || !this.leases.trusts(run)) this.#giveBack(run);
      else await this.#start(run, this.#isolation.started(one));
    } catch (error) {
      this.#parts.events.report(error, `starting run ${run.id}`);
      this.#giveBack(run);
    }
    this.#isolation.end(one);
  }

  /** Settles when the handler has returned. */
  #start(run: ClaimedRun, cell?: Cell): Promise<void> {
    const job = this.#parts.registry.handlerOf(run);
    if (!job) return this.#refuse(run);
    const { events, clock } = this.#parts;
    // Its key is computed where its handler would run. It comes back with the next claim that finds room for the key.
    if (run.unkeyed) this.#claimed--;
    else {
      this.#ran++;
      if (events.hears("run.started")) events.emit("run.started", startedEvent(run));
    }
    const execution = (cell ?? this.#executor).execute(run, job);
    this.#running.add(execution);
    this.#pace.started(clock.monotonic());
    const end = (result: Result) => {
      this.#running.remove(execution);
      this.#pace.done(clock.monotonic());
      if (result.outcome === "crashed") this.#crashes.add(run, result.error);
      else if (result.outcome === null) this.#outbox.add(run, null);
      else this.#outbox.add(run, toSettling(run, result, execution.duration, job.settings.keep));
      this.#rest.end();
    };
    const { logbook } = this.#parts;
    void execution.result.then((result) => {
      // Before its outcome: who sees that a run has ended sees all that it said, and what is not kept is deleted with its lines.
      if (logbook.holds(run)) void logbook.flush().then(() => end(result));
      else end(result);
    });
    return execution.returned.then(() => {
      // Its outcome has left already, with a claim for less than there is room for now.
      if (this.#outbox.size === 0) this.#hungry = true;
      this.#fill();
      this.#rest.end();
    });
  }

  /** Claimed before this worker knew the name: another process defines it, or its job has another name now. */
  async #refuse(run: ClaimedRun): Promise<void> {
    if (run.owner === null) {
      this.#giveBack(run);
      const { known, logger, events } = this.#parts;
      return known.refuse(run, logger).catch((error) => events.report(error, `giving back run ${run.id}`));
    }
    const error = new PunctualError("HANDLER_GONE", "Its function was dispatched by another process.");
    this.#outbox.add(run, toSettling(run, { outcome: "failed", error }, 0, defaultRetention));
  }

  #giveBackAll(): void {
    for (const run of this.#takeIf(() => true)) this.#giveBack(run);
  }

  /** Of those that have not begun. */
  #takeIf(wanted: (run: ClaimedRun) => boolean): ClaimedRun[] {
    return [...this.#buffer.takeIf(wanted), ...this.#isolation.takeIf(wanted)];
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

  #lost(run: ClaimedRun, expired: boolean): void {
    if (!this.#running.lose(run)) {
      // Forgotten, a run that nobody has taken would wait for its lease to end.
      for (const one of this.#takeIf((one) => one === run)) if (expired) this.#giveBack(one);
    }
    this.#isolation.lose(run);
  }

  #cancel(ids: number[]): void {
    this.#running.cancel(ids);
    const asked = new Set(ids);
    for (const run of this.#takeIf((one) => asked.has(one.id))) {
      this.#outbox.add(run, toSettling(run, { outcome: "cancelled", reason: null }, 0, defaultRetention));
    }
  }

  /** The database is to be asked now, however much there is to do here. */
  #isNeeded(): boolean {
    return this.#buffer.size === 0 || this.#looking || this.#stopping;
  }

  #isDone(): boolean {
    const waiting = this.#buffer.size + this.#isolation.waiting;
    const unsettled = this.#running.size + waiting + this.#outbox.unwritten.length + this.#crashes.size;
    if (unsettled > 0 || (this.#parts.ticker?.isDue && !this.#stopping)) return false;
    const { budget, untilEmpty } = this.#options;
    return this.#stopping || (untilEmpty && !this.#hungry) || (budget !== null && this.#claimed >= budget);
  }

  /** Until an outcome, a wake-up, the next due run, or the time to look again. */
  async #sleep(): Promise<void> {
    if (this.#looking || this.#outbox.size > 0 || (this.#hungry && this.#room().limit > 0)) return;
    if (this.#parts.ticker?.isDue && !this.#stopping) return yieldToEventLoop();
    const held = this.#buffer.size > 0 ? HELD_AT_MOST : Number.POSITIVE_INFINITY;
    await this.#rest.for(Math.min(this.#options.sleep, held, this.#untilDue()), () => this.wake());
  }

  /** What is due ends the sleep only if something can be done about it: else it would end it again and again. */
  #untilDue(): number {
    if (this.#stopping) return Number.POSITIVE_INFINITY;
    const { clock, ticker } = this.#parts;
    const untilTick = ticker?.wait ?? Number.POSITIVE_INFINITY;
    if (this.#nextDue === null || this.#room().limit <= 0) return untilTick;
    return Math.min(untilTick, this.#nextDue - clock.monotonic());
  }
}
