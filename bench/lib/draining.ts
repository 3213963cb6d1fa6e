import type { Bench, Setup } from "./bench.ts";
import type { Entry, Metric } from "./contest.ts";
import { cpuOf } from "./usage.ts";

export const drainMetrics: Metric[] = [
  { name: "rate", unit: "runs/s" },
  { name: "worker CPU", unit: "µs a run" },
  { name: "server CPU", unit: "µs a run" },
];

/** Fills an empty database with one process, and drains it with another one, which has just started. */
export function drainEntry(bench: Bench, setup: Setup, count: number): Entry {
  return {
    name: setup.name,
    measure: () =>
      bench.usingBacklog(setup, count, ({ server, another }) =>
        another(async (worker) => {
          const before = server && cpuOf(server);
          const { rate, cpu } = await worker.ask("drain", { count });
          const after = server && cpuOf(server);
          return {
            rate,
            "worker CPU": cpu,
            ...(before !== undefined && after !== undefined && { "server CPU": (after - before) / count }),
          };
        }),
      ),
  };
}
