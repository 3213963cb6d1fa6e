import type { PunctualError } from "../errors.ts";
import type { ClaimedRun } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { ABORT_GRACE, abortReasons } from "../worker/attempt-ends.ts";
import type { Execution, ExecutionObserver, Result, RunnableJob } from "../worker/executor.ts";
import { type Child, PING_EVERY } from "./child.ts";

/** One attempt at one run, in a child process. */
export class Assignment implements Execution {
  readonly run: ClaimedRun;
  readonly job: RunnableJob;
  readonly ticket: number;
  readonly child: Child;
  duration = 0;
  isSettled = false;
  hasBegun = false;
  readonly #clock: Clock;
  /** Called if the child reacts neither to the abort nor to pings. */
  readonly #overdue: (assignment: Assignment, reason: PunctualError) => void;
  readonly #startedAt: number;
  readonly #observer: ExecutionObserver;
  /** Whether the observer knows the result. */
  #isOver = false;
  /** Whether the handler has returned. */
  #isFree = false;
  #isAborted = false;
  #cancels: (() => void)[] = [];
  #writing: Promise<unknown> | null = null;

  constructor(
    run: ClaimedRun,
    job: RunnableJob,
    of: {
      ticket: number;
      child: Child;
      clock: Clock;
      overdue: (assignment: Assignment, reason: PunctualError) => void;
      observer: ExecutionObserver;
    },
  ) {
    this.run = run;
    this.job = job;
    this.ticket = of.ticket;
    this.child = of.child;
    this.#clock = of.clock;
    this.#overdue = of.overdue;
    this.#observer = of.observer;
    this.#startedAt = of.clock.monotonic();
  }

  abort(reason: PunctualError): void {
    if (this.#isAborted || this.isSettled) return;
    this.#isAborted = true;
    const { code, message } = reason;
    this.child.post({ type: "abort", ticket: this.ticket, code, message });
    this.#expect(ABORT_GRACE, reason);
  }

  get isQueued(): boolean {
    return !this.hasBegun;
  }

  /** Starts the timeout: the handler is about to run. The child counts too, but its event loop may be blocked. */
  begin(): void {
    this.hasBegun = true;
    this.#observer.started(this);
    const timeout = this.run.timeout ?? this.job.settings.timeout;
    if (timeout !== null) this.#expect(timeout + ABORT_GRACE, abortReasons.timeout(timeout));
  }

  /** Writes in the order of the calls, and before the outcome: the settlement ends the lease that these writes need. */
  write(work: () => Promise<unknown>): void {
    this.#writing = Promise.resolve(this.#writing).then(work);
  }

  settle(result: Result, duration: number = this.#clock.monotonic() - this.#startedAt): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.duration = duration;
    for (const cancel of this.#cancels) cancel();
    if (this.#writing) void this.#writing.then(() => this.#deliver(result));
    else this.#deliver(result);
  }

  /** Frees its slot. */
  end(): void {
    this.#isFree = true;
    if (this.#isOver) this.#observer.returned(this);
  }

  #deliver(result: Result): void {
    this.#isOver = true;
    this.#observer.ended(this, result);
    if (this.#isFree) this.#observer.returned(this);
  }

  /**
   * Reports the assignment as overdue if it has no result after `ms` milliseconds and the child does not answer pings.
   */
  #expect(ms: number, reason: PunctualError): void {
    const ask = async () => {
      if (this.isSettled) return;
      const lives = await this.child.answers(PING_EVERY);
      if (this.isSettled) return;
      if (lives) this.#expect(PING_EVERY, reason);
      else this.#overdue(this, reason);
    };
    this.#cancels.push(this.#clock.after(ms, () => void ask(), { background: true }));
  }
}
