import type { EventName, Events } from "../events/events.ts";
import { OUTCOMES } from "../store/rollups.ts";
import { Counter, HistogramMetric } from "./instruments.ts";
import type { Family } from "./prometheus.ts";

/** The events of an instance. */
export interface InstanceEvents {
  on<Name extends EventName>(name: Name, listener: (event: Events[Name]) => void): () => void;
}

/** Metrics of this process, counted from the events of an instance. */
export class EventMetrics {
  readonly #families: (Counter | HistogramMetric)[];
  readonly #offs: (() => void)[];

  constructor(events: InstanceEvents, cap: number) {
    const counter = (name: string, help: string) => new Counter(`punctual_${name}`, help, cap);
    const dispatched = counter("dispatched_total", "Runs dispatched by this process.");
    const attempts = counter("attempts_total", "Attempts that ended in this process, by outcome.");
    const retries = counter("retries_total", "Failed attempts that will be retried.");
    const expired = counter(
      "leases_expired_total",
      "Expired leases of other workers whose runs this process reaped.",
    );
    const lost = counter("leases_lost_total", "Runs whose lease this process lost before it settled them.");
    const ticks = counter("ticks_total", "Ticks of schedules that this process turned into runs.");
    const batches = counter(
      "batches_finished_total",
      "Batches that this process finished, by what became of their members.",
    );
    const errors = counter("errors_total", "Errors of this process that no caller awaited.");
    const duration = new HistogramMetric("punctual_run_duration_seconds", "Duration of attempts.", cap);
    const wait = new HistogramMetric(
      "punctual_run_wait_seconds",
      "Time from when a run was due to its claim.",
      cap,
    );
    this.#families = [dispatched, attempts, retries, duration, wait, expired, lost, ticks, batches, errors];
    // Exported from the start, because Prometheus cannot compute a rate across the first appearance of a series.
    errors.add({}, 0);
    this.#offs = [
      events.on("run.dispatched", ({ name: job, queue, inserted }) => {
        if (inserted) dispatched.add({ job, queue });
      }),
      events.on("run.started", ({ queue, waited }) => wait.observe({ queue }, waited / 1000)),
      ...OUTCOMES.map((outcome) =>
        events.on(`run.${outcome}`, ({ name: job, queue, duration: took }) => {
          attempts.add({ job, queue, outcome });
          if (outcome === "retried") retries.add({ job, queue });
          // A released attempt did not start its handler, or was stopped midway: its duration means nothing.
          if (outcome !== "released") duration.observe({ job }, took / 1000);
        }),
      ),
      events.on("run.reaped", ({ name: job }) => expired.add({ job })),
      events.on("run.lost", ({ name: job }) => lost.add({ job })),
      events.on("schedule.ticked", ({ job, runs: made }) => ticks.add({ job }, made.length)),
      events.on("batch.finished", ({ failed, cancelled }) =>
        batches.add({ result: failed > 0 ? "failed" : cancelled > 0 ? "cancelled" : "completed" }),
      ),
      events.on("error", () => errors.add({})),
    ];
  }

  families(): Family[] {
    return this.#families.map((instrument) => instrument.family());
  }

  stop(): void {
    for (const off of this.#offs) off();
  }
}
