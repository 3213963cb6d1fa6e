import type { Emitter } from "../events/events.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import { type Clock, type ClockReading, elapsedSince, readClock } from "../time.ts";

/** Longest wait before a renewal is sent again that failed, found a row locked or has not been answered. */
const RETRY_WITHIN = 1000;

/** First wait after a failed renewal; it doubles with each failure. */
const FIRST_RETRY = 50;

/** Renewals that may be unanswered at once: a connection that died silently must not cost a lease, nor an outage all connections. */
const MOST_UNANSWERED = 4;

/** Time for a renewal to be answered when the wall clock says that a lease is over and the monotonic clock does not. */
const DOUBTED_FOR = 5000;

/** The duty, as it is reported. */
export const RENEWING = "renewing leases";

interface HeldLease {
  run: ClaimedRun;
  lease: number;
  /** When the claim or renewal was sent from which the lease counts. */
  sent: ClockReading;
  /** On the monotonic clock: past this the lease is lost, whatever the database would say. */
  trustedUntil: number;
  /** On the monotonic clock. */
  renewAt: number;
}

export interface LeaseParts {
  store: Pick<Store, "renew">;
  clock: Clock;
  events: Pick<Emitter, "failed" | "succeeded">;
  /** Of the worker. */
  id: string;
  /** `expired`: it is not trusted any more, but nobody may have taken the run. */
  lost(run: ClaimedRun, expired: boolean): void;
  cancelled(ids: number[]): void;
}

/**
 * Keeps the leases of one process alive, many in one statement, from before the handler starts until its outcome is
 * written; and gives up each one in time, whether renewals fail, hang or find its row locked.
 */
export class Leases {
  readonly #parts: LeaseParts;
  readonly #held = new Map<number, HeldLease>();
  #timer: { at: number; cancel(): void } | null = null;
  #unanswered = 0;
  #failures = 0;
  /** On the monotonic clock: no renewal is sent before this. */
  #notBefore = 0;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
  }

  /** `sent`: when the claim was sent; the lease may have begun as early as that. */
  hold(run: ClaimedRun, lease: number, sent: ClockReading): void {
    const earlier = this.#held.get(run.id);
    const held = { run, lease, sent, ...times(lease, sent) };
    this.#held.set(run.id, held);
    // This process lost the run without noticing, and claimed it again: the first execution must not go on beside the next.
    if (earlier) this.#parts.lost(earlier.run, false);
    this.#wakeAt(this.#nextOf(held));
  }

  /** Whether a handler may still begin under the lease the run was claimed with. */
  trusts(run: ClaimedRun): boolean {
    const held = this.#held.get(run.id);
    return held?.run === run && this.#isTrusted(held);
  }

  drop(run: ClaimedRun): void {
    if (this.#held.get(run.id)?.run === run) this.#held.delete(run.id);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#held.clear();
  }

  /** Gives up leases that are over, renews those that are due, and sets the timer for what comes next. */
  check(): void {
    this.#expire();
    this.#renewDue();
    this.#timer?.cancel();
    this.#timer = null;
    let next = Number.POSITIVE_INFINITY;
    for (const held of this.#held.values()) next = Math.min(next, this.#nextOf(held));
    // Nothing is left to renew, so that no renewal can end an outage.
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

  #nextOf({ trustedUntil, renewAt }: HeldLease): number {
    if (this.#unanswered >= MOST_UNANSWERED) return trustedUntil;
    return Math.min(trustedUntil, Math.max(renewAt, this.#notBefore));
  }

  #isTrusted({ sent, lease, trustedUntil }: HeldLease): boolean {
    const { clock } = this.#parts;
    return clock.monotonic() < trustedUntil && elapsedSince(sent, clock) < trusted(lease);
  }

  #expire(): void {
    const now = this.#parts.clock.monotonic();
    for (const held of this.#held.values()) {
      if (held.trustedUntil <= now) this.#lose(held, true);
      else if (!this.#isTrusted(held) && held.renewAt > 0) {
        // The host was suspended, or somebody set its clock: only the database knows, and it is asked at once.
        held.renewAt = 0;
        held.trustedUntil = Math.min(held.trustedUntil, now + DOUBTED_FOR);
        this.#notBefore = 0;
      }
    }
  }

  #renewDue(): void {
    const now = this.#parts.clock.monotonic();
    if (now < this.#notBefore || this.#unanswered >= MOST_UNANSWERED) return;
    const all = [...this.#held.values()];
    if (!all.some(({ renewAt }) => renewAt <= now)) return;
    // Those that are half way to their renewal go along: fewer statements.
    void this.#renew(all.filter(({ renewAt, lease }) => renewAt - lease / 6 <= now));
  }

  async #renew(due: HeldLease[]): Promise<void> {
    const { store, clock, id: worker, events } = this.#parts;
    const sent = readClock(clock);
    const wait = Math.min(RETRY_WITHIN, ...due.map(({ lease }) => lease / 12));
    this.#notBefore = sent.monotonic + wait * 2 ** this.#unanswered++;
    try {
      const renewals = due.map(({ run, lease }) => ({ id: run.id, token: run.token, lease }));
      const { held, locked, cancelled } = await store.renew(worker, renewals);
      this.#unanswered--;
      for (const one of due) {
        const { id } = one.run;
        // Settled or lost while the renewal was under way.
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
    const backOff = FIRST_RETRY * 2 ** Math.min(this.#failures, 10) * (0.5 + Math.random() / 2);
    this.#notBefore = this.#failures > 0 ? clock.monotonic() + Math.min(wait, backOff) : 0;
    this.check();
  }

  /** Answers may come late or out of order: what counts is when the renewal was sent. */
  #prolong(held: HeldLease, sent: ClockReading): void {
    if (sent.monotonic < held.sent.monotonic) return;
    if (elapsedSince(sent, this.#parts.clock) >= trusted(held.lease)) return;
    Object.assign(held, { sent, ...times(held.lease, sent) });
  }

  #lose({ run }: HeldLease, expired: boolean): void {
    this.#held.delete(run.id);
    this.#parts.lost(run, expired);
  }
}

/** A third of the lease is one renewal: two may fail before it is lost. */
function times(lease: number, sent: ClockReading): Pick<HeldLease, "trustedUntil" | "renewAt"> {
  return { trustedUntil: sent.monotonic + trusted(lease), renewAt: sent.monotonic + lease / 3 };
}

/** A margin for the way to the database and for clocks that run at different speeds. */
function trusted(lease: number): number {
  return lease - Math.max(lease / 10, Math.min(2000, lease / 4));
}
