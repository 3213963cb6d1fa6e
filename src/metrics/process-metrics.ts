import type { Clock } from "../time.ts";
import { version } from "../version.ts";
import { gauge } from "./gauges.ts";
import type { Family } from "./prometheus.ts";

/** Figures that the probe reports about a child process of a supervisor. */
export interface ChildMetrics {
  pid: number;
  /** Such as `starting`, `idle`, `busy` or `stalled`. */
  state: string;
  /** Number of its current runs. */
  running: number;
  /** Resident memory in bytes; null: not known yet. */
  memory: number | null;
}

/**
 * Returns the metrics of this process, under the usual names of Prometheus exporters, and of its children. `lag` in
 * milliseconds; null: not measured.
 */
export function processMetrics(
  clock: Clock,
  lag: number | null,
  children: readonly ChildMetrics[],
): Family[] {
  const { user, system } = process.cpuUsage();
  const one = (name: string, type: "counter" | "gauge", help: string, value: number): Family => ({
    name,
    type,
    help,
    samples: [{ labels: {}, value }],
  });
  return [
    gauge("build_info", "Always 1; the labels have the versions.", [
      { labels: { version: version(), node: process.versions.node }, value: 1 },
    ]),
    one("process_cpu_seconds_total", "counter", "CPU time used.", (user + system) / 1e6),
    one("process_resident_memory_bytes", "gauge", "Resident memory.", process.memoryUsage.rss()),
    one(
      "process_start_time_seconds",
      "gauge",
      "Start time of the process.",
      clock.now() / 1000 - process.uptime(),
    ),
    ...(lag === null
      ? []
      : [
          one(
            "punctual_event_loop_lag_seconds",
            "gauge",
            "Longest delay of the event loop in the last 30 seconds.",
            lag / 1000,
          ),
        ]),
    ...childMetrics(children),
  ];
}

function childMetrics(children: readonly ChildMetrics[]): Family[] {
  const states = new Map<string, number>();
  for (const { state } of children) states.set(state, (states.get(state) ?? 0) + 1);
  return [
    gauge(
      "children",
      "Child processes of the supervisor, by state.",
      [...states].map(([state, value]) => ({ labels: { state }, value })),
    ),
    gauge(
      "child_runs",
      "Current runs of a child process.",
      children.map(({ pid, running }) => ({ labels: { pid: String(pid) }, value: running })),
    ),
    gauge(
      "child_resident_memory_bytes",
      "Resident memory of a child process.",
      children.flatMap(({ pid, memory }) =>
        memory === null ? [] : [{ labels: { pid: String(pid) }, value: memory }],
      ),
    ),
  ];
}
