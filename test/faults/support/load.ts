import type { Punctual } from "../../../src/index.ts";
import type { Act } from "./server-worker.ts";

export interface Load {
  /** Ids of the accepted runs. */
  accepted: number[];
  /** Rejects if a dispatch was rejected. */
  stop(): Promise<void>;
}

/** Dispatches one run after the other until it is stopped. Every dispatch must be accepted. */
export function keepDispatching(jobs: Punctual): Load {
  const job = jobs.schedule<Act>("work", () => {}).concurrency(0);
  const accepted: number[] = [];
  let stopped = false;
  const done = (async () => {
    while (!stopped) accepted.push((await job.dispatch({})).id);
  })();
  // Reported by stop().
  done.catch(() => {});
  return {
    accepted,
    stop: async () => {
      stopped = true;
      await done;
    },
  };
}
