import { randomText } from "../random.ts";
import { monotonicOf } from "../schedule/ticker.ts";
import type { ClaimRequest } from "../store/store.ts";
import { DEFAULT_LEASE } from "./known-jobs.ts";
import type { WorkerOptions } from "./options.ts";
import type { WorkerParts } from "./parts.ts";
import type { Room } from "./room.ts";
import { untilAnswered } from "./waits.ts";

/** A claim for this room. Asks the database for the jobs of others, if they are not known. */
export async function claimRequest(
  parts: WorkerParts,
  { queues, exceptQueues }: WorkerOptions,
  stride: ClaimRequest["stride"],
  room: Room,
): Promise<ClaimRequest> {
  const { known, registry, id: owner } = parts;
  const exclude = await untilAnswered(() => known.elsewhere(), "asking for jobs", parts);
  const leases = known.unusualLeases();
  const lease = DEFAULT_LEASE;
  const computesKey = (name: string) => (registry.definition(name)?.settings.perKey ?? 0) > 0;
  return {
    token: randomText(),
    ...room,
    queues,
    exceptQueues,
    stride,
    exclude,
    computesKey,
    owner,
    lease,
    leases,
  };
}

/** When the next run is due, on the monotonic clock. */
export function nextDueOf(nextDue: number | null, parts: WorkerParts): Promise<number | null> {
  return untilAnswered(() => monotonicOf(nextDue, parts), "asking for the time", parts);
}

const TICKING = "ticking schedules";

/** How many runs it made. A fault here must not keep the runs that are there from starting. */
export async function tickSlice(
  ticker: NonNullable<WorkerParts["ticker"]>,
  { events, deadline }: WorkerParts,
): Promise<number> {
  try {
    const made = await ticker.tick();
    events.succeeded(TICKING);
    return made;
  } catch (error) {
    if (!deadline.isOver) events.failed(error, TICKING);
    return 0;
  }
}
