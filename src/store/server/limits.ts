import type { Rotation } from "../../run/rotation.ts";
import { type FreedRun, freedSlots, type LanePlan, laneKey, linkChains, planChains } from "../chains.ts";
import { type Candidate, Chooser, type LimitSubject, type LimitUsage, type NextOpening } from "../chooser.ts";
import { splitFair } from "../fair-lanes.ts";
import { movedBuckets } from "../rate-spending.ts";
import { CANDIDATE_COLUMNS, type ClaimOrder, type RunRow, runColumnsOf } from "../sql/claim.ts";
import { SqlContext } from "../sql/context.ts";
import { idsAsJson, type ServerDatabase, type Sql, type Tables } from "../sql/database.ts";
import { gateOf, lockGates } from "../sql/gates.ts";
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
 * Wait before the next look if another claim holds the gate of an open rate, in milliseconds: it may leave some starts.
 */
const HELD_RATE_WAIT = 20;

/** If some run of the window fits, only every fourth claim walks lanes to find more. */
const WALK_EVERY = 4;

/** The runs that one claim may take, whatever the limits. */
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
  /** The chooser that has taken the rows under the locks of their gates; null: none of them is under a rate. */
  recounted: Chooser | null;
}

interface PickResult {
  chosen: Candidate[];
  chooser: Chooser;
  /** Queues with a run that fits; empty if queues have no shares. */
  openQueues: Set<string>;
  isUnfinished: boolean;
}

/**
 * Finds runs that fit under their limits and rates (notes 5, 15 and 61). The claim calls `look`, then `choose`, which
 * does the other steps:
 *
 * 1. `look` reads the first runs of each queue, and the usage of their limits: how many runs run under each, and how
 *    many have started within the time of each rate. It locks nothing.
 * 2. `#pick` picks runs that fit. If blocked runs fill the window, it walks from lane to lane (`lane-walk.ts`).
 * 3. `planChains` (`store/chains.ts`) finds the runs that may follow the picked ones.
 * 4. `#lockGates` locks the gates of the picked runs, and leaves runs whose gate another claim holds. Every claim
 *    under a limit holds its gate until it commits, so the usage can only fall from here on.
 * 5. `choose` locks the rows, reads the usage again and drops the runs that no longer fit (`recount`).
 *
 * A run under the same limits as one that this transaction has settled skips step 4: both changes commit together, so
 * the usage stays as it was (note 22). A run under a rate never does: each start counts.
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
    const selects = plain.map((queue) => ({
      text: `select ${CANDIDATE_COLUMNS} from ${this.#t.runs}${this.#db.using(this.#t.runs, "ready")}
              where state = 1 and limited = 1 and owner is null and queue = ?${claimable}
              order by priority, run_at, id limit ${window}`,
      params: [queue],
    }));
    const inTurn = rotation
      ? fairCandidates(new SqlContext(this.#db, this.#t, tx), fair, { ...scope, rotation }, lastLanes)
      : [];
    const candidates = (await Promise.all([readTogether<Candidate>(tx, this.#db, selects), inTurn])).flat();
    return candidates.length > 0 ? candidates : null;
  }

  async choose(tx: Sql, limited: LimitedRuns, choice: ChoiceRequest): Promise<Choice> {
    const { order, request, freed } = choice;
    const window = order.forChains(limited.candidates);
    const { chosen, chooser, isUnfinished } = await this.#pick(tx, limited, choice);
    await this.#followClock(tx, chooser, limited);
    const isChosen = new Set(chosen);
    const left = limited.candidates.filter((one) => !isChosen.has(one));
    const nothing: Choice = {
      rows: [],
      isGateHeld: false,
      isUnfinished,
      opening: chooser.nextOpening(left),
      recounted: null,
    };
    if (chosen.length === 0) return nothing;
    const plans = planChains(chosen, window, chooser, request.behind);
    const withFollowers = (heads: RunRow[], rows: RunRow[]) => [
      ...heads,
      ...linkChains(plans, heads, rows, request.token),
    ];
    const unrated = chosen.filter((one) => chooser.ratesOf(one).length === 0);
    const successors = successorsOf(freedSlots(freed, limited.usage.chains), unrated);
    if (successors.size === chosen.length) {
      // The usage does not rise: no gate, and no second count.
      const rows = await this.#lockRows(tx, chosen, plans);
      return { ...nothing, rows: withFollowers(headsOf(chosen, rows, chooser), rows) };
    }
    const others = chosen.filter((one) => !successors.has(one));
    const open = [...successors, ...(await this.#lockGates(tx, others, chooser))];
    const held = others.filter((one) => !open.includes(one));
    const opening = earlierOpening(nothing.opening, heldOpening(held, chooser));
    const result = { ...nothing, isGateHeld: held.length > 0, opening };
    if (open.length === 0) return result;
    const [usage, rows] = await Promise.all([
      this.readUsage(tx, open, limited.scope),
      this.#lockRows(tx, open, plans),
    ]);
    const { fitting, recounted } = recount(open, rows, chooser, usage);
    const heads = headsOf(fitting, rows, recounted);
    if (!usage.rates) return { ...result, rows: withFollowers(heads, rows) };
    const dropped = open.filter((one) => !fitting.includes(one));
    return {
      ...result,
      rows: withFollowers(heads, rows),
      opening: earlierOpening(opening, recounted.nextOpening(dropped)),
      recounted,
    };
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

  /** Moves the starts of rates along with a clock that was set back. */
  async #followClock(tx: Sql, chooser: Chooser, { candidates, scope }: LimitedRuns): Promise<void> {
    const rates = chooser.ratesSetBack();
    if (rates.size === 0) return;
    const locked = await this.#lock(tx, [...rates.keys()]);
    // Read again: the last holder of a gate may have moved them.
    const current = new Chooser(await this.readUsage(tx, candidates, scope));
    for (const one of candidates) current.limitsOf(one);
    const toMove = new Map([...current.ratesSetBack()].filter(([name]) => locked.has(gateOf(name))));
    for (const { text, params } of bucketWrites(this.#t, movedBuckets(toMove))) await tx.run(text, ...params);
  }

  /** Returns the runs of which this transaction could lock every gate. */
  async #lockGates(tx: Sql, chosen: Candidate[], chooser: Chooser): Promise<Candidate[]> {
    const limits = new Map(chosen.map((one) => [one, chooser.limitsOf(one)]));
    const locked = await this.#lock(tx, [...limits.values()].flat());
    return chosen.filter((one) => limits.get(one)!.every((limit) => locked.has(gateOf(limit))));
  }

  /** Locks the gates of limits, except those that other transactions hold. Returns the locked gates. */
  #lock(tx: Sql, limits: string[]): Promise<Set<number>> {
    return lockGates(new SqlContext(this.#db, this.#t, tx), limits, this.#db.skipLocked);
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
    return tx.all<RunRow>(
      `select ${runColumnsOf("r")} from ${this.#db.lookUp(this.#db.rows({ id: "integer" }), this.#t.runs)}
        where r.state = 1${this.#db.lockOnly(this.#db.skipLocked, "r")}`,
      idsAsJson([...chosen, ...followers].map(({ id }) => id)),
    );
  }
}

