import type { RunState } from "../run/states.ts";
import type { RunRecord } from "./records.ts";

/** Compares a text column byte by byte: with a text, or with the pieces between `*` wildcards. */
export type TextMatch = { is: string } | { like: string[] };

export interface NumberMatch {
  op: "=" | "<" | "<=" | ">" | ">=";
  value: number;
}

/** Fields that are compared as text and may be null. */
export type TextField =
  | "job"
  | "queue"
  | "key"
  | "batch"
  | "worker"
  | "error"
  | "errortype"
  | "fingerprint"
  | "tag";

/** Fields that are compared as numbers. `took` and `waited` are milliseconds; for a running run until now. */
export type NumberField = "id" | "parent" | "rerun" | "attempt" | "took" | "waited";

/** Conditions of a run beside its state. */
export type RunAspect = "due" | "late" | "retrying" | "cancelling";

/**
 * One condition of a search: any of the values matches, or with `not` none does. A null field matches nothing, so `not`
 * holds for it.
 *
 * `like` has the pieces between wildcards: `["send-", ""]` is `send-*`. The error of an unfinished run is the one of
 * its last attempt; only a finished run has a fingerprint. A worker matches by id, host or `host:pid`; a schedule by id
 * or job.
 *
 * `redacted`: a value of the payload or an error in which a URL may contain a secret matches nothing. Otherwise someone
 * who sees such texts without their secrets could guess these letter by letter.
 */
export type RunCondition = { not?: boolean; redacted?: boolean } & (
  | { field: "state"; any: RunState[] }
  | { field: "aspect"; any: RunAspect[] }
  | { field: TextField; any: TextMatch[] }
  | { field: NumberField; any: NumberMatch[] }
  | { field: "schedule"; any: (TextMatch | { id: number })[] }
  /** A value within the arguments as JSON writes it, a string without its quotes. Arrays and objects match nothing. */
  | { field: "payload"; path: string[]; any: TextMatch[] }
  /**
   * `at`: when the run finished, or was dispatched if it has not. `finished`: the same, but holds for every unfinished
   * run.
   */
  | { field: "at" | "finished"; from?: number; to?: number }
  /** Pieces within the job's name or the error's message, or the id. */
  | { field: "text"; pieces: string[] }
);

/** A waiting run is late once it has been due for longer than this. */
export const LATE_AFTER = 5000;

export interface RunSearch {
  /** All conditions must hold. */
  where: RunCondition[];
  /** Only runs with a smaller id: `next` of the previous page. */
  before?: number;
  limit: number;
}

/** Newest first. */
export interface RunPage {
  runs: RunRecord[];
  /** `before` of the next page; null: this is the last. A page may be short or empty and not be the last. */
  next: number | null;
}

/** The number of runs that a search finds. */
export interface RunCount {
  count: number;
  /** Whether there may be more: counting stopped at `cap`, or after reading a bounded number of rows. */
  capped: boolean;
}
