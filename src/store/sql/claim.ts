import { type ClaimedRun, type ClaimRequest, hasCrashed } from "../store.ts";
import type { Order } from "./order.ts";

/** A run as the claim reads it. */
export interface Row {
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
  /** It was chosen for its key to be computed. */
  unkeyed?: boolean;
}

export const COLUMNS: string =
  "id, name, queue, lane, limited, priority, run_at, args, attempts, crashes, timeout, retries, owner, tags, parent_id, batch_id, expires_at, traceparent, schedule, tick_at, created_at, cancelled_at, logged";

/** As much of a run as it takes to choose. */
export type Look = Pick<Row, "id" | "name" | "lane" | "queue" | "priority" | "run_at">;

export const LOOK: string = "id, name, lane, queue, priority, run_at";

/** How many runs under limits are looked at in order, before lanes are walked instead. */
export const WINDOW = 64;

/** How many due runs one claim turns from scheduled to ready. */
export const PROMOTED = 1000;

/** Jobs may have the names of what every object has. */
export function leaseOf(name: string, { leases, lease }: ClaimRequest): number {
  return Object.hasOwn(leases, name) ? leases[name]! : lease;
}

/** A run with a crash behind it waits until it can run alone: it is marked as started by then, not by the claim. */
export function startsAtOnce(row: Row, index: number, request: ClaimRequest): boolean {
  return index < request.start && row.crashes === 0;
}

/** A condition on ready runs without an owner that a claim can take. */
export function claimable({ crashed }: Pick<ClaimRequest, "crashed">): string {
  return crashed > 0 ? "" : " and crashes = 0";
}

/** The best of both in order; a run under a limit is only taken where it does not wait, and only so many that crashed. */
export function merge(free: Row[], limited: Row[], order: Order, request: ClaimRequest): Row[] {
  const held = new Set(limited);
  let crashed = 0;
  return order.pick([...free, ...limited], request.limit, (row, index) => {
    if (index >= request.limited && held.has(row)) return false;
    return !hasCrashed(row) || ++crashed <= request.crashed;
  });
}

/** `row.attempts` counts this try in. */
export function toClaimed(row: Row, token: string, now: number, started: boolean): ClaimedRun {
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
    logged: row.logged,
  };
}
