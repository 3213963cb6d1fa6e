import { randomText } from "../random.ts";
import type { ClaimRequest } from "../store/store.ts";
import type { Buffer } from "./buffer.ts";
import type { Executor } from "./executor.ts";
import { DEFAULT_LEASE } from "./known-jobs.ts";
import type { WorkerOptions } from "./options.ts";
import { MOST_PREFETCHED, type Pace } from "./pace.ts";
import type { WorkerParts } from "./parts.ts";
import { untilAnswered } from "./waits.ts";

/** How many runs a claim may bring. */
export type Room = Pick<ClaimRequest, "limit" | "start" | "limited" | "crashed">;

export const NO_ROOM: Room = { limit: 0, start: 0, limited: 0, crashed: 0 };

export interface RoomParts {
  executor: Executor;
  options: WorkerOptions;
  buffer: Buffer;
  pace: Pace;
  /** Number of runs that this worker has claimed so far. */
  claimed: number;
  /** Number of runs that claims under way may bring. */
  asked: number;
  /** Number of crashed runs that the claim may bring. */
  crashed: number;
}

/**
 * Returns how many runs the worker has room for, how many of them start at once, and how many limited ones it may
 * take.
 */
export function roomFor(parts: RoomParts, now: number): Room {
  const { executor, options, buffer, pace, claimed, asked, crashed } = parts;
  const { slots, free } = executor;
  if (slots === 0) return NO_ROOM;
  const { batch, budget } = options;
  const open = free - buffer.size - asked;
  const room = Math.min(open + pace.prefetch(now), Math.max(0, open) + MOST_PREFETCHED);
  const limit = Math.min(room, (budget ?? Number.POSITIVE_INFINITY) - claimed - asked, batch ?? room);
  const start = Math.max(0, Math.min(limit, open));
  // Unlimited runs that are buffered or asked for would starve limited ones. While there are some, the claim may take
  // limited runs too, as many as count as "next".
  const { size, limited } = buffer;
  const next = size + asked > limited ? Math.min(limit, slots, pace.next(now) - limited) : 0;
  return { limit, start, limited: Math.max(start, next), crashed };
}

/** Returns a claim for this room. Asks the database for the jobs of other processes if they are not known. */
export async function claimRequest(
  parts: WorkerParts,
  { queues, exceptQueues }: WorkerOptions,
  stride: ClaimRequest["stride"],
  room: Room & Pick<ClaimRequest, "behind" | "window" | "immediate" | "rotation">,
): Promise<ClaimRequest> {
  const { known, registry, id: owner } = parts;
  const exclude = await untilAnswered(() => known.elsewhere(), "reading the names of jobs", parts);
  return {
    token: randomText(),
    ...room,
    queues,
    exceptQueues,
    stride,
    exclude,
    computesKey(name) {
      const settings = registry.definition(name)?.settings;
      return settings !== undefined && (settings.perKey > 0 || (settings.rates?.key ?? null) !== null);
    },
    computesCost(name) {
      return registry.definition(name)?.settings.rates?.under?.hasCost ?? false;
    },
    owner,
    lease: DEFAULT_LEASE,
    leases: known.unusualLeases(),
  };
}
