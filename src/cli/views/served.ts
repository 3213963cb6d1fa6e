import type { StatusReport } from "../../status/report.ts";

type Serving = Pick<StatusReport["workers"][number], "queues" | "exceptQueues" | "weights">;

/** `all`, `emails, reports*2`, `all but bulk, reports*2` */
export function servedText({ queues, exceptQueues, weights }: Serving): string {
  const weighed = Object.entries(weights ?? {}).map(([name, weight]) => `${name}*${weight}`);
  if (queues !== null) {
    const plain = queues.filter((name) => !Object.hasOwn(weights ?? {}, name));
    return [...plain, ...weighed].join(", ");
  }
  const all = exceptQueues.length === 0 ? "all" : `all but ${exceptQueues.join(", ")}`;
  return weighed.length === 0 ? all : `${all}; ${weighed.join(", ")}`;
}
