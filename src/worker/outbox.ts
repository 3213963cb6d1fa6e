import { isDataFault, isOutage } from "../errors.ts";
import { failureText, toFailure } from "../run/failure.ts";
import type { ClaimedRun, ClaimRequest, ExchangeResult, Lease } from "../store/store.ts";
import { Overdue } from "./deadline.ts";
import type { WorkerParts } from "./parts.ts";
import { type Settling, settledEvent } from "./settle.ts";
import { beforeTrying, waitBefore } from "./waits.ts";

const DUTY = "claiming and settling";

/** The answer to an exchange; `unclaimed`: the claim could not be made and is to be repeated. */
interface Exchanged extends ExchangeResult {
  unclaimed?: boolean;
}

/** For each outcome whether it was written; null: refused, but not for its data. */
interface Sent extends Omit<Exchanged, "settled"> {
  settled: (boolean | null)[];
}

const NOTHING = { settled: [], claimed: [], nextDue: null, cancelled: [] };

/**
 * Outcomes gather here while an exchange is under way, and leave together with the next. None is given up for a fault of
 * the database, only for one in its own data or for its lost lease: what a handler did must not be done twice.
 */
export class Outbox {
  readonly #parts: WorkerParts;
  readonly #drop: (run: ClaimedRun) => void;
  readonly #wake: () => void;
  #waiting: Settling[] = [];
  /** What is being sent; null: no exchange is under way. */
  #underway: Settling[] | null = null;
  /** Outcomes that the database refused, with how often; they are sent again, those beside them meanwhile. */
  readonly #refused = new Map<Settling, number>();
  #refusedClaims = 0;

  /** `drop`: the outcome is written or lost, the lease need not be renewed any more. `wake`: there is something to send. */
  constructor(parts: WorkerParts, { drop, wake }: { drop(run: ClaimedRun): void; wake(): void }) {
    this.#parts = parts;
    this.#drop = drop;
    this.#wake = wake;
  }

  /** Outcomes that the next exchange takes along. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Nothing is being sent, and nothing waits to be. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#underway === null;
  }

  /** Everything that was added and is not written. */
  get unwritten(): Settling[] {
    return [...new Set([...this.#waiting, ...(this.#underway ?? []), ...this.#refused.keys()])];
  }

  /** Null: the lease was lost, there is nothing to write. */
  add(run: ClaimedRun, settling: Settling | null): void {
    if (settling === null) {
      this.#lost(run);
      this.#drop(run);
    } else if (settling.result.outcome === "completed" && settling.result.written) {
      this.#tell(settling);
      this.#drop(run);
    } else this.#waiting.push(settling);
  }

  async exchange(started: Lease[], claim: ClaimRequest | null): Promise<Exchanged> {
    const settle = this.#waiting;
    this.#waiting = [];
    this.#underway = settle;
    const { settled, ...answer } = await this.#send(settle, started, claim);
    this.#underway = null;
    for (const [index, settling] of settle.entries()) {
      const written = settled[index];
      if (written === null) this.#sendLater(settling);
      else {
        this.#refused.delete(settling);
        if (written) this.#tell(settling);
        else this.#lost(settling.run);
        this.#drop(settling.run);
      }
    }
    return { ...answer, settled: settled.map(Boolean) };
  }

  /** Sends until there is an answer, however long the database is away. */
  async #send(settle: Settling[], started: Lease[], claim: ClaimRequest | null): Promise<Sent> {
    const { store, clock, events, id, deadline } = this.#parts;
    const seq = this.#parts.nextSeq();
    const settlements = settle.map(({ settlement }) => settlement);
    for (let tries = 0; ; tries++) {
      if (deadline.isOver) throw new Overdue();
      try {
        const again = tries > 0;
        const answer = await store.exchange({ worker: id, seq, again, settle: settlements, started, claim });
        events.succeeded(DUTY);
        if (claim) this.#refusedClaims = 0;
        return answer;
      } catch (error) {
        if (deadline.isOver) throw error;
        if (!isOutage(error)) return this.#sendApart(settle, started, claim, error);
        events.failed(error, DUTY);
        await beforeTrying(clock, tries, deadline.signal);
      }
    }
  }

  /** The database refused something in the exchange: the claim, or one of the outcomes, which is found by halving. */
  async #sendApart(
    settle: Settling[],
    started: Lease[],
    claim: ClaimRequest | null,
    error: unknown,
  ): Promise<Sent> {
    if (settle.length === 0) {
      const { clock, events, deadline } = this.#parts;
      events.report(error, DUTY);
      await beforeTrying(clock, this.#refusedClaims++, deadline.signal);
      return { ...NOTHING, unclaimed: true };
    }
    if (claim) return { ...(await this.#send(settle, started, null)), unclaimed: true };
    if (settle.length === 1) return { ...NOTHING, settled: [await this.#settleAlone(settle[0]!, error)] };
    const half = Math.ceil(settle.length / 2);
    const first = await this.#send(settle.slice(0, half), started, null);
    const second = await this.#send(settle.slice(half), [], null);
    return { ...second, settled: [...first.settled, ...second.settled] };
  }

  /** A fault in its data: written without them. Any other refusal may pass. */
  async #settleAlone(settling: Settling, error: unknown): Promise<boolean | null> {
    const { events } = this.#parts;
    const { settlement } = settling;
    if (!isDataFault(error)) {
      if (!this.#refused.has(settling))
        events.report(
          error,
          `writing the outcome of run ${settlement.id}, which is sent again until it is written`,
        );
      return null;
    }
    if (settling.isBare) {
      events.report(error, `settling run ${settlement.id}; it will be tried again when its lease ends`);
      return false;
    }
    events.report(error, `writing the outcome of run ${settlement.id}, which is written without its data`);
    const kept = failureText(toFailure(new Error("What the run came to could not be stored as it was.")));
    const bare = { ...settlement, result: null, error: settlement.error && kept };
    const { settled } = await this.#send([{ ...settling, settlement: bare, isBare: true }], [], null);
    return settled[0]!;
  }

  #sendLater(settling: Settling): void {
    const { clock } = this.#parts;
    const refusals = this.#refused.get(settling) ?? 0;
    this.#refused.set(settling, refusals + 1);
    const again = () => {
      this.#waiting.push(settling);
      this.#wake();
    };
    clock.after(waitBefore(refusals), again, { background: true });
  }

  #tell(settling: Settling): void {
    const { events, counts, registry, clock } = this.#parts;
    const { run, settlement } = settling;
    const { outcome, duration, lane } = settlement;
    // Its key was computed, and nothing else.
    if (lane !== undefined) return;
    if (run.owner === null) {
      counts.settled(run.name, outcome, duration, settlement.error, clock.now());
    } else if (outcome !== "retried" && outcome !== "snoozed" && outcome !== "released") {
      registry.forgetAdHoc(run.lane);
    }
    const name = `run.${outcome}` as const;
    if (events.hears(name)) {
      const [event, payload] = settledEvent(settling);
      events.emit(event, payload as never);
    }
  }

  #lost({ id, name, queue, attempts }: ClaimedRun): void {
    const { logger, events } = this.#parts;
    logger.warn(
      `run ${id} of "${name}" lost its lease: this process was paused, blocked or cut off for longer than it, or somebody cancelled the run by force, and what the run came to here is not written`,
    );
    events.emit("run.lost", { id, name, queue, attempt: attempts });
  }
}
