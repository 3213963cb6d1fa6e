import { type Signal, signal } from "@preact/signals";
import { bootstrap } from "../state/bootstrap.ts";

/** How far the database's clock is ahead of the browser's, in milliseconds. */
export const skew: Signal<number> = signal(bootstrap?.meta ? Date.parse(bootstrap.meta.now) - Date.now() : 0);

/** Smaller differences come from the network, and would make relative times jump. */
const NOISE = 1_500;

/** Learns the difference of the clocks from a response to a request of now. */
export function setClock(serverNow: string): void {
  const measured = Date.parse(serverNow) - Date.now();
  if (Math.abs(measured - skew.value) > NOISE) skew.value = measured;
}

/**
 * Learns the difference of the clocks from an event. A stream repeats its last overview to a page that connects, so
 * that the time in it may be minutes old: it can show only that the database's clock is further ahead than assumed.
 */
export function syncClock(serverNow: string): void {
  const measured = Date.parse(serverNow) - Date.now();
  if (measured - skew.value > NOISE) skew.value = measured;
}

/** The database's time, in milliseconds. */
export function serverNow(): number {
  return Date.now() + skew.value;
}

/** The database's time, which moves on once a second while the page is visible. */
export const now: Signal<number> = signal(serverNow());

setInterval(() => {
  if (!document.hidden) now.value = serverNow();
}, 1_000);
