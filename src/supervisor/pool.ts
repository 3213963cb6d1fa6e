import { PunctualError } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import type { Logger } from "../events/logger.ts";
import type { Description } from "../job/description.ts";
import type { ClaimedRun, Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { interruption } from "../worker/attempt-ends.ts";
import type { Cell, Execution, ExecutionObserver, Executor, RunnableJob } from "../worker/executor.ts";
import type { Logbook } from "../worker/logbook.ts";
import { Assignment } from "./assignment.ts";
import { ChildCell } from "./cell.ts";
import type { Child } from "./child.ts";
import { Crew } from "./crew.ts";
import { afterKill, fromSent, type ToParent, toError } from "./messages.ts";
import type { Supervision } from "./options.ts";

export interface PoolParts {
  clock: Clock;
  events: Emitter;
  logger: Logger;
  random(): number;
  instanceNumber: number;
  supervision: Supervision;
  store: Pick<Store, "progress" | "slowHook">;
  logbook: Logbook;
  /** Runs the ad hoc functions of this process. */
  own: Executor;
  wake(): void;
  described(description: Description, isNewer: boolean): void;
  failed(error: PunctualError): void;
}

/**
 * Number of children that may end with a run before any of their runs began. The next such end is charged to the run.
 */
const SILENT_DEATHS = 2;

/** Fraction of the prefetched runs (100 ms of work) that a child gets before it has a slot for them. */
const AHEAD = 0.25;

/** Runs handlers in child processes. */
export class Pool implements Executor {
  readonly #parts: PoolParts;
  readonly crew: Crew;
  #tickets = 0;
  readonly #cells = new Set<ChildCell>();
  /** Retiring children that were replaced because a crashed run needed an empty process. */
  readonly #vacated = new Set<Child>();
  /** Number of children that ended with this run before any of their runs began, by run id. */
  readonly #silentDeaths = new Map<number, number>();
  /** Runs that their crashes have ended, until a child can call their hooks. */
  #crashed: { run: ClaimedRun; message: string }[] = [];

  constructor(parts: PoolParts) {
    this.#parts = parts;
    this.crew = new Crew({
      ...parts,
      heard: (child, message) => this.#hear(child, message),
      lost: (child) => this.#lose(child),
      changed: () => {
        this.#callWaitingHooks();
        parts.wake();
      },
    });
  }

  get processes(): number {
    const waiting = [...this.#cells].filter(({ child }) => child === null).length;
    return Math.max(0, this.#open.length - waiting);
  }

  get slots(): number {
    return this.#open.length * this.#parts.supervision.parallel;
  }

  get free(): number {
    return this.#freeOf(this.#open);
  }

  #freeOf(open: Child[]): number {
    const { supervision, own } = this.#parts;
    let free = 0;
    for (const child of open) free += this.#freeIn(child);
    if (free === 0) return 0;
    // Runs in retiring children and in this process count too: `parallel` bounds all runs together.
    let used = supervision.parallel - own.free;
    for (const child of this.crew.children) used += Math.min(child.executions.size, supervision.parallel);
    return Math.max(0, Math.min(free, supervision.worker.parallel - used));
  }

  /**
   * Children are given some runs before a slot is free, so that they have work while this process is busy with the
   * database, and so that one message has many runs. Not those under limits: they use their limit while they wait.
   */
  hasRoomFor(run: ClaimedRun): boolean {
    const open = this.#open;
    if (this.#freeOf(open) > 0) return true;
    if (run.owner !== null || run.limited) return false;
    return open.some((child) => this.#roomIn(child) > 0);
  }

  /** Set for functions in this process only: a child's transaction cannot extend leases that this process trusts. */
  set leasesExtended(extended: (ms: number) => void) {
    this.#parts.own.leasesExtended = extended;
  }

  execute(...of: Parameters<Executor["execute"]>): void {
    const [run] = of;
    if (run.owner !== null) this.#parts.own.execute(...of);
    else this.#executeIn(this.#leastBusy(run.name), ...of);
  }

  close(run: ClaimedRun): Cell {
    const cell: ChildCell = new ChildCell({
      clock: this.#parts.clock,
      run,
      open: () => this.#open,
      replace: (child) => this.#replace(child, run),
      execute: (...of) => this.#executeIn(...of),
      ended: () => this.#cells.delete(cell),
    });
    this.#cells.add(cell);
    return cell;
  }

  callCrashHooks(run: ClaimedRun, job: RunnableJob, error: PunctualError): void {
    if (run.owner !== null) this.#parts.own.callCrashHooks(run, job, error);
    else {
      this.#crashed.push({ run, message: error.message });
      this.#callWaitingHooks();
    }
  }

  crashHooksCalled(): Promise<void> {
    return this.#parts.own.crashHooksCalled();
  }

  #callWaitingHooks(): void {
    if (this.#crashed.length === 0) return;
    const ready = [...this.#open, ...this.crew.ready].filter(({ state }) => state === "ready");
    if (ready.length === 0) return;
    const waiting = this.#crashed;
    this.#crashed = [];
    for (const { run, message } of waiting) {
      const child = ready.find(({ lacks }) => !lacks.has(run.name)) ?? ready[0]!;
      const ticket = ++this.#tickets;
      child.crashed.set(ticket, run);
      child.post({ type: "crashed", ticket, run, message });
    }
  }

  /** Children that take runs and are not closed. */
  get #open(): Child[] {
    if (this.#cells.size === 0) return this.crew.ready;
    const closed = new Set([...this.#cells].map(({ child }) => child));
    return this.crew.ready.filter((child) => !closed.has(child));
  }

  /** Replaces a child, which first finishes its runs. At most doubles the number of processes. */
  #replace(child: Child, { id, name }: ClaimedRun): boolean {
    if (this.#vacated.size >= this.#parts.supervision.workers) return false;
    this.#vacated.add(child);
    this.crew.retire(child, `run ${id} of "${name}" crashed before and gets a process of its own`);
    return true;
  }

  #executeIn(child: Child | null, run: ClaimedRun, job: RunnableJob, observer: ExecutionObserver): void {
    if (child?.state !== "ready") {
      release(run, job, observer);
      return;
    }
    const ticket = ++this.#tickets;
    const { clock } = this.#parts;
    const overdue = (assignment: Assignment, reason: PunctualError) => this.#overdue(assignment, reason);
    const assignment = new Assignment(run, job, { ticket, child, clock, overdue, observer });
    run.child = child.label;
    observer.began(assignment);
    child.assign(assignment);
    if (child.taken >= this.#parts.supervision.maxJobs) this.crew.retire(child, `it had ${child.taken} runs`);
  }

  #freeIn(child: Child): number {
    const { parallel, maxJobs } = this.#parts.supervision;
    const free = Math.min(parallel - child.executions.size, maxJobs - child.taken);
    return free > 0 && child.isAnswering ? free : 0;
  }

  /** Number of runs that may be assigned to a child without a free slot. Called for each run: clocks come last. */
  #roomIn(child: Child): number {
    const { parallel, maxJobs } = this.#parts.supervision;
    const size = child.executions.size;
    if (size < parallel || size > child.refillAt) return 0;
    const ahead = Math.floor(child.pace.prefetch(this.#parts.clock.monotonic()) * AHEAD);
    const room = Math.min(parallel + ahead - size, maxJobs - child.taken);
    // Filled up again when half is left, not run by run: most of a message's cost does not depend on its size.
    child.refillAt = room > 0 ? Number.POSITIVE_INFINITY : parallel + ahead / 2;
    return room > 0 && child.isAnswering ? room : 0;
  }

  #leastBusy(job: string): Child | null {
    return this.#best(job, (child) => this.#freeIn(child)) ?? this.#best(job, (child) => this.#roomIn(child));
  }

  #best(job: string, room: (child: Child) => number): Child | null {
    let best: Child | null = null;
    for (const child of this.#open) {
      if (room(child) === 0) continue;
      const isBetter =
        best === null ||
        (best.lacks.has(job) && !child.lacks.has(job)) ||
        (best.lacks.has(job) === child.lacks.has(job) && child.executions.size < best.executions.size);
      if (isBetter) best = child;
    }
    return best;
  }

  #hear(child: Child, message: ToParent): void {
    const { events, wake } = this.#parts;
    if (message.type === "began") {
      child.began(message.upTo, message.read);
      if (this.#silentDeaths.size > 0) this.#forgive(child);
    } else if (message.type === "wake") wake();
    else if (message.type === "fault") events.report(toError(message.failure), message.during);
    if (!("ticket" in message)) return;
    const assignment = child.executions.get(message.ticket);
    const ended = child.crashed.get(message.ticket);
    if (assignment) this.#hearOf(assignment, message);
    else if (ended && message.type === "logged") {
      this.#parts.logbook.add(ended, message.message, message.data);
    } else if (message.type === "returned") child.crashed.delete(message.ticket);
  }

  #hearOf(assignment: Assignment, message: ToParent): void {
    const { store, logbook } = this.#parts;
    const { run, child } = assignment;
    if (message.type === "logged") {
      logbook.add(run, message.message, message.data);
    } else if (message.type === "progress") {
      this.#write(assignment, "the progress", () => store.progress(run, message.progress));
    } else if (message.type === "slow-hook") {
      this.#write(assignment, "the slow hook", () => store.slowHook(run, message.slow));
    } else if (message.type === "done") {
      child.ended++;
      if (message.result.outcome === "unknown") this.#noteLack(child, run.name);
      assignment.settle(fromSent(message.result), message.duration);
      if (message.returned) this.#end(assignment);
      else this.#replaceIfUsedUp(child);
    } else if (message.type === "returned") this.#end(assignment);
  }

  #write(assignment: Assignment, what: string, work: () => Promise<unknown>): void {
    const { events } = this.#parts;
    const during = `writing ${what} of run ${assignment.run.id}`;
    assignment.write(() => work().catch((error) => events.report(error, during)));
  }

  #end(assignment: Assignment): void {
    const { child } = assignment;
    child.forget(assignment);
    assignment.end();
    this.crew.idle(child);
  }

  /** Replaces a child whose slots are all used by handlers that have not returned although their runs are settled. */
  #replaceIfUsedUp(child: Child): void {
    this.crew.idle(child);
    const { parallel } = this.#parts.supervision;
    if (child.executions.size < parallel || child.unsettled.length > 0) return;
    this.crew.retire(child, "all its slots are used by handlers that have not returned");
  }

  #noteLack(child: Child, job: string): void {
    if (!child.lacks.has(job)) {
      this.#parts.logger.warn(`${child.name} does not define the job "${job}", which another child defines`);
    }
    child.lacks.add(job);
  }

  /** Kills the child of a run that must end: the child does not answer. */
  #overdue(assignment: Assignment, reason: PunctualError): void {
    const { run, job, child } = assignment;
    const result = afterKill(run, job, reason, this.#parts.random);
    child.kill(`its event loop is blocked, and run ${run.id} must end: ${reason.message}`, true, [
      assignment,
      result,
    ]);
  }

  /**
   * Settles the runs of a child that has ended. Runs that had begun are charged with a crash, unless the child was
   * spared.
   */
  #lose(child: Child): void {
    for (const cell of this.#cells) cell.lose(child);
    this.#vacated.delete(child);
    const all = [...child.executions.values()];
    const anyBegan = all.some(({ hasBegun }) => hasBegun);
    const error = new PunctualError("RUN_CRASHED", `Its process, ${child.name}, ${child.howItEnded}.`);
    for (const assignment of all) {
      const isCharged =
        !child.killed?.spares && (assignment.hasBegun || (!anyBegan && this.#isTooOften(assignment.run.id)));
      const verdict = child.verdict(assignment);
      assignment.settle(
        verdict ??
          (isCharged
            ? { outcome: "crashed", error }
            : { outcome: "released", ...(assignment.hasBegun && { interrupted: interruption(error) }) }),
      );
      child.forget(assignment);
      assignment.end();
    }
  }

  /**
   * Whether a run has been in too many children that ended before any run began. A single such end does not show that
   * the run caused it.
   */
  #isTooOften(id: number): boolean {
    const deaths = (this.#silentDeaths.get(id) ?? 0) + 1;
    this.#silentDeaths.set(id, deaths);
    return deaths > SILENT_DEATHS;
  }

  #forgive(child: Child): void {
    for (const { run, hasBegun } of child.executions.values()) {
      if (hasBegun) this.#silentDeaths.delete(run.id);
    }
  }
}

/** Makes an attempt that releases its run: its child takes no more runs. */
function release(run: ClaimedRun, job: RunnableJob, observer: ExecutionObserver): void {
  const execution: Execution = { run, job, isQueued: false, duration: 0, abort: () => {} };
  observer.began(execution);
  observer.ended(execution, { outcome: "released" });
  observer.returned(execution);
}
