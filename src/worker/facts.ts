import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { memoryUsage } from "node:process";
import type { WorkerActivity, WorkerFacts } from "../store/records.ts";
import { type Clock, yieldToEventLoop } from "../time.ts";

/** Reads the figures that a heartbeat carries. Costs one turn of the event loop. */
export class FactsReader {
  readonly #clock: Clock;
  readonly #version: string;
  readonly #children: () => WorkerFacts["children"];
  #before: EventLoopUtilization = performance.eventLoopUtilization();

  constructor(clock: Clock, version: string, children: () => WorkerFacts["children"]) {
    this.#clock = clock;
    this.#version = version;
    this.#children = children;
  }

  /** `process`: the mark of the process, if others may go by it. */
  async read(process: string | null, activity: WorkerActivity): Promise<WorkerFacts> {
    const since = this.#clock.monotonic();
    await yieldToEventLoop();
    const lag = this.#clock.monotonic() - since;
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#before);
    this.#before = now;
    return {
      process,
      coversJobs: true,
      activity,
      version: this.#version,
      memory: memoryUsage.rss(),
      load: Math.round(utilization * 1000) / 1000,
      lag: Math.round(lag * 10) / 10,
      children: this.#children(),
    };
  }
}
