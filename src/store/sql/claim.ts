import type { Rotation } from "../../run/rotation.ts";
import { type ChainLink, chainsOf, laneKey } from "../chains.ts";
import { type ClaimedRun, type ClaimRequest, hasCrashed } from "../store.ts";
import { keyAtStart } from "./new-run.ts";

/** A row of `runs`, with the columns that a claim reads. */
export interface RunRow extends ChainLink {
  id: number;
  name: string;
  queue: string;
  lane: string;
  limited: number;
  priority: number;
  run_at: number;
  args: string | null;
  attempts: number;
  crashes: number;
  uncounted: number;
  suspect: number;
  timeout: number | null;
  retries: string | null;
  owner: string | null;
  tags: string | null;
  parent_id: number | null;
  batch_id: string | null;
  expires_at: number | null;
  traceparent: string | null;
  schedule: number | null;
  tick_at: number | null;
  created_at: number;
  cancelled_at: number | null;
  logged: number;
  unique_scope: number | null;
  /** Cost of its start under a named limit; absent: the claim has not read it, since the run is under no rate. */
  cost?: number | null;
  /** Whether the run is claimed only for its key, or the cost of its start, to be computed. */
  unkeyed?: boolean;
  /** Names of the rates that the start of the run counts towards; absent: none. */
  rates?: string[];
  /** Whether the claim itself marks the run as started. */
  starts?: boolean;
}

export const RUN_COLUMNS: string =
  "id, name, queue, lane, limited, priority, run_at, args, attempts, crashes, uncounted, suspect, timeout, retries, owner, tags, parent_id, batch_id, expires_at, traceparent, schedule, tick_at, created_at, cancelled_at, logged, unique_scope";

/** Returns `RUN_COLUMNS` qualified with an alias of the table. */
export function runColumnsOf(alias: string): string {
  return RUN_COLUMNS.replaceAll(/\w+/g, `${alias}.$&`);
}

/** SQL expressions for what a claim writes. */
export interface StartingValues {
  token: string;
  worker: string;
  /** End of the lease. */
  until: string;
  started: string;
  /** The database's time; null: no run holds a unique key that ends when it starts. */
  now: string | null;
}

/** Returns the columns of a run (as `r`) that a claim writes; values are in the order of `StartingValues`. */
export function startingValues({
  token,
  worker,
  until,
  started,
  now,
}: StartingValues): Record<string, string> {
  return {
    state: "2",
    attempts: "r.attempts + 1",
    lease_token: token,
    locked_by: worker,
    locked_until: until,
    started_at: started,
    ...(now !== null && keyAtStart(now)),
  };
}

export const CANDIDATE_COLUMNS: string = "id, name, lane, queue, priority, run_at, cost";

/** Due runs that one claim turns from scheduled to ready at most. */
export const PROMOTED = 1000;

/** The lease of a run of this job, in milliseconds. */
export function leaseFor(name: string, { leases, lease }: ClaimRequest): number {
  // A job may be called "constructor", which every object inherits.
  return Object.hasOwn(leases, name) ? leases[name]! : lease;
}

/** Returns the SQL condition that leaves crashed runs out of a claim that may take none. */
export function claimable({ crashed }: Pick<ClaimRequest, "crashed">): string {
  return crashed > 0 ? "" : " and crashes = 0";
}

/**
 * Returns the runs that the claim takes, best first. Only the first `request.limited` of them may be under limits: they
 * must not wait in the worker. Followers of a chain do not count there, but are left out with a head of their lane. At
 * most `request.crashed` runs have crashed before. The first `request.start` start at once, except crashed runs, which
 * wait until they can run alone.
 */
export function merge(
  unlimited: RunRow[],
  limited: RunRow[],
  order: ClaimOrder,
  request: ClaimRequest,
): RunRow[] {
  const isLimited = new Set(limited);
  const closed = new Set<string>();
  let crashed = 0;
  let heads = 0;
  return order.pick([...unlimited, ...limited], request.limit, (row) => {
    if (row.follows) return !closed.has(laneKey(row));
    if (heads >= request.limited && isLimited.has(row)) {
      closed.add(laneKey(row));
      return false;
    }
    if (hasCrashed(row) && ++crashed > request.crashed) return false;
    // A rate counts the claim as the start, also if the run waits some milliseconds for a slot.
    row.starts = (heads++ < request.start || row.rates !== undefined) && row.crashes === 0;
    return true;
  });
}

/** Converts the rows that a claim takes to the runs that the worker gets. */
export function toClaimedRuns(rows: RunRow[], request: ClaimRequest, now: number): ClaimedRun[] {
  return rows.map((row) => {
    // As the claim has written it.
    row.attempts++;
    return toClaimedRun(row, row.token ?? request.token, now, row.starts ?? false);
  });
}

/** A condition of SQL that finds the runs a claim has taken by their tokens, and its parameters. */
export function takenBy({ token }: Pick<ClaimRequest, "token">): { text: string; params: string[] } {
  return { text: "(lease_token = ? or lease_token like ?)", params: [token, chainsOf(token)] };
}

export const RECALLED_COLUMNS: string = `${RUN_COLUMNS}, lease_token, started_at, cost`;

