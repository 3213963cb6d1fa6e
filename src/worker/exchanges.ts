import { monotonicOf } from "../schedule/ticker.ts";
import type { WorkerActivity } from "../store/records.ts";
import type { ClaimedRun, ClaimRequest, Lease } from "../store/store.ts";
import { type ClockReading, readClock, yieldToEventLoop } from "../time.ts";
import { CHAIN_HELD_AT_MOST } from "./chains.ts";
import { claimRequest, NO_ROOM, type Room } from "./claim-request.ts";
import { ExchangeStream } from "./exchange-stream.ts";
import { strideOf, type WorkerOptions } from "./options.ts";
import type { OutboxEntry } from "./outbox-entry.ts";
import { HELD_AT_MOST, type Pace } from "./pace.ts";
import type { WorkerParts } from "./parts.ts";
import { tickSchedules } from "./schedule-ticks.ts";
import { untilAnswered } from "./waits.ts";
import type { WorkerRuns } from "./worker-runs.ts";

/** Interval at which the schedules are read although no tick is due: other processes may have changed them. */
const READ_SCHEDULES_EVERY = 5000;

/** Fewest runs for which a stream claims beside the first one: a smaller group is not worth a transaction. */
const WORTH_A_CLAIM = 100;

/**
 * The exchanges of a worker. The first stream does everything: it ticks schedules, looks for cancellations, claims
 * every kind of run, and ends when the worker is done. A second stream, if the store has one, claims beside it for as
 * long as claims bring as many runs as they ask for.
 */
export class Exchanges {
  readonly #parts: WorkerParts;
  readonly #options: WorkerOptions;
  readonly #runs: WorkerRuns;
  readonly #pace: Pace;
  readonly #stride: ClaimRequest["stride"];
  readonly #streams: ExchangeStream[];
  readonly #first: ExchangeStream;
  /** Whether the database may have more runs for the first stream to claim. */
  #hungry = true;
  /** Whether the last claim brought as many runs as it asked for. */
  #isFull = false;
  /** Whether to exchange even without outcomes or room, to learn which runs other processes have cancelled. */
  #looking = true;
  /** Whether runs were announced since the first stream's last exchange. */
  #isWoken = false;
  #schedulesReadAt = Number.NEGATIVE_INFINITY;
  #mode: WorkerActivity = "working";
  #isOver = false;
  /** Slots that were freed since the other streams were woken for them. */
  #freed = 0;
  /** When the next run is due, on the monotonic clock. */
  #nextDue: number | null = null;

