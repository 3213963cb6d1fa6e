// One awaited dispatch after the other.
import type { Bench, Setup } from "../lib/bench.ts";
import type { Contest, Entry } from "../lib/contest.ts";

export async function contests(bench: Bench): Promise<Contest[]> {
  const count = bench.pick(2_000, 50);
  const entry = (setup: Setup): Entry => ({
    name: `${setup.name}, ${setup.on}`,
    measure: () =>
      bench.using(setup, async ({ first }) => ({ rate: await first.ask("oneByOne", { count }) })),
  });
  const setups = await bench.everyone();
  const base = "graphile-worker, postgres";
  return [
    {
      id: "dispatch",
      title: "Dispatch, one awaited after the other",
      metrics: [{ name: "rate", unit: "dispatches/s" }],
      base,
      entries: setups.map(entry),
      goals: [{ entry: "Punctual, postgres", metric: "rate", versus: base, least: 2 }],
    },
  ];
}
