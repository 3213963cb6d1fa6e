import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as Package from "../../src/index.ts";
import { type Payload, payload, type Settings, type System } from "./system.ts";

export interface PunctualSettings {
  /** The folder of the built package. */
  built: string;
  /** The job's `concurrency()`; 0 is no limit. */
  limit?: number;
  /** `keep(0)` instead of the default retention. */
  forget?: boolean;
  /** A handler that returns a promise. */
  async?: boolean;
}

export async function open(url: string, settings: Settings): Promise<System> {
  const { built, limit = 0, forget = false, async = true } = settings as unknown as PunctualSettings;
  const { Punctual } = (await import(pathToFileURL(join(built, "index.js")).href)) as typeof Package;
  const jobs = new Punctual(url, { logger: false });
  let handle: (payload: Payload) => void = () => {};
  const handler = async ? async (payload: Payload) => handle(payload) : (payload: Payload) => handle(payload);
  const job = jobs.schedule("bench", handler).concurrency(limit);
  if (forget) job.keep(0);
  return {
    install: async () => void (await jobs.install()),
    async fill(count) {
      await job.dispatchMany(Array.from({ length: count }, () => payload));
    },
    dispatch: (payload) => job.dispatch(payload),
    async work(each) {
      handle = each;
      void jobs.forever({ signals: false });
    },
  };
}
