// CPU of the worker's process for one no-op run, without the first third of the backlog.
import type { Bench } from "../lib/bench.ts";
import type { Contest } from "../lib/contest.ts";
import { drainEntry, drainMetrics } from "../lib/draining.ts";

export async function contests(bench: Bench): Promise<Contest[]> {
  if (!bench.isPresent("postgres")) return [];
  const count = bench.pick(60_000, 1_000);
  const synchronous = "Punctual, synchronous handler";
  const setups = [
    ...bench.punctual("postgres", "synchronous handler", { async: false }),
    ...bench.punctual("postgres", "async handler"),
    ...(await bench.peer("graphile-worker", "postgres", "tuned")),
  ];
  const [rate, ...cpu] = drainMetrics;
  return [
    {
      id: "cost",
      title: "CPU of a no-op run, PostgreSQL",
      metrics: [...cpu, rate!],
      base: "graphile-worker, tuned",
      entries: setups.map((setup) => drainEntry(bench, setup, count)),
      goals: [{ entry: synchronous, metric: "worker CPU", most: 16 }],
    },
  ];
}
