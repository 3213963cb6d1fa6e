import { isPlainQueue } from "../validate/queue-list.ts";

/** As a shell takes it. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** As a query takes it. */
export function inQuery(name: string): string {
  return /^[\w.:@/-]+$/.test(name) ? name : `"${name.replace(/["\\]/g, "\\$&")}"`;
}

export function listOf(query: string): string {
  return `punctual list --where ${quoted(query)}`;
}

/** A name that would be read as something else is served where all are. */
export function workOn(queue: string): string {
  return isPlainQueue(queue) ? `punctual work --queues ${quoted(queue)}` : "punctual work";
}

/** Removes a job that is gone from the code, with its schedules and waiting runs. */
export function pruneJob(name: string): string {
  return `punctual prune --job ${quoted(name)}`;
}
