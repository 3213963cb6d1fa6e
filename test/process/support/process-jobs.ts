import type { Definition, Handler, Punctual } from "../../../src/index.ts";

/** Actions of a handler after it has recorded its start. */
export interface Act {
  do:
    | "return"
    | "log"
    /** Never returns. */
    | "log and stay"
    | "fail"
    /** Waits for its signal and throws the reason. */
    | "obey"
    /** Never returns, and ignores its signal. */
    | "ignore"
    | "exit"
    | "abort"
    /** Throws outside of any call that could catch it. */
    | "throw in a timer"
    /** Blocks the event loop until another process has started the same run, and for at least `ms`. */
    | "block"
    | "block and fail"
    /** Opens a transaction that takes `ms` and is rolled back, and continues. */
    | "roll back and return"
    /** Opens a transaction that takes `ms` and is committed. */
    | "commit"
    /** Takes `ms`. */
    | "pause";
  ms?: number;
  key?: string;
}

export const SINGLE = 1;
export const PAIR = 2;
export const PER_KEY = 1;
export const NARROW = 3;

/** The jobs of the process tests, for the test that dispatches and for the processes that run them. */
export function defineJobs(jobs: Punctual, handler: Handler<Act>): Record<JobName, Definition<Act>> {
  jobs.queue("narrow", { concurrency: NARROW });
  return {
    free: jobs.schedule("free", handler).concurrency(0),
    held: jobs.schedule("held", handler).concurrency(0).retries(3),
    single: jobs.schedule("single", handler).concurrency(SINGLE),
    pair: jobs.schedule("pair", handler).concurrency(PAIR),
    keyed: jobs.schedule("keyed", handler).concurrency(0, { perKey: PER_KEY, by: (act) => act.key }),
    narrow: jobs.schedule("narrow", handler).concurrency(0).queue("narrow"),
  };
}

export type JobName = "free" | "held" | "single" | "pair" | "keyed" | "narrow";
