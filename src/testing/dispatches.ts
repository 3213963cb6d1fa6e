import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import type { Punctual } from "../punctual.ts";
import type { RunInfo } from "../run/info.ts";
import type { JsonValue } from "../run/payload.ts";
import { yieldToEventLoop } from "../time.ts";

/** A recorded dispatch. */
export interface DispatchRecord {
  id: number;
  name: string;
  queue: string;
  /** False: another run held the unique key, and no run was inserted. */
  inserted: boolean;
  args: JsonValue | undefined;
}

/** The dispatches recorded by `recordDispatches()`. */
export interface Dispatches {
  /** Returns all recorded dispatches, or those of one job. */
  all(name?: string): Promise<DispatchRecord[]>;
  /** Throws unless the job was dispatched; with `args`, unless one of its dispatches has exactly these arguments. */
  assertDispatched(name: string, args?: unknown): Promise<void>;
  /** Throws if the job (without a name: any job) was dispatched. */
  assertNotDispatched(name?: string): Promise<void>;
  assertCount(name: string, count: number): Promise<void>;
  stop(): void;
}

/** Records the dispatches of an instance from now on, for assertions. Works with any test runner. */
export function recordDispatches(jobs: Punctual): Dispatches {
  const seen: (Omit<DispatchRecord, "args"> & { found: Promise<RunInfo | null> })[] = [];
  // Read at once, because a run that is not kept is deleted when it finishes.
  const stop = jobs.on("run.dispatched", (event) => seen.push({ ...event, found: jobs.find(event.id) }));
  const all = async (name?: string): Promise<DispatchRecord[]> => {
    // A dispatch that is not awaited is sent at the end of the turn; a read is answered after it.
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
      if (found.length === 0) fail(`Expected "${name}" to be dispatched; dispatched: ${names}.`, names, name);
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
