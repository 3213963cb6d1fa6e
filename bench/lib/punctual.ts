import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as Package from "../../src/index.ts";
import { type Payload, payload, type Settings, type System } from "./system.ts";

export interface PunctualSettings {
  /** The folder of the built package. */
  built: string;
  /** The job's `concurrency()`; 0 is no limit. */
  limit?: number;
  /** Runs that may start in a second; 0 is no rate. */
  rate?: number;
  /** `keep(0)` instead of the default retention. */
  forget?: boolean;
  /** A handler that returns a promise. */
  async?: boolean;
  /** Whether the backlog is one batch. */
  batch?: boolean;
  /** Number of queues that the runs are spread over, in turn. */
  queues?: number;
}

/** Runs that are dispatched in one turn. */
const TURN = 1000;

export async function open(url: string, settings: Settings): Promise<System> {
  const {
    built,
    limit = 0,
    rate = 0,
    forget = false,
    async = true,
    batch = false,
    queues = 1,
  } = settings as unknown as PunctualSettings;
  const { Punctual } = (await import(pathToFileURL(join(built, "index.js")).href)) as typeof Package;
  const jobs = new Punctual(url, { logger: false });
  let handle: (payload: Payload) => void = () => {};
  const handler = async ? async (payload: Payload) => handle(payload) : (payload: Payload) => handle(payload);
  const job = jobs.schedule("bench", handler).concurrency(limit);
  if (rate > 0) job.rate(rate, "1s");
  if (forget) job.keep(0);
  return {
    install: async () => void (await jobs.install()),
    async fill(count) {
      const backlog = Array.from({ length: count }, () => payload);
      if (batch) return void (await jobs.batch("bench").add(job.many(backlog)));
      if (queues === 1) return void (await job.dispatchMany(backlog));
      // All dispatches of one turn are one insert: a run of each queue after the other.
      for (let filled = 0; filled < count; filled += TURN) {
        const turn = Array.from({ length: Math.min(TURN, count - filled) }, (_, index) =>
          job.dispatch(payload).queue(`q${(filled + index) % queues}`),
        );
        await Promise.all(turn);
      }
    },
    dispatch: (payload) => job.dispatch(payload),
    async work(each) {
      handle = each;
      void jobs.forever({ signals: false });
    },
  };
}
