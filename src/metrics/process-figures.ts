import type { Clock } from "../time.ts";
import { version } from "../version.ts";
import { gauge } from "./gauges.ts";
import type { Family } from "./prometheus.ts";

/** A child process of a supervisor, as far as the probe tells of it. */
export interface ChildFigures {
  pid: number;
  /** Such as `starting`, `idle`, `busy`, `stalled`. */
  state: string;
  /** Runs it has now. */
  running: number;
  /** Resident bytes; null: not known yet. */
  memory: number | null;
}

/** Of this process, under the names that every exporter uses, and of its children. */
export function processFigures(clock: Clock, lag: number, children: readonly ChildFigures[]): Family[] {
  const { user, system } = process.cpuUsage();
  const one = (name: string, type: "counter" | "gauge", help: string, value: number): Family => ({
    name,
    type,
    help,
    samples: [{ labels: {}, value }],
  });
  return [
    gauge("build_info", "1; the labels tell what runs here.", [
      { labels: { version: version(), node: process.versions.node }, value: 1 },
    ]),
    one("process_cpu_seconds_total", "counter", "Time on a processor.", (user + system) / 1e6),
    one("process_resident_memory_bytes", "gauge", "Memory in use.", process.memoryUsage.rss()),
    one(
      "process_start_time_seconds",
      "gauge",
      "When the process started.",
      clock.now() / 1000 - process.uptime(),
    ),
    one(
      "punctual_event_loop_lag_seconds",
      "gauge",
      "The longest turn of the event loop of late.",
      lag / 1000,
    ),
    ...ofChildren(children),
  ];
}

function ofChildren(children: readonly ChildFigures[]): Family[] {
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
      "Runs that a child process has now.",
      children.map(({ pid, running }) => ({ labels: { pid: String(pid) }, value: running })),
    ),
    gauge(
      "child_resident_memory_bytes",
      "Memory in use by a child process.",
      children.flatMap(({ pid, memory }) =>
        memory === null ? [] : [{ labels: { pid: String(pid) }, value: memory }],
      ),
    ),
  ];
}
