import { PunctualError } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import type { Registry } from "../job/registry.ts";
import { failureText, readFailure, toFailure } from "../run/failure.ts";
import type { JobCounts } from "../run/job-counts.ts";
import { defaultRetention } from "../run/retention.ts";
import type { ClaimedRun, CrashCap, ReapedRun, Store } from "../store/store.ts";
import type { Clock } from "../time.ts";
import type { Deadline } from "./deadline.ts";
import type { Executor } from "./executor.ts";
import { untilAnswered } from "./waits.ts";

/** CrashedRuns that end a run. With neighbours more of them, for the crash may have been a neighbour's doing (note 29). */
export const CRASH_CAP: CrashCap = { isolated: 3, shared: 5 };

export const crashed: string = crashText(
  new PunctualError("RUN_CRASHED", "Its process ended, or lost its lease, in the middle of the run."),
);

/** Without a stack: it would lead to where we noticed, not to what went wrong. */
function crashText(error: PunctualError): string {
  return failureText({ ...toFailure(error), stack: null });
}

export interface CrashParts {
  store: Store;
  clock: Clock;
  events: Emitter;
  counts: JobCounts;
  registry: Registry;
  executor: Executor;
}

interface OwnCrashParts extends CrashParts {
  deadline: Deadline;
}

/** Takes back the runs that were lost with a child process, at once: nobody has to wait for their leases. */
export class CrashedRuns {
  readonly #parts: OwnCrashParts;
  readonly #written: (run: ClaimedRun) => void;
  #lost = new Map<string, ClaimedRun[]>();
  readonly #unwritten = new Set<ClaimedRun>();

  /** `written`: the run is another's by now, or waits for one. */
  constructor(parts: OwnCrashParts, written: (run: ClaimedRun) => void) {
    this.#parts = parts;
    this.#written = written;
  }

  /** Runs that are not taken back yet. */
  get size(): number {
    return this.#unwritten.size;
  }

  get runs(): ClaimedRun[] {
    return [...this.#unwritten];
  }

  add(run: ClaimedRun, error: PunctualError): void {
    this.#unwritten.add(run);
    const text = crashText(error);
    const runs = this.#lost.get(text);
    if (runs) runs.push(run);
    else this.#lost.set(text, [run]);
    // Those of one process are told of in one turn.
    if (!runs) queueMicrotask(() => process.nextTick(() => void this.#takeBack(text)));
  }

  async #takeBack(text: string): Promise<void> {
    const runs = this.#lost.get(text);
    if (!runs) return;
    this.#lost.delete(text);
    const { store } = this.#parts;
    const reaped = await untilAnswered(
      () => store.takeBack(runs, CRASH_CAP, text, defaultRetention.failed),
      "taking back runs that were lost with a child process",
      this.#parts,
    );
    for (const run of reaped) tellReaped(run, text, this.#parts);
    for (const run of runs) {
      this.#unwritten.delete(run);
      this.#written(run);
    }
  }
}

/** Counts a reaped run, emits its events, and calls the hooks of a run that its crashes ended. */
export function tellReaped(
  { ended, ...run }: ReapedRun,
  error: string,
  { counts, events, clock, registry, executor }: Omit<CrashParts, "store">,
): void {
  const now = clock.now();
  if (run.crashed) counts.crashed(run.name, error, now);
  if (run.state !== "ready") counts.ended(run.name, run.state, now);
  events.emit("run.reaped", run);
  const { id, name, queue, attempt, duration } = run;
  const of = { id, name, queue, attempt, duration };
  if (run.state === "failed") events.emit("run.failed", { ...of, error: readFailure(error)! });
  if (run.state === "cancelled") events.emit("run.cancelled", { ...of, reason: null });
  const job = ended && registry.handlerOf(ended);
  if (job) executor.callCrashHooks(ended, job, new PunctualError("RUN_CRASHED", readFailure(error)!.message));
}
