// The members of one batch, beside the same runs without a batch.
import type { Bench } from "../lib/bench.ts";
import type { Contest } from "../lib/contest.ts";
import { drainEntry, drainMetrics } from "../lib/draining.ts";

export async function contests(bench: Bench): Promise<Contest[]> {
  const count = bench.pick(100_000, 1_000);
  return bench.ownDatabases.map((on) => {
    const setups = [...bench.punctual(on), ...bench.punctual(on, "in a batch", { batch: true })];
    return {
      id: `batches-${on}`,
      title: `Drain of a batch of ${count.toLocaleString("en")}, ${on}`,
      metrics: drainMetrics,
      base: "Punctual",
      entries: setups.map((setup) => drainEntry(bench, setup, count)),
      goals: [{ entry: "Punctual, in a batch", metric: "rate", versus: "Punctual", least: 0.95 }],
    };
  });
}
