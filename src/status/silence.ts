import type { SilentReport } from "./report.ts";
import { span } from "./why.ts";

/**
 * Describes a worker that holds runs without a sign of life: which runs, since when, and who takes them back. `others`:
 * number of live workers.
 */
export function silenceOf(
  { trace, runs, last, leasedUntil }: SilentReport,
  { now, others }: { now: Date; others: number },
): string {
  const [its, it, lease] = runs === 1 ? ["its", "it", "lease"] : ["their", "them", "leases"];
  const held = `run ${last.id} of "${last.name}"`;
  const holds = runs === 1 ? `holds ${held}` : `holds ${runs} runs, among them ${held}`;
  const who = trace
    ? `${trace.host}:${trace.pid} has given no sign of life for ${span(Number(now) - Number(trace.seenAt))} and`
    : "A dead worker";
  const left = Number(leasedUntil) - Number(now);
  const end =
    left < 0
      ? `${its} ${lease} ended ${span(-left)} ago`
      : `${its} ${lease} ${runs === 1 ? "ends" : "end"} in ${runs === 1 ? "" : "at most "}${span(left)}`;
  const then =
    others === 0
      ? `no worker is alive to take ${it} back`
      : left < 0
        ? `another worker takes ${it} back within seconds`
        : `then another worker takes ${it} back`;
  return `${who} ${holds}: ${end}, ${others === 0 ? "and " : ""}${then}.`;
}
