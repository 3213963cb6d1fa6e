import type { Bench, Setup } from "./bench.ts";
import type { Entry, Metric } from "./contest.ts";
import { cpuOf } from "./usage.ts";

export const drainMetrics: Metric[] = [
  { name: "rate", unit: "runs/s" },
  { name: "worker CPU", unit: "µs a run" },
  { name: "server CPU", unit: "µs a run" },
];

/** A slow scheduler is stopped after this many seconds; its rate does not depend on the number of runs. */
const LONGEST = 20;

/** Fills an empty database with one process, and drains it with another one, which has just started. */
export function drainEntry(bench: Bench, setup: Setup, count: number): Entry {
  return {
    name: setup.name,
    measure: () =>
      bench.usingBacklog(setup, count, ({ server, another }) =>
        another(async (worker) => {
          const before = server && cpuOf(server);
          const { rate, cpu, ran } = await worker.ask("drain", { count, seconds: LONGEST });
          const after = server && cpuOf(server);
          return {
            rate,
            "worker CPU": cpu,
            ...(before !== undefined && after !== undefined && { "server CPU": (after - before) / ran }),
          };
        }),
      ),
  };
}