export type RecalledRow = RunRow & { lease_token: string; started_at: number | null };

/** Converts rows that an earlier try of the claim took. */
export function toRecalledRuns(
  rows: RecalledRow[],
  chooser: { isIncomplete(row: RunRow): boolean; ratesOf(row: RunRow): string[] },
  now: number,
): ClaimedRun[] {
  return rows.sort(compareRuns).map((row) => {
    const unkeyed = row.owner === null && chooser.isIncomplete(row);
    const rates = row.owner === null ? chooser.ratesOf(row) : [];
    const recalled = { ...row, unkeyed, ...(rates.length > 0 && { rates }) };
    return toClaimedRun(recalled, row.lease_token, now, row.started_at !== null);
  });
}

/** Converts one row. `row.attempts` must include the attempt that begins. */
export function toClaimedRun(row: RunRow, token: string, now: number, started: boolean): ClaimedRun {
  return {
    id: row.id,
    token,
    name: row.name,
    queue: row.queue,
    lane: row.lane,
    limited: row.limited === 1,
    priority: row.priority,
    runAt: row.run_at,
    args: row.args,
    attempts: row.attempts,
    crashes: row.crashes,
    uncounted: row.uncounted,
    suspect: row.suspect === 1,
    timeout: row.timeout,
    retries: row.retries,
    owner: row.owner,
    tags: row.tags ? JSON.parse(row.tags) : [],
    parentId: row.parent_id,
    batchId: row.batch_id,
    expiresAt: row.expires_at,
    traceparent: row.traceparent,
    schedule: row.schedule,
    tickAt: row.tick_at,
    createdAt: row.created_at,
    claimedAt: now,
    started,
    unkeyed: row.unkeyed ?? false,
    rated: row.rates !== undefined,
    logged: row.logged,
  };
}

/** Position of a run in the order of claims. */
export type OrderKey = Pick<RunRow, "priority" | "run_at" | "id">;

/** Compares runs by priority, due time and id. */
export const compareRuns = (a: OrderKey, b: OrderKey): number =>
  a.priority - b.priority || a.run_at - b.run_at || a.id - b.id;

/** A run as the order of claims sees it. */
type OrderedRun = OrderKey & { queue: string; lane: string };

/**
 * The order in which one claim takes runs: within a queue `compareRuns`, or the turns of its lanes if it is fair;
 * between queues their shares, if any.
 */
export class ClaimOrder {
  readonly #stride: ClaimRequest["stride"];
  /** Null: no queue is fair. */
  readonly rotation: Rotation | null;
  /** Of each queue, the positions of its first, second and further runs. */
  readonly #positions = new Map<string, number[]>();

  constructor({ stride, rotation }: Pick<ClaimRequest, "stride" | "rotation">) {
    this.#stride = stride;
    this.rotation = rotation ?? null;
  }

  get hasShares(): boolean {
    return this.#stride !== null;
  }

  /** Returns up to `wanted` runs, best first. `take` decides whether a run is taken. */
  pick<Run extends OrderedRun>(runs: Run[], wanted: number, take: (run: Run) => boolean): Run[] {
    const byAge = runs.sort(compareRuns);
    const sorted = this.rotation?.arrange(byAge) ?? byAge;
    if (this.#stride) return this.#pickByShares(sorted, wanted, take);
    const picked: Run[] = [];
    for (const run of sorted) {
      if (picked.length >= wanted) break;
      if (take(run)) picked.push(run);
    }
    return picked;
  }

  /** Returns runs in the order in which they may follow chosen ones: of a lane in a fair queue, those of one turn. */
  forChains<Run extends OrderedRun>(runs: Run[]): Run[] {
    const byAge = runs.toSorted(compareRuns);
    return this.rotation?.firstRound(byAge) ?? byAge;
  }

  /** A run that `take` refuses leaves its position to the next run of its queue. An empty queue drops out. */
  #pickByShares<Run extends { queue: string }>(
    sorted: Run[],
    wanted: number,
    take: (run: Run) => boolean,
  ): Run[] {
    const picked: Run[] = [];
    const groups = Map.groupBy(sorted, ({ queue }) => queue);
    const queues = [...groups].map(([name, runs]) => ({ name, runs, next: 0, taken: 0 }));
    while (picked.length < wanted && queues.length > 0) {
      const positions = queues.map(({ name, taken }) => this.#position(name, taken));
      const nearest = positions.reduce((best, at, index) => (at < positions[best]! ? index : best), 0);
      const queue = queues[nearest]!;
      const run = queue.runs[queue.next++];
      if (!run) queues.splice(nearest, 1);
      else if (take(run)) {
        picked.push(run);
        queue.taken++;
      }
    }
    return picked;
  }

  /**
   * Returns the position of a queue's nth run. It is drawn once for each claim: runs under limits are picked among
   * themselves and then merged with the others, and a queue must not have to win both draws.
   */
  #position(queue: string, nth: number): number {
    const positions = this.#positions.get(queue) ?? [];
    this.#positions.set(queue, positions);
    while (positions.length <= nth) positions.push((positions.at(-1) ?? 0) + this.#stride!(queue));
    return positions[nth]!;
  }
}
