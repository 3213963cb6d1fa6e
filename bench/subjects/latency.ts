// Latency of an idle worker: from the dispatch call in one process to the start of the handler in another one.
import type { Bench, Setup } from "../lib/bench.ts";
import type { Contest, Entry, Metric } from "../lib/contest.ts";
import type { DatabaseKind } from "../lib/databases.ts";
import { quantile } from "../lib/statistics.ts";

const metrics: Metric[] = ["p50", "p95", "p99"].map((name) => ({ name, unit: "ms" }));

interface Pace {
  count: number;
  /** Mean pause between two dispatches, in milliseconds. */
  pause: number;
}

function entry(bench: Bench, setup: Setup, { count, pause }: Pace): Entry {
  const patience = 10_000;
  return {
    name: setup.name,
    measure: () =>
      bench.using(setup, ({ first: sender, another }) =>
        another(async (worker) => {
          await worker.ask("listen");
          const warm = Math.min(count, 20);
          await sender.ask("send", { count: warm, pause });
          await worker.ask("collect", { count: warm, patience });
          await sender.ask("send", { count, pause });
          const delays = await worker.ask("collect", { count, patience });
          if (delays.length < count) throw new Error(`${delays.length} of ${count} runs started.`);
          return { p50: quantile(delays, 0.5), p95: quantile(delays, 0.95), p99: quantile(delays, 0.99) };
        }),
      ),
  };
}

export async function contests(bench: Bench): Promise<Contest[]> {
  const pace: Pace = { count: bench.pick(200, 10), pause: 40 };
  // It takes one run every two seconds, however many wait.
  const slow: Pace = { count: bench.pick(6, 1), pause: 2_200 };
  const contest = (
    on: DatabaseKind,
    name: string,
    base: string,
    entries: Entry[],
    goals: Contest["goals"],
  ) => ({
    id: `latency-${on}`,
    title: `Idle latency from the dispatch call to the handler in another process, ${name}`,
    metrics,
    base,
    entries: [...bench.punctual(on).map((setup) => entry(bench, setup, pace)), ...entries],
    goals: goals ?? [],
  });
  const of = (setups: Setup[], its = pace) => setups.map((setup) => entry(bench, setup, its));
  const sidequest = async (on: "mariadb" | "mysql") => [
    ...of(await bench.peer("sidequest", on, "tuned")),
    ...of(await bench.peer("sidequest", on, "default")),
  ];
  const graphile = "graphile-worker, default";
  const found: Contest[] = [];
  if (bench.isPresent("postgres")) {
    const peers = [
      ...of(await bench.peer("graphile-worker", "postgres", "default")),
      ...of(await bench.peer("graphile-worker", "postgres", "tuned")),
      ...of(await bench.peer("pg-boss", "postgres", "tuned")),
      ...of(await bench.peer("pg-boss", "postgres", "default"), slow),
      ...of(await bench.peer("bullmq", "redis", "default")),
    ];
    const goals = [
      { entry: "Punctual", metric: "p50", versus: graphile, most: 0.7 },
      { entry: "Punctual", metric: "p99", versus: graphile, most: 1 },
    ];
    found.push(contest("postgres", "PostgreSQL", graphile, peers, goals));
  }
  const plainjob = [
    ...of(await bench.peer("plainjob", "sqlite", "tuned")),
    ...of(await bench.peer("plainjob", "sqlite", "default")),
  ];
  const within = (most: number) => [{ entry: "Punctual", metric: "p50", most }];
  found.push(contest("sqlite", "SQLite", "plainjob, tuned", plainjob, within(4)));
  for (const [on, name] of [
    ["mariadb", "MariaDB"],
    ["mysql", "MySQL"],
  ] as const) {
    if (bench.isPresent(on))
      found.push(contest(on, name, "sidequest, tuned", await sidequest(on), within(10)));
  }
  return found;
}
