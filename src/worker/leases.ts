import { backoffWait } from "../backoff.ts";
import type { Emitter } from "../events/events.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import { type Clock, type ClockReading, elapsedSince, readClock } from "../time.ts";

/** Longest wait before a renewal is repeated that failed, found a row locked or was not answered. */
const RETRY_WITHIN = 1000;

/** Waits after failed renewals, up to `RETRY_WITHIN`. */
const BACKOFF = { first: 100, longest: 60_000 };

/**
 * Most renewals without an answer: more than one, so that a silently dead connection does not cost a lease; few, so
 * that an outage does not use up all connections.
 */
const MOST_UNANSWERED = 4;

/** Time for the answer to a renewal when a lease has expired by the wall clock but not by the monotonic clock. */
const DOUBTED_FOR = 5000;

/** The duty, as events report it. */
export const RENEWING = "renewing leases";

/** The time of a lease. Leases that began with the same statement share it. */
interface LeaseTerm {
  readonly lease: number;
  /** When the claim or renewal was sent that began the lease. */
  readonly sent: ClockReading;
  /** On the monotonic clock: after this moment the lease counts as lost, even if the database still has it. */
  readonly trustedUntil: number;
  /** On the monotonic clock: when the next renewal is due. */
  readonly renewAt: number;
}

interface HeldLease {
  readonly run: ClaimedRun;
  term: LeaseTerm;
}

export interface LeaseParts {
  store: Pick<Store, "renew">;
  clock: Clock;
  events: Pick<Emitter, "failed" | "succeeded">;
  random(): number;
  /** The id of the worker. */
  id: string;
  /** `expired`: the lease is not trusted, but the run may still belong to this worker in the database. */
  lost(run: ClaimedRun, expired: boolean): void;
  cancelled(ids: number[]): void;
}

/**
 * Renews the leases of one worker, many in one statement, from the claim until the outcome is written. Gives up each
 * lease before it expires in the database, whether renewals fail, hang or find the row locked.
 */
