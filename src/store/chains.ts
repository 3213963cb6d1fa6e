import { CHAIN_MARK, chainToken, isChain } from "../run/chains.ts";
import type { Candidate, Chooser, LimitSubject } from "./chooser.ts";

/** The runs of one lane that a claim has chosen, and those that may follow them. */
export interface LanePlan {
  heads: Candidate[];
  /** In claim order, without gaps: no run that waits for the same slots is left out before the last of them. */
  followers: Candidate[];
}

/** The columns that a chain sets in the row of a claimed run. */
export interface ChainLink {
  /** The token of the chain; absent: the run is in none. */
  token?: string;
  /** Whether the run waits in the worker until the runs before it in the chain have returned. */
  follows?: boolean;
}

type LockedRun = LimitSubject & ChainLink & { id: number; crashes: number; suspect: number };

/** Whether a run may share a chain with others: the start of a suspect must be written before its handler is called. */
function isChainable({ crashes, suspect }: LockedRun): boolean {
  return crashes === 0 && suspect === 0;
}

/** An SQL expression: the token if it is a chain's, else an empty text. */
export function chainOf(token: string): string {
  return `case when ${token} like '%${CHAIN_MARK}%' then ${token} else '' end`;
}

/** A pattern for `like` that finds the tokens of all chains of a claim. */
export function chainsOf(token: string): string {
  return `${token}${CHAIN_MARK}%`;
}

/** Identifies the limits that a run is under. Runs of a chain have the same. */
export function laneKey({ name, lane, queue }: LimitSubject): string {
  return JSON.stringify([name, lane, queue]);
}

/**
 * Finds the runs that may follow the chosen ones, up to `behind(name)` for each. `window` is in claim order. A lane
 * ends before a run that is not taken and waits only for slots that the lane occupies: that run must start next.
 */
export function planChains(
  chosen: Candidate[],
  window: Candidate[],
  chooser: Chooser,
  behind: (name: string) => number,
): LanePlan[] {
  const lanes = new Map<string, LanePlan & { limits: Set<string>; isOpen: boolean }>();
  for (const head of chosen) {
    if (behind(head.name) <= 0 || chooser.isIncomplete(head)) continue;
    // A run behind another one would start without being counted by a rate. Under a named limit, runs of other jobs may
    // wait for the slot of the chain that this claim does not see.
    if (chooser.ratesOf(head).length > 0 || chooser.isUnderNamed(head)) continue;
    const lane = lanes.get(laneKey(head));
    if (lane) lane.heads.push(head);
    else {
      const limits = new Set(chooser.limitsOf(head));
      lanes.set(laneKey(head), { heads: [head], followers: [], limits, isOpen: true });
    }
  }
  if (lanes.size === 0) return [];
  const taken = new Set(chosen);
  for (const one of window) {
    if (taken.has(one)) continue;
    const lane = lanes.get(laneKey(one));
    if (lane?.isOpen && lane.followers.length < lane.heads.length * behind(one.name)) {
      lane.followers.push(one);
      continue;
    }
    const full = chooser.fullLimitsOf(one);
    if (full.length === 0) continue;
    for (const other of lanes.values())
      if (full.every((limit) => other.limits.has(limit))) other.isOpen = false;
  }
  return [...lanes.values()];
}

/**
 * Distributes the followers over the heads and returns those that the claim may take. `heads` and `locked` are rows
 * that this transaction has locked. A lane ends before a run that is missing there, and before one that has crashed or
 * may have.
 */
export function linkChains<Run extends LockedRun>(
  plans: LanePlan[],
  heads: Run[],
  locked: Run[],
  token: string,
): Run[] {
  const byId = new Map(locked.map((row) => [row.id, row]));
  const taken = new Map(heads.map((row) => [row.id, row]));
  const linked: Run[] = [];
  let chains = 0;
  for (const plan of plans) {
    const rows = plan.heads.map(({ id }) => taken.get(id));
    if (!rows.every((row) => row !== undefined)) continue;
    const open = rows.filter(isChainable);
    if (open.length === 0) continue;
    for (const [index, { id }] of plan.followers.entries()) {
      const row = byId.get(id);
      if (!row || !isChainable(row)) break;
      const head = open[index % open.length]!;
      head.token ??= chainToken(token, ++chains);
      row.token = head.token;
      row.follows = true;
      linked.push(row);
    }
  }
  return linked;
}

/** A run that a transaction has settled, and the token it had. */
export type FreedRun = LimitSubject & { id: number; token: string };

/** Returns one run for each slot that settlements have freed. `alive`: chains that still have running runs. */
export function freedSlots(freed: FreedRun[], alive: ReadonlySet<string>): LimitSubject[] {
  const slots = new Map<string | number, LimitSubject>();
  for (const run of freed) {
    if (!alive.has(run.token)) slots.set(isChain(run.token) ? run.token : run.id, run);
  }
  return [...slots.values()];
}
