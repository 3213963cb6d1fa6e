import type { Rotation } from "../../run/rotation.ts";
import { type FreedRun, freedSlots, type LanePlan, laneKey, linkChains, planChains } from "../chains.ts";
import {
  type Candidate,
  Chooser,
  type LimitSubject,
  type LimitUsage,
  type NextOpening,
  type RateUsage,
} from "../chooser.ts";
import { splitFair } from "../fair-lanes.ts";
import { gateOf } from "../gates.ts";
import { movedBuckets } from "../rate-spending.ts";
import { CANDIDATE_COLUMNS, type ClaimOrder, RUN_COLUMNS, type RunRow } from "../sql/claim.ts";
import { idsAsJson, placeholders, type ServerDatabase, type Sql, type Tables } from "../sql/database.ts";
import { bucketWrites } from "../sql/rates.ts";
import type { ClaimRequest } from "../store.ts";
import { fairCandidates, type LastLanes, passBlocked } from "./fair-lanes.ts";
import { LaneWalk } from "./lane-walk.ts";
import { coversLimits, type ServerUsage, UsageReader, type UsageScope } from "./limit-usage.ts";
import { readTogether, Speculation } from "./round-trips.ts";
import type { DatabaseTime } from "./time.ts";

/** Steps of the lane walk in one claim. The next claim continues the walk, at once if this one took nothing. */
const STEPS = 8;

/**
 * Wait before the next look if other claims hold the gate of an open rate, in milliseconds: they may leave some starts.
 */
const HELD_RATE = 20;

/** If some run of the window fits, only every fourth claim walks lanes to find more. */
const WALK_EVERY = 4;

/** Which runs one claim may take, whatever the limits. */
export interface ClaimScope extends UsageScope {
  /** A condition of SQL. */
  claimable: string;
  /** See `ClaimRequest`. */
  window: number;
  wanted: number;
  rotation: Rotation | null;
}

/** Ready runs under limits that a claim looks at, and the usage of their limits. Nothing is locked yet. */
export interface LimitedRuns {
  candidates: Candidate[];
  usage: ServerUsage;
  scope: ClaimScope;
  /** Whether the claim also walks lanes if some run of the window fits. */
  walksLanes: boolean;
  lastLanes: LastLanes;
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
  /** When rates admit runs that the claim leaves. */
  opening: NextOpening;
  /** The chooser that admitted the rows under the locks of their gates; null: none was under a rate. */
  rated: Chooser | null;
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
  readonly #reader: UsageReader;
  readonly #speculation = new Speculation<Candidate[], ServerUsage>(coversLimits);
  #looks = 0;

  constructor(db: ServerDatabase, tables: Tables, time: DatabaseTime) {
    this.#db = db;
    this.#t = tables;
    this.#reader = new UsageReader(db, tables, time);
    this.#laneWalk = new LaneWalk(db, tables);
  }

