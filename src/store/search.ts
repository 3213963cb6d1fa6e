import type { RunState } from "../run/states.ts";
import type { RunRecord } from "./records.ts";

/** Text that a column is compared with, by its bytes. */
export type TextMatch = { is: string } | { like: string[] };

export interface NumberMatch {
  op: "=" | "<" | "<=" | ">" | ">=";
  value: number;
}

/** Columns that are compared as text, and may be null. */
export type TextField = "job" | "queue" | "key" | "batch" | "worker" | "error" | "errortype" | "tag";

/** `attempt` counts; `took` and `waited` are milliseconds, of a try that runs up to now. */
export type NumberField = "id" | "parent" | "attempt" | "took" | "waited";

/** What a run may be beside its state. */
export type RunAspect = "late" | "retrying" | "cancelling";

/**
 * One thing that is asked of a run: that any of the values given is so, or with `not` that none is.
 *
 * `like` are the pieces between stars, each of which stands for anything: `["send-", ""]` is `send-*`. The error of a
 * run that is not finished is that of its last try. A worker goes by its id, its host or `host:pid`; a schedule by its
 * id or its job.
 */
export type RunCondition = { not?: boolean } & (
  | { field: "state"; any: RunState[] }
  | { field: "being"; any: RunAspect[] }
  | { field: TextField; any: TextMatch[] }
  | { field: NumberField; any: NumberMatch[] }
  | { field: "schedule"; any: (TextMatch | { id: number })[] }
  /** A value within the arguments, as JSON writes it; texts without their quotes. Lists and objects have none. */
  | { field: "payload"; path: string[]; any: TextMatch[] }
  /** When it finished, else when it was asked for; `finished` says nothing about runs that are not. UTC milliseconds. */
  | { field: "at" | "finished"; from?: number; to?: number }
  /** Part of the job's name or of the error's message, or the id. */
  | { field: "text"; pieces: string[] }
);

/** A run is late when it has been due for longer than this and has not begun. */
export const LATE_AFTER = 5000;

export interface RunSearch {
  /** All of them hold. */
  where: RunCondition[];
  /** Only runs with a smaller id: `next` of the page before. */
  before?: number;
  limit: number;
}

/** Newest first. */
export interface RunPage {
  runs: RunRecord[];
  /**
   * Where to go on; null: nothing is left. A page may be short, or empty, and not the last: one search reads a bounded
   * number of rows.
   */
  next: number | null;
}

/** How many runs a search finds. */
export interface RunCount {
  count: number;
  /** There are more: counting stopped at the bound, or at the number of rows that one count reads. */
  capped: boolean;
}
