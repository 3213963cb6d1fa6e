// Drains a backlog that is spread over many queues, beside the same backlog in one queue.
import type { Bench } from "../lib/bench.ts";
import type { Contest } from "../lib/contest.ts";
import { drainEntry, drainMetrics } from "../lib/draining.ts";

const QUEUES = 200;

export async function contests(bench: Bench): Promise<Contest[]> {
  return bench.ownDatabases.map((on) => ({
    id: `queues-${on}`,
    title: `Drain of one queue and of ${QUEUES}, ${on}`,
    metrics: drainMetrics,
    base: "Punctual",
    entries: [...bench.punctual(on), ...bench.punctual(on, `${QUEUES} queues`, { queues: QUEUES })].map(
      (setup) => drainEntry(bench, setup, bench.pick(40_000, 1_000)),
    ),
    goals: [{ entry: `Punctual, ${QUEUES} queues`, metric: "rate", versus: "Punctual", least: 0.8 }],
  }));
}
