import type { PauseInfo } from "../../../status/report.ts";
import type { PauseView } from "../contract.ts";

export function iso(at: number | Date): string {
  return (at instanceof Date ? at : new Date(at)).toISOString();
}

export function isoOrNull(at: number | Date | null): string | null {
  return at === null ? null : iso(at);
}

export function toPauseView(
  pause: PauseInfo | null,
  isPaused: boolean,
  until: Date | null,
  now: Date,
): PauseView | null {
  if (!isPaused) return null;
  // A pause that was written before pauses had notes has no time.
  return {
    since: iso(pause?.since ?? now),
    by: pause?.by ?? null,
    reason: pause?.reason ?? null,
    until: isoOrNull(until),
  };
}