/**
 * Takes the runs that still fit, now that their gates are locked. `before` has picked them without the locks, and
 * `rows` are the rows that could be locked.
 */
function recount(
  open: Candidate[],
  rows: RunRow[],
  before: Chooser,
  usage: ServerUsage,
): { fitting: Candidate[]; recounted: Chooser } {
  const recounted = new Chooser(usage);
  // A limit that was set after the first count has a gate that is not locked here: the next claim takes the run.
  // The same holds for a rate: the run may be part of a chain.
  const hasSameLimits = (one: Candidate) =>
    recounted.limitsOf(one).join() === before.limitsOf(one).join() &&
    recounted.ratesOf(one).join() === before.ratesOf(one).join();
  const locked = new Set(rows.map(({ id }) => id));
  const fitting = open.filter((one) => locked.has(one.id) && hasSameLimits(one) && recounted.take(one));
  return { fitting, recounted };
}

/** When to look again at runs whose gates other claims hold. */
function heldOpening(held: Candidate[], chooser: Chooser): NextOpening {
  const rates = held.flatMap((one) => chooser.ratesOf(one));
  const times = rates.map((rate) => chooser.rate(rate).now + HELD_RATE_WAIT);
  return { at: Math.min(...times, Number.POSITIVE_INFINITY), isAll: times.length === 0 };
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
    return [
      { ...row, unkeyed: chooser.isIncomplete(one), ...(rates.length > 0 && { rates, cost: one.cost }) },
    ];
  });
}
