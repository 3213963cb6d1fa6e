import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import type { Punctual } from "../punctual.ts";
import type { RunInfo } from "../run/info.ts";
import type { JsonValue } from "../run/payload.ts";
import { yieldToEventLoop } from "../time.ts";

export interface DispatchRecord {
  id: number;
  name: string;
  queue: string;
  /** False: the unique key was held, nothing was inserted. */
  inserted: boolean;
  args: JsonValue | undefined;
}

export interface Dispatches {
  /** Everything dispatched since, or what was dispatched of one job. */
  all(name?: string): Promise<DispatchRecord[]>;
  /** Fails unless the job was dispatched; with `args`, unless one of its runs has exactly these. */
  assertDispatched(name: string, args?: unknown): Promise<void>;
  /** Fails if the job, or with no name any job, was dispatched. */
  assertNotDispatched(name?: string): Promise<void>;
  assertCount(name: string, count: number): Promise<void>;
  stop(): void;
}

/** Records what an instance dispatches from now on, for assertions. Works with any test runner. */
export function recordDispatches(jobs: Punctual): Dispatches {
  const seen: (Omit<DispatchRecord, "args"> & { found: Promise<RunInfo | null> })[] = [];
  // Looked up at once: a run that is not kept is gone as soon as it is done.
  const stop = jobs.on("run.dispatched", (event) => seen.push({ ...event, found: jobs.find(event.id) }));
  const all = async (name?: string): Promise<DispatchRecord[]> => {
    // What nobody awaited leaves at the end of the turn; a look at the database comes after it.
    await yieldToEventLoop();
    await jobs.find(1);
    const wanted = seen.filter((one) => name === undefined || one.name === name);
    return Promise.all(wanted.map(async ({ found, ...one }) => ({ ...one, args: (await found)?.args })));
  };
  const fail = (message: string, actual: unknown, expected: unknown): never => {
    throw new AssertionError({ message, actual, expected, stackStartFn: recordDispatches });
  };
  return {
    all,
    stop,
    async assertDispatched(name, args) {
      const found = await all(name);
      const names = [...new Set(seen.map((one) => one.name))].join(", ") || "nothing";
      if (found.length === 0) fail(`Expected "${name}" to be dispatched; what was: ${names}.`, names, name);
      const given = found.map((one) => one.args);
      if (args !== undefined && !given.some((one) => isDeepStrictEqual(one, args))) {
        fail(`"${name}" was dispatched, but never with these arguments.`, given, args);
      }
    },
    async assertNotDispatched(name) {
      const found = await all(name);
      if (found.length > 0)
        fail(`Expected ${name ? `"${name}"` : "nothing"} not to be dispatched.`, found, []);
    },
    async assertCount(name, count) {
      const found = (await all(name)).length;
      if (found !== count)
        fail(`Expected "${name}" to be dispatched ${count} times, it was ${found} times.`, found, count);
    },
  };
}