  constructor(
    parts: WorkerParts,
    { options, runs, pace }: { options: WorkerOptions; runs: WorkerRuns; pace: Pace },
  ) {
    this.#parts = parts;
    this.#options = options;
    this.#runs = runs;
    this.#pace = pace;
    this.#stride = strideOf(options, parts.random);
    const outboxParts = { ...parts, drop: (run: ClaimedRun) => runs.drop(run), wake: () => this.wake() };
    this.#streams = Array.from(
      { length: parts.store.streams },
      (_, number) => new ExchangeStream(number, outboxParts),
    );
    this.#first = this.#streams[0]!;
  }

  /** Every outcome that was added and is not written. */
  get unwritten(): OutboxEntry[] {
    return this.#streams.flatMap(({ outbox }) => outbox.unwritten);
  }

  /** Whether no exchange is under way, and no outcome waits for one. */
  get isQuiet(): boolean {
    return this.#streams.every(({ outbox }) => outbox.isEmpty);
  }

  /** Adds the outcome of a run; null: the lease was lost, so nothing is written. */
  add(run: ClaimedRun, entry: OutboxEntry | null): void {
    const { outbox, sleep } = this.#streamOf(run);
    outbox.add(run, entry);
    sleep.end();
  }

  /** Makes the streams exchange now, because a run may be due or cancelled. */
  wake(): void {
    this.#look();
    this.#isWoken = true;
    this.#endSleeps();
  }

  #look(): void {
    this.#hungry = true;
    this.#looking = true;
  }

  /** Called when a slot is free again. */
  slotFreed(run: ClaimedRun): void {
    // The outcome may have been sent with a claim that did not count this slot as free: claim for it now.
    if (this.#streamOf(run).outbox.size === 0) this.#hungry = true;
    this.#first.sleep.end();
    // Each freed slot makes room for one run. With fewer slots, another stream's claim is not worth its transaction.
    if (++this.#freed < WORTH_A_CLAIM) return;
    this.#freed = 0;
    this.#endSleeps();
  }

  /** While it is not `working`, nothing is claimed or ticked. Once `stopping`, the streams end when all is written. */
  get mode(): WorkerActivity {
    return this.#mode;
  }

  set mode(mode: WorkerActivity) {
    this.#mode = mode;
    if (mode === "working") this.#look();
    this.#endSleeps();
  }

  /** Resolves when the worker is stopped or done, see `#isDone()`. */
  async work(): Promise<void> {
    const [first, ...others] = this.#streams;
    try {
      await Promise.all([this.#workFirst(first!), ...others.map((stream) => this.#workBeside(stream))]);
    } finally {
      this.#end();
    }
  }

  async #workFirst(stream: ExchangeStream): Promise<void> {
    while (!this.#mustEnd()) {
      this.#runs.releaseHeld();
      this.#runs.fill();
      await this.#tick();
      await this.#gather(stream);
      const claim = await this.#claim(stream, this.#hungry || this.#hasOutcomes);
      if (claim || this.#hasOutcomes || this.#looking) {
        const got = await this.#exchange(stream, claim, this.#runs.newStarts(stream.number));
        await yieldToEventLoop();
        if (got > 0 || this.#hasOutcomes) continue;
      }
      if (this.#isDone()) return this.#end();
      await this.#sleepUntilDue();
    }
  }

  async #workBeside(stream: ExchangeStream): Promise<void> {
    while (!this.#mustEnd()) {
      await this.#gather(stream);
      stream.isBusy = true;
      const claim = await this.#claim(stream, this.#isFull);
      // No outcome of another run may follow for a long time, so a start is a reason to exchange.
      const started = this.#runs.newStarts(stream.number);
      if (claim || stream.outbox.size > 0 || started.length > 0) {
        await this.#exchange(stream, claim, started);
        // The outcomes may have opened room that this stream did not claim for.
        if (!claim) this.#hungry = true;
        await yieldToEventLoop();
        stream.isBusy = false;
        this.#first.sleep.end();
      } else {
        stream.isBusy = false;
        await stream.sleep.for(this.#options.sleep, () => {});
      }
    }
  }

  async #exchange(stream: ExchangeStream, claim: ClaimRequest | null, started: Lease[]): Promise<number> {
    const { clock } = this.#parts;
    const sent = readClock(clock);
    if (stream.isFirst) {
      if (claim) this.#hungry = false;
      this.#looking = false;
      this.#isWoken = false;
      this.#runs.chains.sent();
    }
    const answer = await stream.outbox.exchange(started, claim);
    const { nextDue, claimed, cancelled, paused, unclaimed, isPartial } = answer;
    // A claim that was refused may have kept the starts from being written.
    if (!unclaimed) this.#runs.startsWritten(started);
    stream.asked = 0;
    stream.answeredAt = clock.monotonic();
    this.#pace.exchanged(stream.answeredAt - sent.monotonic);
    if (claim) {
      this.#isFull = !unclaimed && claimed.length >= claim.limit;
      if (this.#hold(stream, claimed, claim, sent) || this.#isFull || unclaimed) this.#hungry = true;
      if (this.#isFull) this.#endSleeps();
    }
    if (this.#isIdle) this.#runs.releaseAll();
    this.#cancel(stream, cancelled);
    if (paused) this.#runs.releasePaused(paused);
    this.#runs.fill();
    // Only the first stream sets the next due time: the answer of another stream may describe an earlier moment.
    if (isPartial) this.#look();
    else if (stream.isFirst) {
      const readTime = () => monotonicOf(nextDue, this.#parts);
      this.#nextDue = await untilAnswered(readTime, "reading the database's time", this.#parts);
    }
    return claimed.length;
  }

  /** Holds the runs that a claim brought. Returns true if another claim may bring more. */
  #hold(stream: ExchangeStream, claimed: ClaimedRun[], claim: ClaimRequest, sent: ClockReading): boolean {
    for (const run of claimed) run.stream = stream.number;
    // An empty claim of another stream does not mean that no run is ready: it leaves out limited and crashed runs.
    return (stream.isFirst || claimed.length > 0) && this.#runs.hold(claimed, claim, sent);
  }

  #cancel(stream: ExchangeStream, ids: number[]): void {
    this.#runs.cancel(ids);
    // Another stream may be claiming one of these runs, and its answer may not report the cancellation.
    if (ids.length > 0) for (const other of this.#streams) other.mustLook ||= other.asked > 0;
    if (!stream.mustLook) return;
    stream.mustLook = false;
    this.#looking = true;
    this.#first.sleep.end();
  }

  /** Whether the first stream has outcomes to write now. Those of a chain are written when it has ended. */
  get #hasOutcomes(): boolean {
    return this.#first.outbox.size > this.#runs.chains.gathered;
  }

  /** Ticks one slice of the due schedules. */
  async #tick(): Promise<void> {
    const { ticker, events, id: worker } = this.#parts;
    if (events.hasListeners("worker.turned")) events.emit("worker.turned", { worker });
    if (!ticker || this.#isIdle || (ticker.wait > 0 && !this.#mustReadSchedules())) return;
    this.#schedulesReadAt = this.#parts.clock.monotonic();
    if ((await tickSchedules(ticker, this.#parts)) > 0) this.#hungry = true;
  }

  #mustReadSchedules(): boolean {
    const age = this.#parts.clock.monotonic() - this.#schedulesReadAt;
    return this.#looking && age >= READ_SCHEDULES_EVERY;
  }

  /** Waits for more outcomes, to write them together. */
  #gather({ sleep, answeredAt }: ExchangeStream): Promise<void> {
    const mustExchange = () => this.#runs.buffered() === 0 || this.#looking || this.#isIdle;
    return sleep.until(this.#pace.gatherUntil(answeredAt), mustExchange);
  }

  async #claim(stream: ExchangeStream, isWanted: boolean): Promise<ClaimRequest | null> {
    if (!isWanted) return null;
    const room = stream.isFirst ? this.#room() : this.#roomBeside();
    if (room.limit <= 0) return null;
    // Counted from now on: otherwise another stream could use the same room before this claim is sent.
    stream.asked = room.limit;
    const claim = await claimRequest(this.#parts, this.#options, this.#stride, {
      ...room,
      behind: (name) => this.#runs.chains.behind(name),
      window: this.#runs.chains.window,
      immediate: stream.isFirst && this.#isWoken,
      rotation: this.#parts.queueOrders.rotation,
    });
    if (!this.#isIdle) return claim;
    stream.asked = 0;
    return null;
  }

  #room(): Room {
    if (this.#isIdle) return NO_ROOM;
    return this.#runs.room(this.#streams.reduce((sum, { asked }) => sum + asked, 0));
  }

  /**
   * The room for a claim beside the first stream. Limited and crashed runs are left to the first one: it settles
   * limited runs together with the claim of their successors, and only one claim may use up the capacity for isolation.
   */
  #roomBeside(): Room {
    if (!this.#isFull || this.#streams.length === 1) return NO_ROOM;
    const room = this.#room();
    return room.limit < WORTH_A_CLAIM ? NO_ROOM : { ...room, limited: 0, crashed: 0 };
  }

  #isDone(): boolean {
    if (this.#streams.some(({ isBusy }) => isBusy)) return false;
    const unsettled = this.#runs.unsettled() + this.unwritten.length;
    if (unsettled > 0 || (this.#parts.ticker?.isDue && !this.#isIdle)) return false;
    const { untilEmpty } = this.#options;
    return this.#mode === "stopping" || (untilEmpty && !this.#hungry) || this.#runs.isBudgetUsed();
  }

  /** Sleeps until an outcome, a wake-up, the next due run or tick, or the end of `sleep`. */
  async #sleepUntilDue(): Promise<void> {
    const { sleep } = this.#first;
    if (this.#looking || this.#hasOutcomes || (this.#hungry && this.#room().limit > 0)) return;
    if (this.#parts.ticker?.isDue && !this.#isIdle) return yieldToEventLoop();
    const buffered = this.#runs.buffered() > 0 ? HELD_AT_MOST : Number.POSITIVE_INFINITY;
    const held = this.#runs.chains.isEmpty ? buffered : CHAIN_HELD_AT_MOST;
    // A run that is under way may be cancelled, which the store does not report.
    const isIdle = this.#parts.store.isWatched && this.#runs.unsettled() === 0;
    const poll = isIdle ? this.#options.idleSleep : this.#options.sleep;
    await sleep.for(Math.min(poll, held, this.#untilDue()), () => this.#look());
  }

  /** Returns the time until the next tick or due run. A run counts only if there is room: else the loop would spin. */
  #untilDue(): number {
    if (this.#isIdle) return Number.POSITIVE_INFINITY;
    const { clock, ticker } = this.#parts;
    const untilTick = ticker?.wait ?? Number.POSITIVE_INFINITY;
    if (this.#nextDue === null || this.#room().limit <= 0) return untilTick;
    return Math.min(untilTick, this.#nextDue - clock.monotonic());
  }

  /** Whether it claims and ticks nothing. */
  get #isIdle(): boolean {
    return this.#mode !== "working";
  }

  #streamOf({ stream = 0 }: ClaimedRun): ExchangeStream {
    return this.#streams[stream]!;
  }

  #mustEnd(): boolean {
    return this.#isOver || this.#parts.deadline.isOver;
  }

  #end(): void {
    this.#isOver = true;
    this.#endSleeps();
  }

  #endSleeps(): void {
    for (const { sleep } of this.#streams) sleep.end();
  }
}
