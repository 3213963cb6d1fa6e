import type { Emitter } from "../events/events.ts";
import { type ClaimedRun, type ClaimRequest, hasCrashed, type Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import type { Deadline } from "./deadline.ts";
import type { Cell, Executor } from "./executor.ts";
import { untilAnswered } from "./waits.ts";

/** Longest a crashed run waits for its neighbours to finish, so that it starts alone. */
const CLEARED_WITHIN = 10_000;

/**
 * Longest other runs wait for a crashed run when no process is open to them. Most runs that crash their process do so
 * early.
 */
const ALONE_FOR = 5000;

/** A run with this many crashes shares no process with another crashed run: so two runs share at most two crashes. */
const APART_FROM = 2;

/** A claimed run that has crashed before, and the process that is closed for it. */
export interface IsolatedExecution {
  readonly run: ClaimedRun;
  readonly cell: Cell;
  /** `waiting`: its neighbours have not finished. `admitting`: the store is writing that it has neighbours again. */
  phase: "waiting" | "starting" | "alone" | "admitting" | "shared";
  /** When it was claimed, later when it started; monotonic. */
  since: number;
}

export interface IsolationParts {
  clock: Clock;
  random(): number;
  events: Emitter;
  executor: Executor;
  store: Pick<Store, "start">;
  deadline: Deadline;
  /** Wakes the worker: a run may be due, or may start. */
  wake(): void;
}

/**
 * Keeps runs that have crashed before apart from others: such a run may crash its process again. While other runs
 * wait, it closes all processes for at most `CLEARED_WITHIN` + `ALONE_FOR` at a time, and for at most half of the
 * time (note 29).
 */
export class Isolation {
  readonly #parts: IsolationParts;
  readonly #clock: Clock;
  readonly #executor: Executor;
  #all: IsolatedExecution[] = [];
  /** Since when no process is open to other runs; monotonic. */
  #closedSince: number | null = null;
  /** The last open process is not closed before this moment; monotonic. */
  #openUntil = Number.NEGATIVE_INFINITY;

  constructor(parts: IsolationParts) {
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#executor = parts.executor;
  }

  /** Number of isolated runs that have not started. */
  get waiting(): number {
    return this.#all.filter(({ phase }) => phase === "waiting" || phase === "starting").length;
  }

  /** Whether other runs wait because every process is closed. */
  get isClosed(): boolean {
    return this.#executor.processes === 0 && this.#all.some(({ phase }) => phase !== "shared");
  }

  /**
   * Number of crashed runs that the next claim may bring: as many as can have a process of their own while one stays
   * open. The last open process is closed only if it has been open for long enough.
   */
  get capacity(): number {
    const { processes } = this.#executor;
    if (processes !== 1) return Math.max(0, processes - 1);
    const isApart = this.#all.some(({ phase, run }) => phase === "shared" && run.crashes >= APART_FROM);
    return isApart || this.#clock.monotonic() < this.#openUntil ? 0 : 1;
  }

  /**
   * Isolates the crashed runs that a claim brought. Returns true if another claim may bring more: this one left out
   * crashed runs, or other runs because of crashed ones.
   */
  add(claim: Pick<ClaimRequest, "crashed">, claimed: ClaimedRun[]): boolean {
    // No other run waits, so the last process need not stay open.
    if (claim.crashed === 0 && claimed.length === 0) return this.#endOpenTime();
    const crashed = claimed.filter(hasCrashed);
    for (const run of crashed) {
      const since = this.#clock.monotonic();
      this.#all.push({ run, cell: this.#executor.close(run), phase: "waiting", since });
      this.#wakeAfter(CLEARED_WITHIN);
    }
    this.#note();
    return crashed.length > 0;
  }

  /** Returns the runs that may start: their cells are empty, or their neighbours have used up `CLEARED_WITHIN`. */
  startable(): IsolatedExecution[] {
    const late = this.#clock.monotonic() - CLEARED_WITHIN;
    return this.#all.filter(
      ({ phase, cell, since }) =>
        phase === "waiting" && (cell.isEmpty() || (since <= late && !cell.vacate())),
    );
  }

  started(one: IsolatedExecution): Cell {
    one.phase = "alone";
    one.since = this.#clock.monotonic();
    this.#wakeAfter(ALONE_FOR);
    return one.cell;
  }

  /** Opens the process of the run that has been alone longest, once other runs have waited for `ALONE_FOR`. */
  admitOthers(): void {
    if (!this.isClosed || this.#all.some(({ phase }) => phase === "admitting")) return;
    const late = this.#clock.monotonic() - ALONE_FOR;
    const overdue = this.#all
      .filter(({ phase, since }) => phase === "alone" && since <= late)
      .sort((a, b) => a.since - b.since)[0];
    if (overdue) void this.#share(overdue);
  }

  async #share(one: IsolatedExecution): Promise<void> {
    const { store, wake } = this.#parts;
    const { run } = one;
    one.phase = "admitting";
    // Written before the process opens: a later crash must not count as that of an isolated run.
    await untilAnswered(() => store.start(run, false), `admitting others beside run ${run.id}`, this.#parts);
    one.phase = "shared";
    one.cell.open();
    this.#note();
    wake();
  }

  /** Opens the process: the handler has returned, or was not started. */
  end(one: IsolatedExecution): void {
    one.cell.open();
    this.#all = this.#all.filter((other) => other !== one);
    this.#note();
    this.#parts.wake();
  }

  /** Ends the isolation of a run whose lease is lost: its handler may never return. */
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

  /** Lets the last open process be closed at once. Returns false if that was allowed already. */
  #endOpenTime(): boolean {
    const now = this.#clock.monotonic();
    const hadToStayOpen = now < this.#openUntil;
    this.#openUntil = Math.min(now, this.#openUntil);
    return hadToStayOpen;
  }

  /** Notes when all processes were closed: afterwards the last one stays open for as long. */
  #note(): void {
    const now = this.#clock.monotonic();
    if (this.isClosed) this.#closedSince ??= now;
    else if (this.#closedSince !== null) {
      const closedFor = now - this.#closedSince;
      this.#closedSince = null;
      this.#openUntil = now + closedFor;
      this.#wakeAfter(closedFor);
    }
  }

  #wakeAfter(ms: number): void {
    this.#clock.after(ms, this.#parts.wake, { background: true });
  }
}
