import type { Emitter } from "../events/events.ts";
import type { JobCounts } from "../run/job-counts.ts";
import type { BatchChange } from "../store/batches.ts";
import type { InsertResult, NewRun } from "../store/store.ts";
import type { Clock } from "../time.ts";

export interface DispatchRecorderParts {
  clock: Clock;
  events: Emitter;
  counts: JobCounts;
  /** Drops the function of an ad hoc run: its row was not inserted. */
  forgetAdHoc(lane: string): void;
}

/** Counts dispatched runs and emits their events, once they are in the database. */
export class DispatchRecorder {
  readonly #parts: DispatchRecorderParts;

  constructor(parts: DispatchRecorderParts) {
    this.#parts = parts;
  }

  /** `inserted[n]` is the answer to `runs[n]`. */
  record(runs: NewRun[], inserted: InsertResult[]): void {
    const { clock, events, counts, forgetAdHoc } = this.#parts;
    const now = clock.now();
    const isHeard = events.hasListeners("run.dispatched");
    for (const [index, run] of runs.entries()) {
      const { name, queue, owner, lane } = run;
      const answer = inserted[index]!;
      if (!answer.inserted && owner !== null) forgetAdHoc(lane);
      if (answer.inserted && owner === null) counts.dispatched(name, now);
      if (!isHeard) continue;
      const runAt = new Date(run.runAt ?? now + run.delay);
      events.emit("run.dispatched", { ...answer, name, queue, runAt });
    }
  }

  /** Emits the events of a batch that this process has marked, and passes its callbacks to `sent`. */
  recordBatch(
    { batch, failed, finished, dispatched }: BatchChange,
    sent: (runs: NewRun[], inserted: InsertResult[]) => void,
  ): void {
    const { events } = this.#parts;
    const { id, name, added: total, completed, failed: failures, cancelled, skipped } = batch;
    const event = { id, name, total, completed, failed: failures, cancelled, skipped };
    if (failed) events.emit("batch.failed", event);
    if (finished) events.emit("batch.finished", event);
    if (dispatched.length === 0) return;
    sent(
      dispatched.map(({ run }) => run),
      dispatched.map((one) => ({ id: one.id, inserted: true })),
    );
  }
}

/** Records a change of a batch. */
export type BatchRecording = (change: BatchChange) => void;
