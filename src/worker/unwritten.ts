import type { Emitter } from "../events/events.ts";
import type { Logger } from "../events/logger.ts";
import type { Outcome } from "../run/states.ts";
import type { ClaimedRun } from "../store/store.ts";
import type { Settling } from "./settle.ts";

/** A run that a worker left without writing its outcome; null: the outcome was not known. */
export interface Unwritten {
  run: ClaimedRun;
  outcome: Outcome | null;
}

export function toUnwritten(settling: Settling[], others: ClaimedRun[]): Unwritten[] {
  return [
    ...settling.map(({ run, settlement: { outcome } }) => ({ run, outcome })),
    ...others.map((run) => ({ run, outcome: null })),
  ];
}

/** How many runs a log line names. */
const MOST_NAMED = 20;

/** Says what a worker could not write before it had to end, and returns the ids of these runs. Runs that it only gives back are free when their leases expire. */
export function tellUnwritten(
  unwritten: Unwritten[],
  { logger, events }: { logger: Logger; events: Emitter },
): number[] {
  const lost = unwritten.filter(({ outcome }) => outcome !== "released");
  if (lost.length === 0) {
    logger.warn("stopped without an answer from the database");
    return [];
  }
  const named = lost
    .slice(0, MOST_NAMED)
    .map(({ run, outcome }) => `run ${run.id} of "${run.name}" (${outcome ?? "outcome unknown"})`);
  const more = lost.length > MOST_NAMED ? ` and ${lost.length - MOST_NAMED} more` : "";
  const runs = lost.length === 1 ? "1 run" : `${lost.length} runs`;
  logger.error(
    `stopped without writing the outcome of ${runs}, for the database did not answer: ${named.join(", ")}${more}. Each is tried again when its lease expires.`,
  );
  for (const { run } of lost) {
    const { id, name, queue, attempts: attempt } = run;
    events.emit("run.lost", { id, name, queue, attempt });
  }
  return lost.map(({ run }) => run.id);
}
