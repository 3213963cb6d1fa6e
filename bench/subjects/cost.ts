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
  const graphile = "graphile-worker, tuned";
  const [rate, ...cpu] = drainMetrics;
  return [
    {
      id: "cost",
      title: "CPU of a no-op run, PostgreSQL",
      metrics: [...cpu, rate!],
      base: graphile,
      entries: setups.map((setup) => drainEntry(bench, setup, count)),
      // A ratio, because microseconds depend on the machine: the goal was 16 µs where graphile-worker took 10.
      goals: [{ entry: synchronous, metric: "worker CPU", versus: graphile, most: 1.6 }],
    },
  ];
}
