import { isChain } from "../../../src/run/chains.ts";
import type { ClaimedRun } from "../../../src/store/store.ts";

/** A run that a racer has claimed, and since when it runs; null: runs of its chain come before it. */
export interface HeldRun {
  run: ClaimedRun;
  from: bigint | null;
}

/** Adds claimed runs. Of each chain only the first runs. */
export function hold(claimed: ClaimedRun[], held: Map<number, HeldRun>): void {
  const chains = new Set<string>();
  for (const run of claimed) {
    const follows = isChain(run.token) && chains.has(run.token);
    chains.add(run.token);
    held.set(run.id, { run, from: follows ? null : process.hrtime.bigint() });
  }
}

/** Lets the next run of a chain run, after one has ended. */
export function startNext({ token }: ClaimedRun, held: Map<number, HeldRun>): void {
  if (!isChain(token)) return;
  const next = [...held.values()].find((one) => one.run.token === token);
  if (next) next.from = process.hrtime.bigint();
}
