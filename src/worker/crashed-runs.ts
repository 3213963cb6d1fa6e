import { PunctualError } from "../errors.ts";
import { crashText, readFailure } from "../run/failure.ts";
import { defaultRetention } from "../run/retention.ts";
import type { ClaimedRun, CrashCap, ReapedRun } from "../store/store.ts";
import type { WorkerParts } from "./parts.ts";
import { untilAnswered } from "./waits.ts";

/**
 * Number of crashes that ends a run: higher for a run with neighbours, because one of them may have caused it (note
 * 29).
 */
export const CRASH_CAP: CrashCap = { isolated: 3, shared: 5 };

/** The failure of a run whose worker died. */
export const workerDied: string = crashText(
  "Its process ended, or lost its lease, in the middle of the run.",
);

export type CrashParts = Pick<WorkerParts, "clock" | "events" | "counts" | "registry" | "executor">;

/**
 * Runs that were lost with a child process, until the store has taken them back. They are
 * not left to the reaper, which waits for their leases to expire.
 */
export class CrashedRuns {
  readonly #parts: WorkerParts;
  readonly #written: (run: ClaimedRun) => void;
  /** Runs that are not being written yet, by the text of their failure. */
  #lost = new Map<string, ClaimedRun[]>();
  readonly #unwritten = new Set<ClaimedRun>();

  /** `written`: the store has taken the run back. */
  constructor(parts: WorkerParts, written: (run: ClaimedRun) => void) {
    this.#parts = parts;
    this.#written = written;
  }

  get size(): number {
    return this.#unwritten.size;
  }

  get runs(): ClaimedRun[] {
    return [...this.#unwritten];
  }

  add(run: ClaimedRun, error: PunctualError): void {
    this.#unwritten.add(run);
    const text = crashText(error.message);
    const runs = this.#lost.get(text);
    if (runs) runs.push(run);
    else this.#lost.set(text, [run]);
    // All runs of one child process are added in one turn.
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
    for (const run of reaped) recordReaped(run, text, this.#parts);
    for (const run of runs) {
      this.#unwritten.delete(run);
      this.#written(run);
    }
  }
}

/** Counts a reaped run, emits its events, and calls the hooks of a run that its crashes ended. */
export function recordReaped(
  { ended, ...run }: ReapedRun,
  error: string,
  { counts, events, clock, registry, executor }: CrashParts,
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
