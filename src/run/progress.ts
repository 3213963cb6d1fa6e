import { formatValue, PunctualError } from "../errors.ts";
import type { JsonValue } from "./payload.ts";

/** Progress as `run.progress(done, of)` stores it. */
export interface Progress {
  done: number;
  of: number;
}

/** Returns the progress to store: the value itself, or with `of` both as a `Progress`. */
export function toProgress(value: JsonValue, of: number | undefined): JsonValue {
  if (of === undefined) return value;
  if (typeof value === "number" && Number.isFinite(value) && Number.isFinite(of) && of >= 0)
    return { done: value, of };
  throw new PunctualError(
    "INVALID_OPTION",
    `progress() expected two numbers, how much is done of how much, got ${formatValue(value)} and ${formatValue(of)}.`,
  );
}

/** Returns stored progress as numbers, for a bar; null: it is something else. */
export function readProgress(value: unknown): Progress | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const { done, of } = value as Partial<Progress>;
  return typeof done === "number" && typeof of === "number" ? { done, of } : null;
}
