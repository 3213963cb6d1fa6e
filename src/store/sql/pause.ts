import type { Pause, PauseNote } from "../records.ts";
import type { Param } from "./database.ts";

export interface PausedRow {
  paused_at: number | null;
  paused_by: string | null;
  paused_reason: string | null;
}

export const PAUSE_COLUMNS: string[] = ["paused_at", "paused_by", "paused_reason"];

/** What an `update` sets, with the values of `pauseValues`. */
export const PAUSE: string = PAUSE_COLUMNS.map((column) => `${column} = ?`).join(", ");

export function pauseValues(paused: boolean, now: number, note?: PauseNote): Param[] {
  return paused ? [now, note?.by ?? null, note?.reason ?? null] : [null, null, null];
}

export function toPause({ paused_at, paused_by, paused_reason }: PausedRow): Pause | null {
  return paused_at === null ? null : { since: paused_at, by: paused_by, reason: paused_reason };
}
