import type { ClaimedRun, ClaimRequest, Lease, PausedNames } from "../store/store.ts";
import type { ClockReading } from "../time.ts";
import type { Chains } from "./chains.ts";
import type { Room } from "./claim-request.ts";

/** The claimed runs of a worker, as its exchanges see them. */
export interface WorkerRuns {
  /** Number of claimed runs that wait for a slot. */
  buffered(): number;
  readonly chains: Chains;
  /** Number of claimed runs without an outcome. */
  unsettled(): number;
  /** Whether as many runs were claimed as the worker may run. */
  isBudgetUsed(): boolean;
  /** Returns how many runs a claim may bring. `asked`: those that claims under way may bring. */
  room(asked: number): Room;
  /** Starts claimed runs in the free slots. */
  fill(): void;
  /** Releases runs that have been buffered for too long. */
  releaseHeld(): void;
  /** Holds the runs that a claim brought. Returns true if another claim may bring more. */
  hold(claimed: ClaimedRun[], claim: ClaimRequest, sent: ClockReading): boolean;
  cancel(ids: number[]): void;
  /** Releases runs that have not started and are paused by now. */
  releasePaused(paused: PausedNames): void;
  /** Returns runs of a stream whose start is not written yet, for its next exchange. */
  newStarts(stream: number): Lease[];
  /** The starts that an exchange took along are written. */
  startsWritten(starts: Lease[]): void;
  /** Releases runs that have not started. */
  releaseAll(): void;
  /** Called when the outcome of a run is written or lost. */
  drop(run: ClaimedRun): void;
}
