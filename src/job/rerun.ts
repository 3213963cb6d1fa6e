import type { RunShape } from "../dispatch/dispatch.ts";
import { PunctualError } from "../errors.ts";
import { EncodedArgs } from "../run/payload.ts";
import type { RunRecord } from "../store/records.ts";

/** Options of `rerun()`: at most one of the two. Without both, the stored arguments are copied unchanged. */
export interface RerunOptions {
  /** New arguments. */
  args?: unknown;
  /** New arguments as JSON text, stored as it is: integers beyond 2^53 stay exact. */
  json?: string | undefined;
}

/** Returns the settings of a dispatch that repeats a run. `computesKey`: whether this process can compute its key. */
export function rerunShape(
  run: RunRecord,
  { args, json }: RerunOptions,
  { computesKey, maxPayload }: { computesKey: boolean; maxPayload: number },
): RunShape {
  if (run.owner !== null) {
    throw new PunctualError(
      "HANDLER_GONE",
      `Cannot rerun run ${run.id}: it was a function of one process. Dispatch the function again there.`,
    );
  }
  if (args !== undefined && json !== undefined) {
    throw new PunctualError(
      "INVALID_OPTION",
      "rerun() expected args or json, got both. Leave one of them out.",
    );
  }
  const isEdited = args !== undefined || json !== undefined;
  return {
    args:
      json !== undefined ? EncodedArgs.fromJson(json, maxPayload) : (args ?? EncodedArgs.stored(run.args)),
    queue: run.queue,
    priority: run.priority,
    tags: run.tags,
    rerunOf: run.id,
    // Other arguments may have another key.
    ...(run.key !== null && !(isEdited && computesKey) && { key: run.key }),
    ...(run.timeout !== null && { timeout: run.timeout }),
    ...(run.retries !== null && { retries: run.retries }),
  };
}
