import type { QueueReport } from "../../src/status/report.ts";

/** An empty queue, with the given members replaced. */
export function queueReport(name: string, fields: Partial<QueueReport> = {}): QueueReport {
  return {
    name,
    limit: 0,
    rate: null,
    fair: false,
    patience: null,
    paused: false,
    pausedUntil: null,
    pause: null,
    ready: 0,
    capped: false,
    scheduled: 0,
    due: 0,
    running: 0,
    oldest: null,
    ...fields,
  };
}
