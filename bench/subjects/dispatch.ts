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
  const here = (["postgres", "sqlite", "mariadb", "mysql"] as const).filter((on) => bench.isPresent(on));
  const setups = [
    ...here.flatMap((on) => bench.punctual(on)),
    ...(await bench.peer("graphile-worker", "postgres", "default", { name: "graphile-worker" })),
    ...(await bench.peer("pg-boss", "postgres", "default", { name: "pg-boss" })),
    ...(await bench.peer("bullmq", "redis", "default", { name: "bullmq" })),
    ...(await bench.peer("plainjob", "sqlite", "default", { name: "plainjob" })),
    ...(await bench.peer("sidequest", "mariadb", "default", { name: "sidequest" })),
  ];
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
