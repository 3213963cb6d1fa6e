import { isPlainQueue } from "../validate/queue-list.ts";
import type { SilentReport } from "./report.ts";

/** Quotes a text for a shell, if needed. */
export function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Quotes a name for a query, if needed. */
export function queryQuote(name: string): string {
  return /^[\w.:@/-]+$/.test(name) ? name : `"${name.replace(/["\\]/g, "\\$&")}"`;
}

/** Returns the command that lists the runs of a query. */
export function listCommand(query: string): string {
  return `punctual list --where ${shellQuote(query)}`;
}

/** Returns the command that shows the runs of a silent worker, also those that it has claimed and not started. */
export function heldCommand({ id, trace, runs, last }: SilentReport): string {
  if (runs === 1) return `punctual show ${last.id}`;
  const worker = trace ? `${trace.host}:${trace.pid}` : id;
  return listCommand(`worker:${queryQuote(worker)} state:ready,running`);
}

/**
 * Returns the command that serves a queue. For a name that `--queues` cannot express, the command that serves all
 * queues.
 */
export function workCommand(queue: string): string {
  return isPlainQueue(queue) ? `punctual work --queues ${shellQuote(queue)}` : "punctual work";
}

/** Returns the command that deletes a job that is no longer in the code, with its schedules and waiting runs. */
export function pruneJobCommand(name: string): string {
  return `punctual prune --job ${shellQuote(name)}`;
}