export class Leases {
  readonly #parts: LeaseParts;
  readonly #held = new Map<number, HeldLease>();
  /** The latest term: of a claim most runs have the same lease. */
  #latest: LeaseTerm | null = null;
  #timer: { at: number; cancel(): void } | null = null;
  /** Number of renewals without an answer. */
  #unanswered = 0;
  /** Number of renewals in a row that failed or found a row locked. */
  #failures = 0;
  /** On the monotonic clock: no renewal is sent before this. */
  #notBefore = 0;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
  }

  /** `sent`: when the claim was sent. The lease may have begun as early as that. */
  hold(run: ClaimedRun, lease: number, sent: ClockReading): void {
    const earlier = this.#held.get(run.id);
    const term = this.#termOf(lease, sent);
    this.#held.set(run.id, { run, term });
    // This process lost the run without noticing and has claimed it again: the first execution must end.
    if (earlier) this.#parts.lost(earlier.run, false);
    this.#wakeAt(this.#nextOf(term));
  }

  #termOf(lease: number, sent: ClockReading): LeaseTerm {
    const latest = this.#latest;
    if (latest?.sent === sent && latest.lease === lease) return latest;
    this.#latest = termOf(lease, sent);
    return this.#latest;
  }

  /** Whether a handler may start under the lease that the run was claimed with. */
  trusts(run: ClaimedRun): boolean {
    const held = this.#held.get(run.id);
    return held?.run === run && this.#isTrusted(held.term);
  }

  drop(run: ClaimedRun): void {
    if (this.#held.get(run.id)?.run === run) this.#held.delete(run.id);
  }

  /** Trusts the leases `ms` longer: a transaction has extended them in the database by the time it took. */
  extend(ms: number): void {
    for (const held of this.#held.values()) {
      const { lease, sent } = held.term;
      held.term = termOf(lease, { monotonic: sent.monotonic + ms, wall: sent.wall + ms });
    }
    this.check();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#held.clear();
  }

  /** Gives up leases that have expired, renews those that are due, and sets the timer for the next check. */
  check(): void {
    this.#expire();
    this.#renewDue();
    this.#timer?.cancel();
    this.#timer = null;
    let next = Number.POSITIVE_INFINITY;
    for (const held of this.#held.values()) next = Math.min(next, this.#nextOf(held.term));
    // Without a lease to renew, no renewal can end the outage.
    if (this.#held.size === 0) this.#parts.events.succeeded(RENEWING);
    this.#wakeAt(next);
  }

  #wakeAt(at: number): void {
    if (at === Number.POSITIVE_INFINITY || (this.#timer && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    const { clock } = this.#parts;
    const cancel = clock.after(at - clock.monotonic(), () => this.check(), { background: true });
    this.#timer = { at, cancel };
  }

  #nextOf({ trustedUntil, renewAt }: LeaseTerm): number {
    if (this.#unanswered >= MOST_UNANSWERED) return trustedUntil;
    return Math.min(trustedUntil, Math.max(renewAt, this.#notBefore));
  }

  #isTrusted({ sent, lease, trustedUntil }: LeaseTerm): boolean {
    const { clock } = this.#parts;
    return clock.monotonic() < trustedUntil && clock.now() - sent.wall < trusted(lease);
  }

  #expire(): void {
    const now = this.#parts.clock.monotonic();
    for (const held of this.#held.values()) {
      const { trustedUntil, renewAt } = held.term;
      if (trustedUntil <= now) this.#lose(held, true);
      else if (!this.#isTrusted(held.term) && renewAt > 0) {
        // The host was suspended, or its clock was set. Only the database knows whether the lease holds: renew at once.
        const doubtedUntil = Math.min(trustedUntil, now + DOUBTED_FOR);
        held.term = { ...held.term, renewAt: 0, trustedUntil: doubtedUntil };
        this.#notBefore = 0;
      }
    }
  }

  #renewDue(): void {
    const now = this.#parts.clock.monotonic();
    if (now < this.#notBefore || this.#unanswered >= MOST_UNANSWERED) return;
    const all = [...this.#held.values()];
    if (!all.some(({ term }) => term.renewAt <= now)) return;
    // Leases that are half way to their renewal are renewed along with the others: fewer statements.
    void this.#renew(all.filter(({ term }) => term.renewAt - term.lease / 6 <= now));
  }

  async #renew(due: HeldLease[]): Promise<void> {
    const { store, clock, random, id: worker, events } = this.#parts;
    const sent = readClock(clock);
    const wait = Math.min(RETRY_WITHIN, ...due.map(({ term }) => term.lease / 12));
    this.#notBefore = sent.monotonic + wait * 2 ** this.#unanswered++;
    try {
      const renewals = due.map(({ run, term }) => ({ id: run.id, token: run.token, lease: term.lease }));
      const { held, locked, cancelled } = await store.renew(worker, renewals);
      this.#unanswered--;
      for (const one of due) {
        const { id } = one.run;
        // The run was settled or lost while the renewal was under way.
        if (this.#held.get(id) !== one) continue;
        if (held.has(id)) this.#prolong(one, sent);
        else if (!locked.has(id)) this.#lose(one, false);
      }
      this.#failures = locked.size > 0 ? this.#failures + 1 : 0;
      this.#parts.cancelled(cancelled);
      events.succeeded(RENEWING);
    } catch (error) {
      this.#unanswered--;
      this.#failures++;
      if (this.#held.size > 0) events.failed(error, RENEWING);
    }
    this.#notBefore = 0;
    if (this.#failures > 0) {
      this.#notBefore = clock.monotonic() + Math.min(wait, backoffWait(this.#failures, BACKOFF, random));
    }
    this.check();
  }

  /** Extends a lease from the moment its renewal was sent. Ignores answers that come late or out of order. */
  #prolong(held: HeldLease, sent: ClockReading): void {
    const { lease, sent: earlier } = held.term;
    if (sent.monotonic < earlier.monotonic) return;
    if (elapsedSince(sent, this.#parts.clock) >= trusted(lease)) return;
    held.term = this.#termOf(lease, sent);
  }

  #lose({ run }: HeldLease, expired: boolean): void {
    this.#held.delete(run.id);
    this.#parts.lost(run, expired);
  }
}

/** Renews after a third of the lease: two renewals may fail before the lease is lost. */
function termOf(lease: number, sent: ClockReading): LeaseTerm {
  return { lease, sent, trustedUntil: sent.monotonic + trusted(lease), renewAt: sent.monotonic + lease / 3 };
}

/** Returns how long a lease is trusted: shorter than the lease, for the round trip and for clock drift. */
function trusted(lease: number): number {
  return lease - Math.max(lease / 10, Math.min(2000, lease / 4));
}
