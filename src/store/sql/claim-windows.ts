import { compareInRotation, laneKey, type RotationPosition } from "../../run/rotation.ts";
import { type ClaimRequest, hasCrashed } from "../store.ts";
import { type ClaimOrder, compareRuns, type OrderKey, type RunRow } from "./claim.ts";
import type { Statement } from "./database.ts";

/** Runs after which the counts of `WindowSizes` are halved: a few claims, so that sizes follow a change at once. */
const REMEMBERED = 1024;

/**
 * Lanes of a queue in which one claim looks for runs without the limit hint at most. Beyond them the claim reads the
 * queue in order and skips the runs of closed jobs one by one.
 */
export const MOST_OPEN_LANES = 64;

/** The first ready runs without the limit hint that a claim has read of a queue, or of one lane of it. */
export interface ClaimWindow<Row extends RunRow = RunRow> {
  queue: string;
  rows: Row[];
  /** Number of runs that were asked for. If fewer were found, they are all. */
  size: number;
  /** The lane that the window is of; absent or null: it is of the whole queue. */
  lane?: { priority: number; lane: string } | null;
  /** Runs to read first, of a lane in a fair queue; absent: the queue is not fair. */
  first?: number;
}

/** Whether runs may follow behind the window. */
export function hasMore({ rows, size }: ClaimWindow): boolean {
  return rows.length === size;
}

/**
 * How many runs a claim reads of each queue first. A claim takes `limit` runs from all queues together, so with
 * hundreds of queues it reads only about as many of each as recent claims took of it (note 55).
 */
export class WindowSizes {
  readonly #taken = new Map<string, number>();
  #total = 0;

  /** Returns the size for a queue that is read in one of `places` places. */
  first(queue: string, places: number, limit: number): number {
    if (places === 1) return limit;
    const expected = (limit * ((this.#taken.get(queue) ?? 0) + 1)) / (this.#total + places);
    // One standard deviation above the mean of a Poisson distribution. Each run that is read in vain costs a tenth of a
    // run that is taken; a second read of the few queues that have more costs one round trip.
    return Math.min(limit, Math.ceil(expected + Math.sqrt(expected)));
  }

  /** Records the runs that a claim took. */
  took(rows: RunRow[]): void {
    this.#total += rows.length;
    for (const { queue } of rows) this.#taken.set(queue, (this.#taken.get(queue) ?? 0) + 1);
    if (this.#total <= REMEMBERED) return;
    this.#total = 0;
    for (const [queue, taken] of this.#taken) {
      const half = Math.floor(taken / 2);
      if (half === 0) this.#taken.delete(queue);
      else this.#taken.set(queue, half);
      this.#total += half;
    }
  }
}

/** Returns how many runs to read behind a window that must grow. No window grows beyond the limit of the claim. */
export function growth({ size, first }: ClaimWindow, limit: number): number {
  return Math.min(size === 0 && first ? first : 2 * size, limit - size);
}

/**
 * Returns the windows that must grow before the claim can decide: runs behind them may come before runs that the claim
 * would take. `unlimited`: the runs of all windows that the claim may take.
 */
export function windowsToGrow<Window extends ClaimWindow>(
  windows: Window[],
  unlimited: RunRow[],
  order: ClaimOrder,
  request: Pick<ClaimRequest, "limit" | "crashed">,
): Window[] {
  const open = windows.filter((window) => hasMore(window) && window.size < request.limit);
  if (open.length === 0) return open;
  const byAge = [...unlimited].sort(compareRuns);
  /** The last run of each queue that the claim considered. */
  const last = new Map<string, RunRow>();
  const rotation = new ConsideredRuns(order);
  let considered = 0;
  let crashed = 0;
  const picked = order.pick([...byAge], request.limit, (row) => {
    considered++;
    last.set(row.queue, row);
    rotation.add(row);
    return !hasCrashed(row) || ++crashed <= request.crashed;
  });
  if (picked.length < request.limit) return open;
  return open.filter((window) => {
    const { queue, rows } = window;
    if (window.first !== undefined) return rotation.mustGrow(window);
    const nearest = order.hasShares ? last.get(queue) : byAge[considered - 1];
    if (!nearest) return false;
    const distance = compareRuns(rows.at(-1)!, nearest);
    // A queue with a share that has no further run gives its positions to others.
    return order.hasShares ? distance <= 0 : distance < 0;
  });
}

/** The last runs of fair queues that a claim considered. */
class ConsideredRuns {
  readonly #rotation: ClaimOrder["rotation"];
  readonly #seen = new Map<string, number>();
  readonly #last = new Map<string, RotationPosition>();

  constructor({ rotation }: ClaimOrder) {
    this.#rotation = rotation;
  }

  add(row: RunRow): void {
    if (!this.#rotation?.isFair(row.queue)) return;
    const key = laneKey(row);
    const nth = this.#seen.get(key) ?? 0;
    this.#seen.set(key, nth + 1);
    this.#last.set(row.queue, this.#rotation.positionOf(row, nth));
  }

  /** Whether the first run that the window lacks would come before the last one that was considered. */
  mustGrow({ queue, lane, rows }: ClaimWindow): boolean {
    const last = this.#last.get(queue);
    if (!last || !lane || !this.#rotation) return false;
    return compareInRotation(this.#rotation.positionOf({ queue, ...lane }, rows.length), last) < 0;
  }
}

/** The condition of the runs of a queue behind this one. */
export function behind({ priority, run_at, id }: OrderKey): Statement {
  // Not (priority, run_at, id) > (?, ?, ?): MySQL and MariaDB use no index for a comparison of rows.
  return {
    text: " and (priority > ? or (priority = ? and (run_at > ? or (run_at = ? and id > ?))))",
    params: [priority, priority, run_at, run_at, id],
  };
}

/**
 * Returns the lanes in which a claim looks if these jobs are closed to it. `lanes` are the first of the queue, one more
 * than `MOST_OPEN_LANES` if it has that many. Null: the claim reads the queue in order, because no lane is closed or
 * there are too many.
 */
export function openLanes<Lane extends { lane: string }>(lanes: Lane[], closed: Set<string>): Lane[] | null {
  if (lanes.length > MOST_OPEN_LANES) return null;
  // A lane without a bar belongs to one job. Other lanes may be shared: `a|b` is the job "a|b", or "a" with the key
  // "b".
  const open = lanes.filter(({ lane }) => lane.includes("|") || !closed.has(lane));
  return open.length === lanes.length ? null : open;
}
