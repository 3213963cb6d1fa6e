/** A run begins (+1) or ceases (−1) to run. */
export interface Step {
  step: 1 | -1;
  run: number;
  name: string;
  lane: string;
  queue: string;
}

export interface Limits {
  jobs: Record<string, number>;
  /** Per key, by job. */
  keys: Record<string, number>;
  queues: Record<string, number>;
}

/** Goes through what happened in order; gives every moment at which a limit was exceeded, or a run ran twice at once. */
export function violations(steps: Step[], limits: Limits): string[] {
  const found: string[] = [];
  const running = new Set<number>();
  const counts = new Map<string, number>();
  const count = (gate: string, by: number, limit: number | undefined) => {
    const now = (counts.get(gate) ?? 0) + by;
    counts.set(gate, now);
    if (limit !== undefined && now > limit) found.push(`${gate}: ${now} of ${limit}`);
  };
  for (const { step, run, name, lane, queue } of steps) {
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
