import { bisect } from "../bisect.ts";
import { isDataFault, isOutage } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import type { Logger } from "../events/logger.ts";
import { failureText, toFailure } from "../run/failure.ts";
import type { Outcome } from "../run/states.ts";
import type { ClaimedRun, ClaimRequest, ExchangeResult, Lease } from "../store/store.ts";
import { Overdue } from "./deadline.ts";
import { type OutboxEntry, SETTLED_EVENTS, settledEvent, toCancelled } from "./outbox-entry.ts";
import type { WorkerParts } from "./parts.ts";
import { waitAfter, waitToRetry } from "./waits.ts";

const DUTY = "claiming and settling";

export interface OutboxParts extends WorkerParts {
  /** Called when the outcome is written or lost, so that the lease needs no renewal. */
  drop(run: ClaimedRun): void;
  /** Called when an outcome waits to be sent. */
  wake(): void;
}

/** The answer to an exchange. `unclaimed`: the claim was refused and is to be repeated. */
interface OutboxAnswer extends ExchangeResult {
  unclaimed?: boolean;
}

/** As `ExchangeResult.settled`; null: refused for another reason than its data. */
type SettleAnswer = ExchangeResult["settled"][number] | null;

interface SendAnswer extends Omit<OutboxAnswer, "settled"> {
  settled: SettleAnswer[];
}

const NOTHING = { settled: [], claimed: [], nextDue: null, cancelled: [] };

