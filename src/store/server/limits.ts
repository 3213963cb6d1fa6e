import {
  chainOf,
  type FreedRun,
  freedSlots,
  type LanePlan,
  laneKey,
  linkChains,
  planChains,
} from "../chains.ts";
import { type Candidate, Chooser, type LimitSubject, type LimitUsage } from "../chooser.ts";
import { CANDIDATE_COLUMNS, type ClaimOrder, compareRuns, RUN_COLUMNS, type RunRow } from "../sql/claim.ts";
import { idsAsJson, placeholders, type ServerDatabase, type Sql, type Tables } from "../sql/database.ts";
import type { ClaimRequest } from "../store.ts";
import { LaneWalk } from "./lane-walk.ts";
import { readTogether, Speculation } from "./round-trips.ts";

/** Rows of the table `gates`. They are made with the schema, so that no claim creates or deletes one under load. */
export const GATES = 256;

/** Steps of the lane walk in one claim. The next claim continues the walk, at once if this one took nothing. */
const STEPS = 8;

/** If some run of the window fits, only every fourth claim walks lanes to find more. */
const WALK_EVERY = 4;

/** Which runs one claim may take, whatever the limits. */
export interface ClaimScope extends Pick<LimitUsage, "isClosed" | "computesKey"> {
  /** A condition of SQL. */
  claimable: string;
  /** See `ClaimRequest`. */
  window: number;
}

interface ServerUsage extends LimitUsage {
  /** Tokens of the chains that have running runs under these limits. */
  chains: ReadonlySet<string>;
}

/** Ready runs under limits that a claim looks at, and the usage of their limits. Nothing is locked yet. */
export interface LimitedRuns {
  candidates: Candidate[];
  usage: ServerUsage;
  scope: ClaimScope;
  /** Whether the claim also walks lanes if some run of the window fits. */
  walksLanes: boolean;
}

export interface ChoiceRequest {
  order: ClaimOrder;
  request: Pick<ClaimRequest, "token" | "limited" | "behind">;
  /** Runs under limits that this transaction has settled. */
  freed: FreedRun[];
}

export interface Choice {
  /** Locked rows, in claim order. */
  rows: RunRow[];
  /** Whether other claims held the gate of a run that would have fitted. */
  isGateHeld: boolean;
  /** Whether nothing was chosen and the lane walk has not seen every lane yet. */
  isUnfinished: boolean;
}

interface PickResult {
  chosen: Candidate[];
  chooser: Chooser;
  /** Queues with a run that fits; empty if queues have no shares. */
  openQueues: Set<string>;
  isUnfinished: boolean;
}

/**
 * Finds runs that fit under their limits, in three steps (notes 5 and 15):
 *
 * 1. `look` reads the first runs of each queue and how many runs run under their limits. It locks nothing.
 * 2. `#pick` picks runs that fit. If blocked runs fill the window, it walks from lane to lane.
 * 3. `choose` locks the gates of the picked runs, reads the usage again and drops the runs that no longer fit. Every
 *    claim under a limit holds the limit's gate until it commits, so the usage can only fall from here on.
 *
 * A run under the same limits as one that this transaction has settled needs no gate: both changes commit together, so
 * the usage stays as it was (note 22).
 */
