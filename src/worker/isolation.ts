import type { Emitter } from "../events/events.ts";
import { type ClaimedRun, type ClaimRequest, hasCrashed, type Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import type { Deadline } from "./deadline.ts";
import type { Cell, Executor } from "./executor.ts";
import { untilAnswered } from "./waits.ts";

/** Longest a crashed run waits for its neighbours to finish, so that it starts alone. */
const CLEARED_WITHIN = 10_000;

/** How long other runs wait for a crashed run where no other process is open to them. Most runs that kill their process do so early. */
const ALONE_FOR = 5000;

/** A run with this many crashes shares no process with another crashed run, so that two runs meet in at most two crashes. */
const APART_FROM = 2;

/** A claimed run that crashed before, and the process that is closed for it. */
export interface Isolated {
  readonly run: ClaimedRun;
  readonly cell: Cell;
  /** `waiting`: its neighbours have not finished. `admitting`: the store is told that it has neighbours again. */
  phase: "waiting" | "starting" | "alone" | "admitting" | "shared";
  /** Monotonic: when it was claimed, then when it started. */
  since: number;
}

export interface IsolationParts {
  clock: Clock;
  events: Emitter;
  executor: Executor;
  store: Pick<Store, "start">;
  deadline: Deadline;
  /** Something may be due, or startable. */
  wake(): void;
}

/**
 * Keeps runs that crashed before apart from others: such a run may kill its process, and must not take others with it.
 * It never closes all processes for longer than CLEARED_WITHIN and ALONE_FOR together, nor for more than half of the
 * time while other runs wait (note 29).
 */
export class Isolation {
  readonly #parts: IsolationParts;
  readonly #clock: Clock;
  readonly #executor: Executor;
  #all: Isolated[] = [];
  /** Since when no process is open to other runs. */
  #closedSince: number | null = null;
  #restsUntil = Number.NEGATIVE_INFINITY;

  constructor(parts: IsolationParts) {
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#executor = parts.executor;
  }

  /** How many of its runs have not started. */
  get waiting(): number {
    return this.#all.filter(({ phase }) => phase === "waiting" || phase === "starting").length;
  }

  /** Whether other runs wait because every process is closed. */
  get isClosed(): boolean {
    return this.#executor.processes === 0 && this.#all.some(({ phase }) => phase !== "shared");
  }

  /** How many crashed runs the next claim may bring. One process stays open; the last one is closed only now and then. */
  get capacity(): number {
    const { processes } = this.#executor;
    if (processes !== 1) return Math.max(0, processes - 1);
    const isApart = this.#all.some(({ phase, run }) => phase === "shared" && run.crashes >= APART_FROM);
    return isApart || this.#clock.monotonic() < this.#restsUntil ? 0 : 1;
  }

  /**
   * Isolates the crashed runs that a claim brought. True: another claim may bring more, because this one left crashed
   * runs, or others for the sake of crashed ones.
   */
  add(claim: Pick<ClaimRequest, "crashed">, claimed: ClaimedRun[]): boolean {
    // No other runs wait: the last process need not stay open for them.
    if (claim.crashed === 0 && claimed.length === 0) return this.#endRest();
    const crashed = claimed.filter(hasCrashed);
    for (const run of crashed) {
      const since = this.#clock.monotonic();
      this.#all.push({ run, cell: this.#executor.close(run), phase: "waiting", since });
      this.#wakeAfter(CLEARED_WITHIN);
    }
    this.#note();
    return crashed.length > 0;
  }

  /** Those that may start now: their cells are empty, or their neighbours have had their time. */
  startable(): Isolated[] {
    const late = this.#clock.monotonic() - CLEARED_WITHIN;
    return this.#all.filter(
      ({ phase, cell, since }) =>
        phase === "waiting" && (cell.isEmpty() || (since <= late && !cell.vacate())),
    );
  }

  started(one: Isolated): Cell {
    one.phase = "alone";
    one.since = this.#clock.monotonic();
    this.#wakeAfter(ALONE_FOR);
    return one.cell;
  }

  /** Opens the process of the run that was alone longest, if other runs have waited for it long enough. */
  admitOthers(): void {
    if (!this.isClosed || this.#all.some(({ phase }) => phase === "admitting")) return;
    const late = this.#clock.monotonic() - ALONE_FOR;
    const overdue = this.#all
      .filter(({ phase, since }) => phase === "alone" && since <= late)
      .sort((a, b) => a.since - b.since)[0];
    if (overdue) void this.#share(overdue);
  }

  async #share(one: Isolated): Promise<void> {
    const { store, wake } = this.#parts;
    const { run } = one;
    one.phase = "admitting";
    // First, so that a crash from here on is not taken for one of a run that was alone.
    await untilAnswered(() => store.start(run, false), `admitting others beside run ${run.id}`, this.#parts);
    one.phase = "shared";
    one.cell.open();
    this.#note();
    wake();
  }

  /** Its handler has returned, or it was not started after all. */
  end(one: Isolated): void {
    one.cell.open();
    this.#all = this.#all.filter((other) => other !== one);
    this.#note();
    this.#parts.wake();
  }

  /** Its lease is lost: other runs need not wait for a handler that may never return. */
  lose(run: ClaimedRun): void {
    const lost = this.#all.find((one) => one.run === run);
    if (lost) this.end(lost);
  }

  /** Takes out runs that have not started. */
  takeIf(wanted: (run: ClaimedRun) => boolean): ClaimedRun[] {
    const taken = this.#all.filter(({ phase, run }) => phase === "waiting" && wanted(run));
    for (const one of taken) this.end(one);
    return taken.map(({ run }) => run);
  }

  /** False: it was over. */
  #endRest(): boolean {
    const now = this.#clock.monotonic();
    const isResting = now < this.#restsUntil;
    this.#restsUntil = Math.min(now, this.#restsUntil);
    return isResting;
  }

  /** After all processes were closed, the last one stays open for as long. */
  #note(): void {
    const now = this.#clock.monotonic();
    if (this.isClosed) this.#closedSince ??= now;
    else if (this.#closedSince !== null) {
      const rest = now - this.#closedSince;
      this.#closedSince = null;
      this.#restsUntil = now + rest;
      this.#wakeAfter(rest);
    }
  }

  #wakeAfter(ms: number): void {
    this.#clock.after(ms, this.#parts.wake, { background: true });
  }
}
