import { formatValue, isThenable, PunctualError } from "../errors.ts";
import { laneOf } from "../run/lanes.ts";
import { checkName } from "../validate/names.ts";
import type { Settings } from "./settings.ts";

/**
 * Returns the lane of a run. Without a function for the key, the key stays uncomputed, and `decodeArgs` is not called:
 * most dispatches need no copy of their arguments.
 */
export function laneFor(job: string, settings: Settings, decodeArgs: () => unknown): string {
  return settings.keyOf ? computedLane(job, settings, decodeArgs()) : job;
}

/** Returns the lane of a run with these arguments in the process that defines the job: no function means no key. */
export function computedLane(job: string, settings: Settings, args: unknown): string {
  let key: unknown;
  try {
    key = settings.keyOf?.((args ?? {}) as never);
  } catch (cause) {
    const thrown = cause instanceof Error ? String(cause) : formatValue(cause);
    const message = `The key of job "${job}" could not be computed: by of concurrency() threw ${thrown}. Expected a text or a whole number, or null for no key.`;
    throw new PunctualError("INVALID_OPTION", message, { cause });
  }
  if (key === null || key === undefined) return laneOf(job, null);
  // Ids of tenants and accounts are often numbers.
  const text = Number.isSafeInteger(key) || typeof key === "bigint" ? String(key) : key;
  if (typeof text === "string") return laneOf(job, checkName(text, `the key of "${job}"`));
  // An async function is a mistake here. Its rejection must not end the process.
  if (isThenable(key)) Promise.resolve(key).catch(() => {});
  throw new PunctualError(
    "INVALID_NAME",
    `Expected by of concurrency() to return the key of "${job}" as a text or a whole number, or null for no key, got ${formatValue(key)}.`,
  );
}