export class Limits {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly #laneWalk: LaneWalk;
  readonly #speculation = new Speculation<Candidate[], ServerUsage>(coversLimits);
  #looks = 0;

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
    this.#laneWalk = new LaneWalk(db, tables);
  }

  /** Returns null if none of the queues has ready runs under limits. */
  async look(tx: Sql, queues: string[], scope: ClaimScope): Promise<LimitedRuns | null> {
    if (queues.length === 0) return null;
    const walksLanes = ++this.#looks % WALK_EVERY === 0;
    const seen = await this.#speculation.read(
      () => this.#readWindows(tx, queues, scope),
      (candidates) => this.readUsage(tx, candidates, scope),
    );
    if (seen === null) return null;
    const [candidates, usage] = seen;
    return { candidates: [...candidates], usage, scope, walksLanes };
  }

  async #readWindows(
    tx: Sql,
    queues: string[],
    { claimable, window }: ClaimScope,
  ): Promise<Candidate[] | null> {
    const selects = queues.map((queue) => ({
      text: `select ${CANDIDATE_COLUMNS} from ${this.#t.runs}${this.#db.using(this.#t.runs, "ready")}
              where state = 1 and limited = 1 and owner is null and queue = ?${claimable}
              order by priority, run_at, id limit ${window}`,
      params: [queue],
    }));
    const candidates = await readTogether<Candidate>(tx, selects);
    return candidates.length > 0 ? candidates : null;
  }

  /**
   * Reads the limits of these runs and how many runs run under each. One statement, so one snapshot. Every running run
   * counts, whether or not the limit existed when it was claimed; a chain counts once.
   */
  async readUsage(
    tx: Sql,
    runs: LimitSubject[],
    { isClosed, computesKey }: Omit<ClaimScope, "claimable" | "window">,
  ): Promise<ServerUsage> {
    const db = this.#db;
    const t = this.#t;
    const list = db.rows({ name: "text" });
    const of = (table: string) => db.lookUp(list, table, "r.name = v.name");
    const limitedJobs = `(select r.name from ${of(t.jobs)} where r.lim > 0 or r.key_lim > 0)`;
    // Both values of `limited`: the index "ready" begins with state and limited.
    const limitedQueues = `(select r.name, l.limited from ${of(t.queues)} cross join (select 0 as limited union all select 1) l where r.lim > 0)`;
    const chain = chainOf("r.lease_token");
    const { names, queues } = namesIn(runs);
    const rows = await tx.all<{
      kind: string;
      name: string;
      lane: string;
      number: number;
      key_limit: number;
      chain: string;
    }>(
      `select 'job' as kind, r.name, '' as lane, r.lim as number, r.key_lim as key_limit, '' as chain from ${of(t.jobs)}
       union all
       select 'queue', r.name, '', r.lim, 0, '' from ${of(t.queues)}
       union all
       select 'running', r.name, r.lane, count(*), 0, ${chain}
         from ${db.lookUp(limitedJobs, t.runs, "r.state = 2 and r.owner is null and r.name = v.name", "counted")}
        group by r.name, r.lane, ${chain}
       union all
       select 'busy', r.queue, '', count(*), 0, ${chain}
         from ${db.lookUp(limitedQueues, t.runs, "r.state = 2 and r.limited = v.limited and r.owner is null and r.queue = v.name", "ready")}
        group by r.queue, ${chain}`,
      ...[names, queues, names, queues].map((words) => JSON.stringify(words.map((word) => [word]))),
    );
    const ofKind = (kind: string) =>
      new Map(rows.filter((row) => row.kind === kind).map((row) => [row.name, row]));
    const jobs = ofKind("job");
    const limits = ofKind("queue");
    const chains = new Set<string>();
    const running = new Map<string, number>();
    const keyOf = (...words: string[]) => JSON.stringify(words);
    for (const { kind, name, lane, number, chain } of rows) {
      if (kind !== "running" && kind !== "busy") continue;
      if (chain !== "") chains.add(chain);
      const slots = chain === "" ? number : 1;
      for (const key of [keyOf(kind, name), keyOf(kind, name, lane)]) {
        running.set(key, (running.get(key) ?? 0) + slots);
      }
    }
    const runningOf = (...words: string[]) => running.get(keyOf(...words)) ?? 0;
    return {
      isClosed,
      computesKey,
      jobLimit: (name) => jobs.get(name)?.number ?? 0,
      keyLimit: (name) => jobs.get(name)?.key_limit ?? 0,
      queueLimit: (queue) => limits.get(queue)?.number ?? 0,
      runningOfJob: (name) => runningOf("running", name),
      runningOfLane: (name, lane) => runningOf("running", name, lane),
      runningOfQueue: (queue) => runningOf("busy", queue),
      chains,
    };
  }

  async choose(tx: Sql, limited: LimitedRuns, choice: ChoiceRequest): Promise<Choice> {
    const { request } = choice;
    const window = limited.candidates.toSorted(compareRuns);
    const { chosen, chooser, isUnfinished } = await this.#pick(tx, limited, choice);
    if (chosen.length === 0) return { rows: [], isGateHeld: false, isUnfinished };
    const plans = planChains(chosen, window, chooser, request.behind);
    const withFollowers = (heads: RunRow[], rows: RunRow[]) => [
      ...heads,
      ...linkChains(plans, heads, rows, request.token),
    ];
    const successors = successorsOf(freedSlots(choice.freed, limited.usage.chains), chosen);
    if (successors.size === chosen.length) {
      const rows = await this.#lockRows(tx, chosen, plans);
      return { rows: withFollowers(headsOf(chosen, rows, chooser), rows), isGateHeld: false, isUnfinished };
    }
    const others = chosen.filter((one) => !successors.has(one));
    const open = [...successors, ...(await this.#lockGates(tx, others, chooser))];
    const isGateHeld = open.length < chosen.length;
    if (open.length === 0) return { rows: [], isGateHeld, isUnfinished };
    const [usage, rows] = await Promise.all([
      this.readUsage(tx, open, limited.scope),
      this.#lockRows(tx, open, plans),
    ]);
    const recounted = new Chooser(usage);
    // A limit that was set after the first count has a gate that is not locked here: the next claim takes the run.
    const hasSameLimits = (one: Candidate) => recounted.limitsOf(one).join() === chooser.limitsOf(one).join();
    const locked = new Set(rows.map(({ id }) => id));
    const fitting = open.filter((one) => locked.has(one.id) && hasSameLimits(one) && recounted.take(one));
    return { rows: withFollowers(headsOf(fitting, rows, recounted), rows), isGateHeld, isUnfinished };
  }

  /** Picks from the windows first; then, where blocked runs fill the window of a queue, from its lanes. */
  async #pick(
    tx: Sql,
    { candidates, usage, scope, walksLanes }: LimitedRuns,
    { order, request: { limited: wanted } }: ChoiceRequest,
  ): Promise<PickResult> {
    const pickBy = (used: LimitUsage): PickResult => {
      const chooser = new Chooser(used);
      const open = order.hasShares ? candidates.filter((one) => chooser.hasRoom(one)) : [];
      const openQueues = new Set(open.map(({ queue }) => queue));
      const chosen = order.pick(candidates, wanted, (one) => chooser.take(one));
      return { chosen, chooser, openQueues, isUnfinished: false };
    };
    let picked = pickBy(usage);
    const fullQueues = [...Map.groupBy(candidates, ({ queue }) => queue)]
      .filter(([, read]) => read.length >= scope.window)
      .map(([queue]) => queue);
    // A queue whose fitting runs are all beyond its window must get its share, even if other queues can fill the claim.
    const isShareHidden = order.hasShares && fullQueues.some((queue) => !picked.openQueues.has(queue));
    const isEnough = picked.chosen.length >= wanted && !isShareHidden;
    if (fullQueues.length === 0 || isEnough || (picked.chosen.length > 0 && !walksLanes)) return picked;
    let walking = fullQueues.filter((queue) => !picked.chooser.isQueueFull(queue));
    for (let step = 0; walking.length > 0 && (step === 0 || picked.chosen.length === 0); step++) {
      if (step === STEPS) return { ...picked, isUnfinished: true };
      const view = { candidates, chooser: picked.chooser, wanted, claimable: scope.claimable };
      const { found, unfinished } = await this.#laneWalk.step(tx, walking, view);
      walking = unfinished;
      if (found.length === 0) continue;
      candidates.push(...found);
      picked = pickBy(await this.readUsage(tx, candidates, scope));
    }
    for (const { queue } of picked.chosen) this.#laneWalk.addLap(queue);
    return picked;
  }

  /** Returns the runs of which this transaction could lock every gate. */
  async #lockGates(tx: Sql, chosen: Candidate[], chooser: Chooser): Promise<Candidate[]> {
    const gates = new Map(chosen.map((one) => [one, chooser.limitsOf(one).map(gateOf)]));
    const needed = [...new Set([...gates.values()].flat())];
    if (needed.length === 0) return chosen;
    const rows = await tx.all<{ id: number }>(
      `select id from ${this.#t.gates} where id in (${placeholders(needed)}) order by id${this.#db.skipLocked}`,
      ...needed,
    );
    const locked = new Set(rows.map(({ id }) => id));
    return chosen.filter((one) => gates.get(one)!.every((gate) => locked.has(gate)));
  }

  /**
   * Locks and returns the chosen runs and those that may follow them, if they are still ready, except rows that other
   * transactions have locked.
   */
  async #lockRows(tx: Sql, chosen: Candidate[], plans: LanePlan[]): Promise<RunRow[]> {
    const isChosen = new Set(chosen);
    const followers = plans
      .filter(({ heads }) => heads.every((head) => isChosen.has(head)))
      .flatMap((plan) => plan.followers);
    const columns = RUN_COLUMNS.split(", ").map((column) => `r.${column}`);
    return tx.all<RunRow>(
      `select ${columns.join(", ")} from ${this.#db.lookUp(this.#db.rows({ id: "integer" }), this.#t.runs)}
        where r.state = 1${this.#db.lockOnly(this.#db.skipLocked, "r")}`,
      idsAsJson([...chosen, ...followers].map(({ id }) => id)),
    );
  }
}

