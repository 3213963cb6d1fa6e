import type { NewRun } from "../store.ts";
import type { ColumnType } from "./database.ts";
import { UNTIL_FINISHED, UNTIL_STARTED } from "./unique.ts";

/** What a new run's row has, but for its id. */
export const NEW_RUN: Record<string, ColumnType> = {
  name: "text",
  queue: "text",
  lane: "text",
  limited: "integer",
  priority: "integer",
  run_at: "integer",
  state: "integer",
  args: "text",
  timeout: "integer",
  unique_key: "text",
  unique_scope: "integer",
  unique_until: "integer",
  owner: "text",
  tags: "text",
  parent_id: "integer",
  batch_id: "text",
  expires_at: "integer",
  traceparent: "text",
  created_at: "integer",
};

export type Value = string | number | null;

/** In the order of `NEW_RUN`. */
export function toValues(run: NewRun, now: number): Value[] {
  const runAt = run.runAt ?? now + run.delay;
  return [
    run.name,
    run.queue,
    run.lane,
    run.limited ? 1 : 0,
    run.priority,
    runAt,
    runAt > now ? 0 : 1,
    run.args,
    run.timeout,
    run.unique?.key ?? null,
    run.unique ? (run.unique.until === "started" ? UNTIL_STARTED : UNTIL_FINISHED) : null,
    run.unique && run.unique.for > 0 ? now + run.unique.for : null,
    run.owner,
    run.tags.length > 0 ? JSON.stringify(run.tags) : null,
    run.parentId,
    run.batchId,
    run.expires === null ? null : now + run.expires,
    run.traceparent,
    now,
  ];
}
