import type { ClaimRequest } from "../store/store.ts";
import type { Buffer } from "./buffer.ts";
import type { Executor } from "./executor.ts";
import type { WorkerOptions } from "./options.ts";
import type { Pace } from "./pace.ts";

export type Room = Pick<ClaimRequest, "limit" | "start" | "limited" | "crashed">;

export const NO_ROOM: Room = { limit: 0, start: 0, limited: 0, crashed: 0 };

/** How many runs there is room for, how many of them would start at once, and how many at once or next. */
export function roomFor(
  { places, free }: Executor,
  { buffer, claimed, crashed }: { buffer: Buffer; claimed: number; crashed: number },
  { batch, budget }: WorkerOptions,
  pace: Pace,
  now: number,
): Room {
  if (places === 0) return NO_ROOM;
  const open = free - buffer.size;
  const room = open + pace.ahead(now);
  const limit = Math.min(room, (budget ?? Number.POSITIVE_INFINITY) - claimed, batch ?? room);
  const start = Math.max(0, Math.min(limit, open));
  // Runs under no limit that wait here would keep those under one waiting elsewhere, for as long as there are any.
  const { size, limited } = buffer;
  const next = size > limited ? Math.min(limit, places, pace.next(now) - limited) : 0;
  return { limit, start, limited: Math.max(start, next), crashed };
}