/** Returns the gate of a limit: an FNV-1a hash of its name, the same in every process. Limits may share a gate. */
function gateOf(limit: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < limit.length; index++) {
    hash = Math.imul(hash ^ limit.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % GATES;
}

/** Returns the jobs and queues whose limits these runs can be under. */
function namesIn(runs: Omit<LimitSubject, "lane">[]): { names: string[]; queues: string[] } {
  return {
    names: [...new Set(runs.map(({ name }) => name))],
    queues: [...new Set(runs.map(({ queue }) => queue))],
  };
}

/** Whether the usage of the older runs includes every limit of the newer ones. */
function coversLimits(older: Candidate[], newer: Candidate[]): boolean {
  const known = namesIn(older);
  const { names, queues } = namesIn(newer);
  return (
    names.every((name) => known.names.includes(name)) && queues.every((queue) => known.queues.includes(queue))
  );
}

/** Returns the runs that replace a freed run under the very same limits, one for each freed slot. */
function successorsOf(freed: LimitSubject[], chosen: Candidate[]): Set<Candidate> {
  const free = Map.groupBy(freed, laneKey);
  return new Set(chosen.filter((one) => free.get(laneKey(one))?.pop()));
}

/** Returns the locked rows of the chosen runs, in the order of the choice. */
function headsOf(chosen: Candidate[], rows: RunRow[], chooser: Chooser): RunRow[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return chosen.flatMap((one) => {
    const row = byId.get(one.id);
    return row ? [{ ...row, unkeyed: chooser.lacksKey(one) }] : [];
  });
}
