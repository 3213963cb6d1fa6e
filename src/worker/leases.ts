import type { Emitter } from "../observe/events.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import type { Clock } from "../time.ts";

interface Held {
  run: ClaimedRun;
  lease: number;
  /** On the monotonic clock: past this the lease is no longer trusted, whatever the database would say. */
  trustedUntil: number;
}

export interface LeaseParts {
  store: Store;
  clock: Clock;
  events: Emitter;
  worker: string;
  lost(run: ClaimedRun): void;
  cancelled(ids: number[]): void;
}

/** Keeps the leases of one process alive, all in one statement, from before the handler starts until after it is settled. */
export class Leases {
  readonly #parts: LeaseParts;
  readonly #held = new Map<number, Held>();
  #cancel: (() => void) | null = null;
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
  }

  /** `sentAt`: when the claim was asked for; the lease may have begun as early as that. */
  hold(run: ClaimedRun, lease: number, sentAt: number): void {
    this.#held.set(run.id, { run, lease, trustedUntil: sentAt + trusted(lease) });
    this.#arm(lease);
  }

  /** Whether a handler may still begin under the lease the run was claimed with. */
  trusts(run: ClaimedRun): boolean {
    const held = this.#held.get(run.id);
    return held?.run === run && held.trustedUntil > this.#parts.clock.monotonic();
  }

  drop(run: ClaimedRun): void {
    // A run that was lost and claimed again by this same process has another token.
    if (this.#held.get(run.id)?.run.token === run.token) this.#held.delete(run.id);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#held.clear();
  }

  /** At a third of the shortest lease, so that two renewals may fail before one is lost. */
  #arm(lease: number): void {
    const interval = lease / 3;
    if (this.#cancel && this.#armedFor <= interval) return;
    this.#cancel?.();
    this.#armedFor = interval;
    this.#cancel = this.#parts.clock.after(interval, () => void this.#renew(), { background: true });
  }

  async #renew(): Promise<void> {
    this.#cancel = null;
    const { store, clock, worker, events } = this.#parts;
    const held = [...this.#held.values()];
    if (held.length === 0) return;
    const sentAt = clock.monotonic();
    const unwatch = this.#watchDeadlines();
    try {
      const renewals = held.map(({ run, lease }) => ({ id: run.id, token: run.token, lease }));
      const answer = await store.renew(worker, renewals);
      for (const one of held) {
        // Settled while the renewal was under way: not lost, done.
        if (this.#held.get(one.run.id) !== one) continue;
        if (answer.held.has(one.run.id)) one.trustedUntil = sentAt + trusted(one.lease);
        else this.#lose(one);
      }
      this.#parts.cancelled(answer.cancelled);
    } catch (error) {
      events.report(error, "renewing leases");
    } finally {
      unwatch();
    }
    this.#loseUntrusted();
    for (const one of this.#held.values()) this.#arm(one.lease);
  }

  /** While a renewal goes unanswered: each lease is given up when its own time has come. */
  #watchDeadlines(): () => void {
    const { clock } = this.#parts;
    let earliest = Number.POSITIVE_INFINITY;
    for (const { trustedUntil } of this.#held.values()) earliest = Math.min(earliest, trustedUntil);
    if (earliest === Number.POSITIVE_INFINITY) return () => {};
    let cancel = clock.after(
      earliest - clock.monotonic(),
      () => {
        this.#loseUntrusted();
        cancel = this.#watchDeadlines();
      },
      { background: true },
    );
    return () => cancel();
  }

  #loseUntrusted(): void {
    const now = this.#parts.clock.monotonic();
    for (const one of this.#held.values()) if (one.trustedUntil <= now) this.#lose(one);
  }

  #lose({ run }: Held): void {
    this.#held.delete(run.id);
    this.#parts.lost(run);
  }
}

/** A margin for the way to the database and for clocks that run at different speeds. */
function trusted(lease: number): number {
  return lease - Math.max(lease / 10, Math.min(2000, lease / 4));
}
