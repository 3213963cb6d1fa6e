/**
 * A run queues in its lane under limits: `name` while its key is not computed, `name|` if it has none, `name|key` if it
 * has one.
 */
export function laneOf(name: string, key: string | null): string {
  return `${name}|${key ?? ""}`;
}

/** Null: the run has no key, or none yet. */
export function keyIn(lane: string, name: string): string | null {
  return lane.slice(name.length + 1) || null;
}

/** Whether it is known which key the run has. */
export function isKeyed(lane: string, name: string): boolean {
  return lane !== name;
}

/** No key is behind this one in the order of the databases, except those that begin with it. */
export const LAST = "\u{10FFFF}";
