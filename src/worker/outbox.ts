import { PunctualError } from "../errors.ts";
import { failureText, toFailure } from "../run/failure.ts";
import type { ClaimedRun, ClaimRequest, ExchangeResult, Lease } from "../store/store.ts";
import type { WorkerParts } from "./parts.ts";
import { beforeTrying } from "./patience.ts";
import { type Settling, settledEvent } from "./settle.ts";

/** Outcomes gather here while an exchange is under way, and leave together with the next. */
export class Outbox {
  readonly #parts: WorkerParts;
  readonly #drop: (run: ClaimedRun) => void;
  #waiting: Settling[] = [];
  #underway = false;

  /** `drop`: the outcome is written or lost, the lease need not be renewed any more. */
  constructor(parts: WorkerParts, drop: (run: ClaimedRun) => void) {
    this.#parts = parts;
    this.#drop = drop;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Everything that was added is written. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0 && !this.#underway;
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

  async exchange(started: Lease[], claim: ClaimRequest | null): Promise<ExchangeResult> {
    const settle = this.#waiting;
    this.#waiting = [];
    this.#underway = true;
    const answer = await this.#send(settle, started, claim);
    this.#underway = false;
    for (const [index, settling] of settle.entries()) {
      if (answer.settled[index]) this.#tell(settling);
      else this.#lost(settling.run);
      this.#drop(settling.run);
    }
    return answer;
  }

  /** Sends until it is answered: what a handler did must not be lost to a fault of the moment. */
  async #send(settle: Settling[], started: Lease[], claim: ClaimRequest | null): Promise<ExchangeResult> {
    const { store, clock, events, id } = this.#parts;
    const seq = this.#parts.nextSeq();
    for (let tries = 0; ; tries++) {
      try {
        const settlements = settle.map(({ settlement }) => settlement);
        return await store.exchange({
          worker: id,
          seq,
          again: tries > 0,
          settle: settlements,
          started,
          claim,
        });
      } catch (error) {
        events.report(error, "claiming and settling");
        if (error instanceof PunctualError && error.code === "DATABASE" && settle.length > 0) {
          return this.#sendApart(settle);
        }
        await beforeTrying(clock, tries);
      }
    }
  }

  /** The database refused something in the group: found by halving it, and made storable. */
  async #sendApart(settle: Settling[]): Promise<ExchangeResult> {
    const nothing = { claimed: [], nextDue: null, cancelled: [] };
    if (settle.length > 1) {
      const half = Math.ceil(settle.length / 2);
      const first = await this.#send(settle.slice(0, half), [], null);
      const second = await this.#send(settle.slice(half), [], null);
      return { ...nothing, settled: [...first.settled, ...second.settled] };
    }
    const { settlement } = settle[0]!;
    const error = failureText(toFailure(new Error("What the run came to could not be stored as it was.")));
    const plain = { ...settlement, result: null, error: settlement.error && error };
    const { store, id } = this.#parts;
    const request = {
      worker: id,
      seq: this.#parts.nextSeq(),
      again: false,
      settle: [plain],
      started: [],
      claim: null,
    };
    try {
      return await store.exchange(request);
    } catch (fault) {
      this.#parts.events.report(
        fault,
        `settling run ${settlement.id}; it will be tried again when its lease ends`,
      );
      return { ...nothing, settled: [false] };
    }
  }

  #tell(settling: Settling): void {
    const { events, tallies, registry, clock } = this.#parts;
    const { run, settlement } = settling;
    const { outcome, duration } = settlement;
    if (run.owner === null) {
      tallies.settled(run.name, outcome, duration, settlement.error, clock.now());
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
