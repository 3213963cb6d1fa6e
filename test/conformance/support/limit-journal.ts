import { isChain } from "../../../src/run/chains.ts";

/** A run starts (+1) or stops (−1) running. */
export interface Step {
  step: 1 | -1;
  run: number;
  name: string;
  lane: string;
  queue: string;
  /** The token of its lease. Runs of a chain share one, and use one slot. */
  token?: string | null;
}

export interface Limits {
  jobs: Record<string, number>;
  /** Per key, by job. */
  keys: Record<string, number>;
  queues: Record<string, number>;
}

/** Replays the events in order; returns every moment at which a limit was exceeded or a run ran twice at once. */
export function violations(steps: Step[], limits: Limits): string[] {
  const found: string[] = [];
  const running = new Set<number>();
  const counts = new Map<string, number>();
  const add = (to: string, by: number): number => {
    const now = (counts.get(to) ?? 0) + by;
    counts.set(to, now);
    return now;
  };
  for (const { step, run, name, lane, queue, token } of steps) {
    const count = (gate: string, by: 1 | -1, limit: number | undefined) => {
      const ofChain = token && isChain(token) ? add(`${gate} ${token}`, by) : null;
      // Only the first run of a chain to start and the last to stop change the usage.
      const isSame = ofChain !== null && ofChain !== (by === 1 ? 1 : 0);
      const now = add(gate, isSame ? 0 : by);
      if (limit !== undefined && now > limit) found.push(`${gate}: ${now} of ${limit}`);
    };
    if (step === 1 && running.has(run)) found.push(`run ${run} twice at once`);
    if (step === -1 && !running.has(run)) found.push(`run ${run} ceased without running`);
    if (step === 1) running.add(run);
    else running.delete(run);
    count(`job ${name}`, step, limits.jobs[name]);
    if (lane !== name) count(`key ${lane}`, step, limits.keys[name]);
    count(`queue ${queue}`, step, limits.queues[queue]);
  }
  return found;
}