/**
 * Holds outcomes until the next exchange takes them along. The outbox drops an outcome only if its data are rejected or
 * its lease is lost, never because the database is unavailable: a handler's work must not be done twice.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #stream: number;
  /** The name of this stream's duty: an outage lasts until the duty of every stream has succeeded. */
  readonly #duty: string;
  #waiting: OutboxEntry[] = [];
  /** The outcomes being sent; null: no exchange is under way. */
  #underway: OutboxEntry[] | null = null;
  /** Outcomes that the database refused, with the number of refusals. They are sent again, without delaying others. */
  readonly #refused = new Map<OutboxEntry, number>();
  #refusedClaims = 0;

  /** `stream`: the number of the stream whose exchanges take the outcomes along. */
  constructor(parts: OutboxParts, stream: number) {
    this.#parts = parts;
    this.#stream = stream;
    this.#duty = stream === 0 ? DUTY : `${DUTY} (stream ${stream})`;
  }

  /** Number of outcomes that the next exchange takes along. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Whether no outcome is being sent or waits to be. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#underway === null;
  }

  /** Every outcome that was added and is not written. */
  get unwritten(): OutboxEntry[] {
    return [...new Set([...this.#waiting, ...(this.#underway ?? []), ...this.#refused.keys()])];
  }

  /** `entry` null: the lease was lost, so nothing is written. */
  add(run: ClaimedRun, entry: OutboxEntry | null): void {
    if (entry === null) {
      this.#lose(run);
      this.#parts.drop(run);
    } else if (entry.result.outcome === "completed" && entry.result.written) {
      this.#record(entry);
      this.#parts.drop(run);
    } else this.#waiting.push(entry);
  }

  async exchange(started: Lease[], claim: ClaimRequest | null): Promise<OutboxAnswer> {
    const settle = this.#waiting;
    this.#waiting = [];
    this.#underway = settle;
    const { settled, ...answer } = await this.#send(settle, started, claim);
    this.#underway = null;
    for (let index = 0; index < settle.length; index++) {
      const entry = settle[index]!;
      const written = settled[index];
      if (written === null) this.#sendLater(entry);
      else {
        this.#refused.delete(entry);
        if (written) this.#record(written === "cancelled" ? toCancelled(entry) : entry);
        else this.#lose(entry.run);
        this.#parts.drop(entry.run);
      }
    }
    return { ...answer, settled: settled.map(Boolean) };
  }

  /** Settles and claims in one exchange. If the database refuses it, settles alone, to find the refused outcome. */
  async #send(settle: OutboxEntry[], started: Lease[], claim: ClaimRequest | null): Promise<SendAnswer> {
    if (claim === null && settle.length > 0) return this.#settle(settle, started);
    try {
      return await this.#exchangeUntilAnswered(settle, started, claim);
    } catch (error) {
      if (!this.#isRefused(error)) throw error;
      if (settle.length > 0) return { ...(await this.#settle(settle, started)), unclaimed: true };
      this.#parts.events.report(error, this.#duty);
      await waitToRetry(++this.#refusedClaims, this.#parts);
      return { ...NOTHING, unclaimed: true };
    }
  }

  async #settle(settle: OutboxEntry[], started: Lease[]): Promise<SendAnswer> {
    let answer: SendAnswer = NOTHING;
    let unsent = started;
    const settled: SettleAnswer[] = [];
    await bisect(settle, {
      send: async (part) => {
        answer = await this.#exchangeUntilAnswered(part, unsent, null);
        unsent = [];
        for (const one of answer.settled) settled.push(one);
      },
      divides: (error) => this.#isRefused(error),
      refused: async ([entry], error) => {
        if (!this.#isRefused(error)) throw error;
        settled.push(await this.#settleRefused(entry!, error));
      },
    });
    return { ...answer, settled };
  }

  /** Repeats an exchange for as long as the database is unavailable. Throws when the database refuses the exchange. */
  async #exchangeUntilAnswered(
    settle: OutboxEntry[],
    started: Lease[],
    claim: ClaimRequest | null,
  ): Promise<SendAnswer> {
    const { store, events, id: worker, deadline } = this.#parts;
    const seq = this.#parts.nextSeq();
    const settlements = settle.map(({ settlement }) => settlement);
    for (let failures = 0; ; ) {
      if (deadline.isOver) throw new Overdue();
      try {
        const again = failures > 0;
        const answer = await store.exchange({
          worker,
          stream: this.#stream,
          seq,
          again,
          settle: settlements,
          started,
          claim,
        });
        events.succeeded(this.#duty);
        if (claim) this.#refusedClaims = 0;
        return answer;
      } catch (error) {
        if (deadline.isOver) throw error;
        if (!isOutage(error)) {
          // Ends the outage now: the next exchange of this stream may be a long time away.
          events.succeeded(this.#duty);
          throw error;
        }
        events.failed(error, this.#duty);
        await waitToRetry(++failures, this.#parts);
      }
    }
  }

  #isRefused(error: unknown): boolean {
    return !this.#parts.deadline.isOver && !(error instanceof Overdue) && !isOutage(error);
  }

  /** Writes an outcome without its data if the database rejected these. An outcome refused otherwise is sent again. */
  async #settleRefused(entry: OutboxEntry, error: unknown): Promise<SettleAnswer> {
    const { events } = this.#parts;
    const { settlement } = entry;
    const during = `writing the outcome of run ${settlement.id}`;
    if (!isDataFault(error)) {
      if (!this.#refused.has(entry))
        events.report(error, `${during}, which is sent again until it is written`);
      return null;
    }
    if (entry.isBare) {
      events.report(error, `${during}; the run is tried again when its lease expires`);
      return false;
    }
    events.report(error, `${during}, which is written without its data`);
    const kept = failureText(toFailure(new Error("The database rejected the data of this run's outcome.")));
    const bare = { ...settlement, result: null, error: settlement.error && kept };
    const { settled } = await this.#send([{ ...entry, settlement: bare, isBare: true }], [], null);
    return settled[0]!;
  }

  #sendLater(entry: OutboxEntry): void {
    const { clock, random } = this.#parts;
    const refusals = (this.#refused.get(entry) ?? 0) + 1;
    this.#refused.set(entry, refusals);
    const again = () => {
      this.#waiting.push(entry);
      this.#parts.wake();
    };
    clock.after(waitAfter(refusals, random), again, { background: true });
  }

  /** Counts a written outcome and emits its event. */
  #record(entry: OutboxEntry): void {
    const { events, counts, registry, clock } = this.#parts;
    const { run, settlement } = entry;
    const { outcome, lane } = settlement;
    // The run was claimed only to compute its key.
    if (lane !== undefined) return;
    if (run.owner === null) {
      counts.settled(run, settlement, clock.now());
    } else if (outcome !== "retried" && outcome !== "snoozed" && outcome !== "released") {
      registry.forgetAdHoc(run.lane);
    }
    if (events.hasListeners(SETTLED_EVENTS[outcome])) {
      const [event, payload] = settledEvent(entry);
      events.emit(event, payload as never);
    }
  }

  #lose({ id, name, queue, attempts }: ClaimedRun): void {
    const { logger, events } = this.#parts;
    logger.warn(
      `run ${id} of "${name}" lost its lease: this process was paused, blocked or disconnected for longer than the lease, or the run was cancelled by force; its result was discarded`,
    );
    events.emit("run.lost", { id, name, queue, attempt: attempts, reason: "lease" });
  }
}

/** A run that a worker left without writing its outcome; null: the outcome was not known. */
export interface UnwrittenRun {
  run: ClaimedRun;
  outcome: Outcome | null;
}

/** Most runs that a log line names. */
const MOST_NAMED = 20;

/**
 * Logs what a worker could not write before its deadline, and returns the ids of the runs whose outcomes are lost. A
 * released run has no outcome to lose: other workers claim it when its lease expires.
 */
export function reportUnwritten(
  unwritten: UnwrittenRun[],
  { logger, events }: { logger: Logger; events: Emitter },
): number[] {
  const lost = unwritten.filter(({ outcome }) => outcome !== "released");
  const released = unwritten.filter(({ outcome }) => outcome === "released");
  if (unwritten.length === 0) logger.warn("stopped without an answer from the database");
  if (released.length > 0) {
    const named = nameRuns(released.map(({ run }) => `run ${run.id} of "${run.name}"`));
    logger.warn(
      `stopped without releasing ${countRuns(released)}, because the database did not answer: ${named}. Each is claimed again when its lease expires.`,
    );
  }
  if (lost.length > 0) {
    const named = nameRuns(
      lost.map(({ run, outcome }) => `run ${run.id} of "${run.name}" (${outcome ?? "outcome unknown"})`),
    );
    logger.error(
      `stopped without writing the outcome of ${countRuns(lost)}, because the database did not answer: ${named}. Each is tried again when its lease expires.`,
    );
  }
  for (const { run } of lost) {
    const { id, name, queue, attempts: attempt } = run;
    events.emit("run.lost", { id, name, queue, attempt, reason: "database" });
  }
  return lost.map(({ run }) => run.id);
}

function countRuns({ length }: UnwrittenRun[]): string {
  return length === 1 ? "1 run" : `${length} runs`;
}

function nameRuns(names: string[]): string {
  const rest = names.length - MOST_NAMED;
  return `${names.slice(0, MOST_NAMED).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
