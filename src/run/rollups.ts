import { GRAINS, type Measure, OUTCOMES, type RollupCount, type Scope, sumCounts } from "../store/rollups.ts";
import { bucketOf, type Histogram } from "./histogram.ts";
import type { Outcome } from "./states.ts";

/** Most jobs and queues whose counts are kept while the database is unavailable. */
const MOST_CELLS = 10_000;

/** Counts of one job in one queue in one minute. */
interface RollupCell {
  minute: number;
  job: string;
  queue: string;
  counts: Record<Measure, Histogram>;
}

/** An attempt that has ended. */
export interface EndedAttempt {
  job: string;
  queue: string;
  outcome: Outcome;
  /** Milliseconds from when the run was due until it was claimed. */
  waited: number;
  took: number;
}

/** Counts outcomes, waits and durations of ended attempts in memory, until they are written. */
export class Rollups {
  #cells = new Map<string, RollupCell>();
  /** The cell of the last attempt: the next one most often has the same. */
  #last: RollupCell | null = null;

  /** `minute`: UTC minutes since 1970. */
  add({ job, queue, outcome, waited, took }: EndedAttempt, minute: number): void {
    const { counts } = this.#cellOf(job, queue, minute);
    increment(counts.outcome, OUTCOMES.indexOf(outcome));
    // A released attempt did not run to its end, and a snoozed one chose its end.
    if (outcome === "released" || outcome === "snoozed") return;
    increment(counts.waited, bucketOf(waited));
    if (outcome !== "skipped") increment(counts.took, bucketOf(took));
  }

  /** Returns all counts, in the order of the table's key, and forgets them. */
  take(): RollupCount[] {
    const cells = [...this.#cells.values()];
    this.#cells = new Map();
    this.#last = null;
    return sumCounts(cells.flatMap((cell) => [...countsOf(cell)]));
  }

  #cellOf(job: string, queue: string, minute: number): RollupCell {
    const last = this.#last;
    if (last && last.job === job && last.queue === queue && last.minute === minute) return last;
    const key = JSON.stringify([minute, job, queue]);
    let cell = this.#cells.get(key);
    if (!cell) {
      cell = { minute, job, queue, counts: { waited: [], took: [], outcome: [] } };
      // The map is in order of time: the oldest counts are dropped.
      if (this.#cells.size >= MOST_CELLS) this.#cells.delete(this.#cells.keys().next().value!);
      this.#cells.set(key, cell);
    }
    this.#last = cell;
    return cell;
  }
}

function increment(histogram: Histogram, bucket: number): void {
  histogram[bucket] = (histogram[bucket] ?? 0) + 1;
}

function* countsOf({ minute, job, queue, counts }: RollupCell): Generator<RollupCount> {
  const subjects: [Scope, string][] = [
    ["all", ""],
    ["job", job],
    ["queue", queue],
  ];
  for (const grain of GRAINS) {
    const start = minute - (minute % grain);
    for (const [scope, name] of subjects) {
      for (const [measure, histogram] of Object.entries(counts) as [Measure, Histogram][]) {
        for (const [bucket, count] of histogram.entries()) {
          if (count) yield { grain, scope, name, minute: start, measure, bucket, count };
        }
      }
    }
  }
}
