// A backlog of a job with a rate: how much of the rate is used, and what a start under it costs.
import type { Bench } from "../lib/bench.ts";
import type { Contest } from "../lib/contest.ts";
import { drainEntry, drainMetrics } from "../lib/draining.ts";

/** Starts in a second, in every window. BullMQ counts in fixed windows. */
const RATE = 500;

/** Seconds that the backlog lasts. The first window is full at once, so that its runs take a second less. */
const SECONDS = 7;

export async function contests(bench: Bench): Promise<Contest[]> {
  const count = bench.pick(RATE * SECONDS, RATE / 10);
  const ideal = count / (SECONDS - 1);
  const setups = bench.ownDatabases.flatMap((on) => bench.punctual(on, on, { rate: RATE }));
  const limiter = { max: RATE, duration: 1000 };
  setups.push(
    ...(await bench.peer("bullmq", "redis", "tuned", { settings: { limiter }, name: "bullmq, redis" })),
  );
  return [
    {
      id: "rates",
      title: `Drain of a job that may start ${RATE} runs a second`,
      metrics: drainMetrics,
      base: "Punctual, postgres",
      entries: setups.map((setup) => drainEntry(bench, setup, count)),
      goals: bench.ownDatabases.map((on) => ({
        entry: `Punctual, ${on}`,
        metric: "rate",
        least: Math.round(ideal * 0.9),
      })),
    },
  ];
}
