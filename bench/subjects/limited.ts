// One job whose runs must not overlap, the default of a job.
import type { Bench } from "../lib/bench.ts";
import type { Contest } from "../lib/contest.ts";
import { drainEntry, drainMetrics } from "../lib/draining.ts";

export async function contests(bench: Bench): Promise<Contest[]> {
  const limited = (on: "postgres" | "sqlite" | "mariadb" | "mysql") =>
    bench.isPresent(on) ? bench.punctual(on, `limit 1, ${on}`, { limit: 1 }) : [];
  const one = { settings: { concurrentJobs: 1 }, name: "graphile-worker, one worker" };
  const sidequest = { settings: { concurrency: 1 }, name: "sidequest, concurrency 1, mariadb" };
  const many = bench.pick(4_000, 200);
  const few = bench.pick(2_000, 50);
  return [
    {
      id: "limited",
      title: "One job limited to 1: its runs one after the other",
      metrics: drainMetrics,
      base: one.name,
      entries: [
        ...limited("postgres").map((setup) => drainEntry(bench, setup, many)),
        ...(await bench.peer("graphile-worker", "postgres", "default", one)).map((setup) =>
          drainEntry(bench, setup, few),
        ),
        ...limited("sqlite").map((setup) => drainEntry(bench, setup, many)),
        ...(await bench.peer("plainjob", "sqlite", "default", { parameters: "?synchronous=full" })).map(
          (setup) => drainEntry(bench, setup, few),
        ),
        ...limited("mariadb").map((setup) => drainEntry(bench, setup, many)),
        ...limited("mysql").map((setup) => drainEntry(bench, setup, many)),
        ...(await bench.peer("sidequest", "mariadb", "default", sidequest)).map((setup) =>
          drainEntry(bench, setup, bench.pick(100, 5)),
        ),
      ],
      goals: [{ entry: "Punctual, limit 1, postgres", metric: "rate", versus: one.name, least: 8 }],
    },
  ];
}
