// Drains a backlog with one worker process. The clock starts with the worker and stops at the start of the last
// handler.
import type { Bench, Setup } from "../lib/bench.ts";
import type { Contest } from "../lib/contest.ts";
import { drainEntry, drainMetrics } from "../lib/draining.ts";

/** Peers that take many seconds for a large backlog drain a smaller one: their rate does not depend on it. */
const entries = (
  bench: Bench,
  count: number,
  fast: Setup[],
  slow: [setups: Setup[], count: number][] = [],
) => [
  ...fast.map((setup) => drainEntry(bench, setup, count)),
  ...slow.flatMap(([setups, few]) => setups.map((setup) => drainEntry(bench, setup, Math.min(few, count)))),
];

export async function contests(bench: Bench): Promise<Contest[]> {
  return [
    ...(bench.isPresent("postgres") ? await onPostgres(bench) : []),
    ...(bench.isPresent("mariadb") ? [await besideSidequest(bench, "mariadb", "MariaDB")] : []),
    ...(bench.isPresent("mysql") ? [await besideSidequest(bench, "mysql", "MySQL")] : []),
    await onSqlite(bench, "full"),
    ...(bench.quick ? [] : [await onSqlite(bench, "normal")]),
  ];
}

async function onPostgres(bench: Bench): Promise<Contest[]> {
  const tuned = [
    ...bench.punctual("postgres"),
    ...bench.punctual("postgres", "keep(0)", { forget: true }),
    ...bench.bareLoop("postgres"),
    ...(await bench.peer("graphile-worker", "postgres", "tuned")),
    ...(await bench.peer("pg-boss", "postgres", "tuned")),
    ...(await bench.peer("bullmq", "redis", "tuned")),
  ];
  const asInstalled: [Setup[], number][] = [
    [await bench.peer("graphile-worker", "postgres", "default"), 2_000],
    [await bench.peer("pg-boss", "postgres", "default"), bench.pick(4, 1)],
    [await bench.peer("bullmq", "redis", "default"), 5_000],
  ];
  const base = "graphile-worker, tuned";
  const goals = (kept: number, forgotten: number) => [
    { entry: "Punctual", metric: "rate", versus: base, least: kept },
    { entry: "Punctual, keep(0)", metric: "rate", versus: base, least: forgotten },
  ];
  const cold = bench.pick(40_000, 1_000);
  const long = bench.pick(150_000, 2_000);
  return [
    {
      id: "drain-postgres",
      title: `Drain of ${cold.toLocaleString("en")} runs from a cold start, PostgreSQL`,
      metrics: drainMetrics,
      base,
      entries: entries(bench, cold, tuned, asInstalled),
      goals: [...goals(1.5, 2), { entry: "Punctual", metric: "rate", versus: "bullmq, tuned", least: 2 }],
    },
    {
      id: "drain-postgres-long",
      title: `Drain of ${long.toLocaleString("en")} runs, PostgreSQL`,
      metrics: drainMetrics,
      base,
      entries: entries(bench, long, tuned),
      goals: goals(2.5, 3),
    },
  ];
}

async function besideSidequest(bench: Bench, on: "mariadb" | "mysql", name: string): Promise<Contest> {
  const setups = [
    ...bench.punctual(on),
    ...bench.punctual(on, "keep(0)", { forget: true }),
    ...bench.bareLoop(on),
  ];
  const few = bench.pick(500, 20);
  return {
    id: `drain-${on}`,
    title: `Drain, ${name}`,
    metrics: drainMetrics,
    base: "sidequest, tuned",
    entries: entries(bench, bench.pick(40_000, 500), setups, [
      [await bench.peer("sidequest", on, "tuned"), few],
      [await bench.peer("sidequest", on, "default"), few],
    ]),
  };
}

async function onSqlite(bench: Bench, synchronous: "full" | "normal"): Promise<Contest> {
  const parameters = `?synchronous=${synchronous}`;
  const setups = [
    ...bench.punctual("sqlite", "", {}, parameters),
    ...bench.punctual("sqlite", "keep(0)", { forget: true }, parameters),
    ...bench.bareLoop("sqlite", parameters),
  ];
  return {
    id: `drain-sqlite-${synchronous}`,
    title: `Drain, SQLite, synchronous = ${synchronous}`,
    metrics: drainMetrics,
    base: "plainjob, default",
    entries: entries(bench, bench.pick(40_000, 1_000), setups, [
      [await bench.peer("plainjob", "sqlite", "default", { parameters }), bench.pick(5_000, 500)],
    ]),
    goals: [{ entry: "Punctual", metric: "rate", versus: "plainjob, default", least: 8 }],
  };
}
