/** One scheduler as the benchmarks see it, opened in a process of its own. */
export interface System {
  /** Creates tables, queues and the like. */
  install(): Promise<void>;
  /** Adds runs in bulk, in the largest groups that the scheduler recommends. */
  fill(count: number): Promise<void>;
  dispatch(payload: Payload): PromiseLike<unknown>;
  /** Starts a worker that calls `handle` at the start of each run. */
  work(handle: (payload: Payload) => void): Promise<void>;
}

export type OpenSystem = (url: string, options: Settings) => Promise<System>;

export type Settings = Record<string, unknown>;

export interface Payload {
  text: string;
  /** When it was dispatched, by the machine's monotonic clock, in nanoseconds. */
  at?: string;
}

/** About 100 bytes of JSON. */
export const payload: Payload = { text: "x".repeat(88) };

/** Splits `count` into groups of at most `size`. */
export async function inGroups(
  count: number,
  size: number,
  add: (payloads: Payload[]) => Promise<unknown>,
): Promise<void> {
  for (let left = count; left > 0; left -= size) {
    await add(Array.from({ length: Math.min(left, size) }, () => payload));
  }
}
