import type { EventName, Events } from "../events/events.ts";
import { Counter, Histogram } from "./figures.ts";
import type { Family } from "./prometheus.ts";

export interface Heard {
  on<Name extends EventName>(name: Name, listener: (event: Events[Name]) => void): () => void;
}

const OUTCOMES = ["completed", "retried", "failed", "skipped", "cancelled", "snoozed", "released"] as const;

/** What this process did, counted from its events since it began to listen. */
export class Metrics {
  readonly #families: (Counter | Histogram)[];
  readonly #offs: (() => void)[];

  constructor(heard: Heard, cap: number) {
    const counter = (name: string, help: string) => new Counter(`punctual_${name}`, help, cap);
    const dispatched = counter("dispatched_total", "Runs that this process dispatched.");
    const runs = counter("runs_total", "Attempts that ended in this process, by outcome.");
    const retries = counter("retries_total", "Attempts that failed and will be tried again.");
    const expired = counter(
      "leases_expired_total",
      "Leases that ended without their worker, taken back here.",
    );
    const lost = counter("leases_lost_total", "Runs whose lease this process lost before it settled them.");
    const ticks = counter("ticks_total", "Ticks of schedules that this process turned into runs.");
    const errors = counter("errors_total", "Faults of this process that nobody awaited.");
    const duration = new Histogram("punctual_run_duration_seconds", "How long attempts took.", cap);
    const wait = new Histogram("punctual_run_wait_seconds", "From when a run was due to its claim.", cap);
    this.#families = [dispatched, runs, retries, duration, wait, expired, lost, ticks, errors];
    // Seen before the first fault, so that a rate can be made of it.
    errors.add({}, 0);
    this.#offs = [
      heard.on("run.dispatched", ({ name: job, queue, inserted }) => {
        if (inserted) dispatched.add({ job, queue });
      }),
      heard.on("run.started", ({ queue, waited }) => wait.observe({ queue }, waited / 1000)),
      ...OUTCOMES.map((outcome) =>
        heard.on(`run.${outcome}`, ({ name: job, queue, duration: took }) => {
          runs.add({ job, queue, outcome });
          if (outcome === "retried") retries.add({ job, queue });
          // Nothing of it ran, or it was stopped in the middle.
          if (outcome !== "released") duration.observe({ job }, took / 1000);
        }),
      ),
      heard.on("run.reaped", ({ name: job }) => expired.add({ job })),
      heard.on("run.lost", ({ name: job }) => lost.add({ job })),
      heard.on("schedule.ticked", ({ job, runs: made }) => ticks.add({ job }, made.length)),
      heard.on("error", () => errors.add({})),
    ];
  }

  families(): Family[] {
    return this.#families.map((one) => one.family());
  }

  stop(): void {
    for (const off of this.#offs) off();
  }
}
