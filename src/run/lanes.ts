/**
 * Returns the lane of a run: the runs of one job with one key, which share a limit. `name|key`, or `name|` without a
 * key. While the key is not computed, the lane is the bare `name`.
 */
export function laneOf(name: string, key: string | null): string {
  return `${name}|${key ?? ""}`;
}

/** Returns the key of a lane; null: the run has none, or it is not computed yet. */
export function keyIn(lane: string, name: string): string | null {
  return lane.slice(name.length + 1) || null;
}

/** Whether the key of the run has been computed. */
export function isKeyed(lane: string, name: string): boolean {
  return lane !== name;
}

/** The last character of Unicode: sorts behind every key that does not begin with it. */
export const LAST = "\u{10FFFF}";
