import type { QueueReport } from "../../src/status/report.ts";

/** A queue with nothing in it, but for what is said. */
export function queueReport(name: string, fields: Partial<QueueReport> = {}): QueueReport {
  return {
    name,
    limit: 0,
    paused: false,
    pausedUntil: null,
    pause: null,
    ready: 0,
    scheduled: 0,
    running: 0,
    oldest: null,
    ...fields,
  };
}