  /** Returns null if none of the queues has ready runs under limits. */
  async look(tx: Sql, queues: string[], scope: ClaimScope): Promise<LimitedRuns | null> {
    if (queues.length === 0) return null;
    const walksLanes = ++this.#looks % WALK_EVERY === 0;
    const lastLanes: LastLanes = new Map();
    const seen = await this.#speculation.read(
      () => this.#readWindows(tx, queues, scope, lastLanes),
      (candidates) => this.#reader.read(tx, candidates, scope),
    );
    if (seen === null) return null;
    const [candidates, usage] = seen;
    const withRates = await this.#reader.withRates(tx, candidates, usage);
    return { candidates: [...candidates], usage: withRates, scope, walksLanes, lastLanes };
  }

  /** Reads limits, rates and their usage. */
  async readUsage(tx: Sql, runs: LimitSubject[], scope: UsageScope): Promise<ServerUsage> {
    return this.#reader.withRates(tx, runs, await this.#reader.read(tx, runs, scope));
  }

  async #readWindows(
    tx: Sql,
    queues: string[],
    scope: ClaimScope,
    lastLanes: LastLanes,
  ): Promise<Candidate[] | null> {
    const { claimable, window, rotation } = scope;
    const [fair, plain] = splitFair(queues, rotation);
    const reader = { tx, db: this.#db, t: this.#t };
    const selects = plain.map((queue) => ({
      text: `select ${CANDIDATE_COLUMNS} from ${this.#t.runs}${this.#db.using(this.#t.runs, "ready")}
              where state = 1 and limited = 1 and owner is null and queue = ?${claimable}
              order by priority, run_at, id limit ${window}`,
      params: [queue],
    }));
    const inTurn = rotation ? fairCandidates(reader, fair, { ...scope, rotation }, lastLanes) : [];
    const candidates = (await Promise.all([readTogether<Candidate>(tx, this.#db, selects), inTurn])).flat();
    return candidates.length > 0 ? candidates : null;
  }

  async choose(tx: Sql, limited: LimitedRuns, choice: ChoiceRequest): Promise<Choice> {
    const { request } = choice;
    const window = choice.order.forChains(limited.candidates);
    const { chosen, chooser, isUnfinished } = await this.#pick(tx, limited, choice);
    const setBack = chooser.ratesSetBack();
    if (setBack.size > 0) await this.#moveBack(tx, setBack, limited);
    const isChosen = new Set(chosen);
    const opening = chooser.nextOpening(limited.candidates.filter((one) => !isChosen.has(one)));
    const result = { isGateHeld: false, isUnfinished, opening, rated: null };
    if (chosen.length === 0) return { ...result, rows: [] };
    const plans = planChains(chosen, window, chooser, request.behind);
    const withFollowers = (heads: RunRow[], rows: RunRow[]) => [
      ...heads,
      ...linkChains(plans, heads, rows, request.token),
    ];
    // A start under a rate is a new one, whatever has ended.
    const inheriting = chosen.filter((one) => chooser.ratesOf(one).length === 0);
    const successors = successorsOf(freedSlots(choice.freed, limited.usage.chains), inheriting);
    if (successors.size === chosen.length) {
      // The usage does not rise: no gate, and no second count.
      const rows = await this.#lockRows(tx, chosen, plans);
      return { ...result, rows: withFollowers(headsOf(chosen, rows, chooser), rows) };
    }
    const others = chosen.filter((one) => !successors.has(one));
    const open = [...successors, ...(await this.#lockGates(tx, others, chooser))];
    const isGateHeld = open.length < chosen.length;
    const held = others.filter((one) => !open.includes(one)).flatMap((one) => chooser.ratesOf(one));
    for (const rate of held) {
      result.opening = earlierOpening(opening, { at: chooser.rate(rate).now + HELD_RATE, isAll: false });
    }
    if (open.length === 0) return { ...result, rows: [], isGateHeld };
    const [usage, rows] = await Promise.all([
      this.readUsage(tx, open, limited.scope),
      this.#lockRows(tx, open, plans),
    ]);
    const recounted = new Chooser(usage);
    // A limit that was set after the first count has a gate that is not locked here: the next claim takes the run.
    // The same holds for a rate: the run may be part of a chain.
    const hasSameLimits = (one: Candidate) =>
      recounted.limitsOf(one).join() === chooser.limitsOf(one).join() &&
      recounted.ratesOf(one).join() === chooser.ratesOf(one).join();
    const locked = new Set(rows.map(({ id }) => id));
    const fitting = open.filter((one) => locked.has(one.id) && hasSameLimits(one) && recounted.take(one));
    const heads = headsOf(fitting, rows, recounted);
    if (usage.rates) {
      const dropped = open.filter((one) => !fitting.includes(one));
      result.opening = earlierOpening(result.opening, recounted.nextOpening(dropped));
    }
    return { ...result, rows: withFollowers(heads, rows), isGateHeld, rated: usage.rates ? recounted : null };
  }

  /** Picks from the windows first; then, where blocked runs fill the window of a queue, from its lanes. */
  async #pick(
    tx: Sql,
    { candidates, usage, scope, walksLanes, lastLanes }: LimitedRuns,
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
    const byQueue = Map.groupBy(candidates, ({ queue }) => queue);
    const isFull = (queue: string, read: Candidate[]) =>
      scope.rotation?.isFair(queue) ? lastLanes.has(queue) : read.length >= scope.window;
    const fullQueues = [...byQueue].filter(([queue, read]) => isFull(queue, read)).map(([queue]) => queue);
    const isOpen = (one: Candidate) => picked.chosen.includes(one) || picked.chooser.hasRoom(one);
    passBlocked(lastLanes, scope.rotation, (queue) => byQueue.get(queue)?.some(isOpen) ?? false);
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

  /** Lets the starts of rates move along with a clock that was set back. */
  async #moveBack(tx: Sql, rates: ReadonlyMap<string, RateUsage>, limited: LimitedRuns): Promise<void> {
    const locked = await this.#lock(tx, [...rates.keys()].map(gateOf));
    // Read again: the last holder of a gate may have moved them.
    const usage = await this.readUsage(tx, limited.candidates, limited.scope);
    const chooser = new Chooser(usage);
    for (const one of limited.candidates) chooser.limitsOf(one);
    const moved = new Map([...chooser.ratesSetBack()].filter(([name]) => locked.has(gateOf(name))));
    for (const { text, params } of bucketWrites(this.#t, movedBuckets(moved))) await tx.run(text, ...params);
  }

  /** Returns the runs of which this transaction could lock every gate. */
  async #lockGates(tx: Sql, chosen: Candidate[], chooser: Chooser): Promise<Candidate[]> {
    const gates = new Map(chosen.map((one) => [one, chooser.limitsOf(one).map(gateOf)]));
    const locked = await this.#lock(tx, [...gates.values()].flat());
    return chosen.filter((one) => gates.get(one)!.every((gate) => locked.has(gate)));
  }

  /** Locks gates, except those that other transactions hold. Returns the locked ones. */
  async #lock(tx: Sql, gates: number[]): Promise<Set<number>> {
    const needed = [...new Set(gates)];
    if (needed.length === 0) return new Set();
    const rows = await tx.all<{ id: number }>(
      `select id from ${this.#t.gates} where id in (${placeholders(needed)}) order by id${this.#db.skipLocked}`,
      ...needed,
    );
    const locked = new Set(rows.map(({ id }) => id));
    if (this.#db.isMultiWriter && locked.size > 0) {
      // Two claims on two nodes both get the lock. Of two that have written to the gate, only one can commit.
      const ids = [...locked];
      await tx.run(`update ${this.#t.gates} set turn = turn + 1 where id in (${placeholders(ids)})`, ...ids);
    }
    return locked;
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

function earlierOpening(one: NextOpening, other: NextOpening): NextOpening {
  return { at: Math.min(one.at, other.at), isAll: one.isAll && other.isAll };
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
    if (!row) return [];
    const rates = chooser.ratesOf(one);
    return [{ ...row, unkeyed: chooser.lacksKey(one), ...(rates.length > 0 && { rates }) }];
  });
}
