// An idle worker: its CPU, its server's, and how often it calls the database.
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Setup } from "../lib/bench.ts";
import type { Contest, Entry, Metric } from "../lib/contest.ts";
import { cpuOf } from "../lib/usage.ts";

const metrics: Metric[] = [
  { name: "worker CPU", unit: "% of a core" },
  { name: "server CPU", unit: "% of a core" },
  { name: "calls", unit: "a second" },
];

export async function contests(bench: Bench): Promise<Contest[]> {
  const seconds = bench.pick(8, 0.5);
  const entry = (setup: Setup): Entry => ({
    name: `${setup.name}, ${setup.on}`,
    measure: () =>
      bench.using(setup, async ({ url, server, first: worker }) => {
        await worker.ask("listen");
        // A worker does some work once, after it has started.
        await sleep(bench.pick(3_000, 200));
        const calls = await bench.databases.calls(setup.on, url);
        const before = server && cpuOf(server);
        const cpu = await worker.ask("idle", { seconds });
        const after = server && cpuOf(server);
        const later = await bench.databases.calls(setup.on, url);
        const percent = (microseconds: number) => microseconds / seconds / 10_000;
        return {
          "worker CPU": cpu,
          ...(before !== undefined && after !== undefined && { "server CPU": percent(after - before) }),
          ...(calls !== undefined && later !== undefined && { calls: (later - calls) / seconds }),
        };
      }),
  });
  const setups = await bench.everyone();
  return [
    {
      id: "idle",
      title: "An idle worker",
      metrics,
      base: "graphile-worker, postgres",
      entries: setups.map(entry),
      goals: bench.ownDatabases.map((on) => ({ entry: `Punctual, ${on}`, metric: "worker CPU", most: 1 })),
    },
  ];
}
