import { isKeyed, LAST, laneOf } from "../../run/lanes.ts";
import type { Rotation } from "../../run/rotation.ts";
import { linkChains, planChains } from "../chains.ts";
import { type Candidate, Chooser, type LimitSubject, type LimitUsage, type NextOpening } from "../chooser.ts";
import { candidateShares } from "../fair-lanes.ts";
import { NO_OPENING } from "../quiet-looks.ts";
import { CANDIDATE_COLUMNS, type ClaimOrder, claimable, RUN_COLUMNS, type RunRow } from "../sql/claim.ts";
import type { Tables } from "../sql/database.ts";
import type { ClaimRequest } from "../store.ts";
import type { SqliteDatabase } from "./database.ts";
import { fairLanes, type LanePosition, laneAfter } from "./lanes.ts";
import { memoize } from "./limit-usage.ts";

/** Lanes that one claim walks at most. The next claim continues the walk, at once if this one took nothing. */
const LANES = 512;

/** The walk over the lanes of one queue. It is kept between claims. */
interface QueueWalk {
  /** The last lane that was read; null: none yet. */
  at: LanePosition | null;
  /** Whether the walk is over at the last lane. False: it starts over there, to read the lanes before `at` as well. */
  isLastLap: boolean;
}

/** Runs under limits that a claim takes. */
interface LimitedChoice {
  rows: RunRow[];
  /** Whether nothing was chosen and the walk has not seen every lane yet. */
  isUnfinished: boolean;
  /** When rates admit runs that the claim leaves. */
  opening: NextOpening;
  chooser: Chooser;
}

/** Finds runs that fit under their limits, without reading every run that does not fit. */
export class Limits {
  readonly #db: SqliteDatabase;
  readonly #t: Tables;
  readonly #walks = new Map<string, QueueWalk>();
  /** The condition of the runs that the current claim may take, as SQL. */
  #claimable = "";
  /** How many runs the current claim reads of each queue. */
  #window = 0;
  /** Of fair queues with lanes in which the current claim has not looked, the last lane in which it has. */
  #lastLanes = new Map<string, LanePosition>();
  /** Heads of lanes that the current claim has passed, because they do not fit. */
  #passed: LimitSubject[] = [];

  constructor(db: SqliteDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /** Picks from the window of each queue first; then, where blocked runs fill the window, from lane to lane. */
  choose(queues: string[], usage: LimitUsage, order: ClaimOrder, request: ClaimRequest): LimitedChoice {
    const { limited: wanted } = request;
    const nothing = { rows: [], isUnfinished: false, opening: NO_OPENING, chooser: new Chooser(usage) };
    if (wanted <= 0) return nothing;
    this.#claimable = claimable(request);
    this.#window = request.window;
    const { chooser } = nothing;
    const { rotation } = order;
    this.#lastLanes.clear();
    this.#passed = [];
    const readQueue = (queue: string) =>
      rotation?.isFair(queue) ? this.#readFair(queue, rotation, wanted) : this.#readWindow(queue);
    const windows = new Map(queues.map((queue) => [queue, readQueue(queue)]));
    const candidates = [...windows.values()].flat();
    const chainOrder = order.forChains(candidates);
    const seen = new Set(candidates.map(({ id }) => id));
    if (order.hasShares) {
      const full = new Map([...windows].filter(([queue, window]) => this.#isFull(queue, window, rotation)));
      candidates.push(...this.#findHidden(full, usage, seen, wanted));
    }
    const chosen = order.pick(candidates, wanted, (one) => chooser.take(one));
    for (const [queue, last] of this.#lastLanes) {
      // The next claim looks behind lanes that are all blocked.
      const isOpen = (one: Candidate) => chosen.includes(one) || chooser.hasRoom(one);
      if (!windows.get(queue)!.some(isOpen)) rotation?.pass({ queue, ...last });
    }
    let isOver = true;
    for (const [queue, window] of windows) {
      if (chosen.length >= wanted) break;
      if (!this.#isFull(queue, window, rotation)) continue;
      const walked = this.#walkLanes(queue, chooser, seen, wanted - chosen.length);
      chosen.push(...walked.chosen);
      isOver &&= walked.isOver;
    }
    const isChosen = new Set(chosen.map(({ id }) => id));
    const opening = chooser.nextOpening([
      ...candidates.filter(({ id }) => !isChosen.has(id)),
      ...this.#passed,
    ]);
    if (chosen.length === 0) return { ...nothing, isUnfinished: !isOver, opening };
    const plans = planChains(chosen, chainOrder, chooser, request.behind);
    const followers = plans.flatMap((plan) => plan.followers);
    const rows = this.#readRows([...chosen, ...followers], chooser);
    const heads = rows.filter(({ id }) => isChosen.has(id));
    return { ...nothing, rows: [...heads, ...linkChains(plans, heads, rows, request.token)], opening };
  }

  #readWindow(queue: string): Candidate[] {
    return this.#db.select<Candidate>(
      `select ${CANDIDATE_COLUMNS} from ${this.#t.runs}
        where state = 1 and limited = 1 and owner is null and queue = ?${this.#claimable}
        order by priority, run_at, id limit ${this.#window}`,
      queue,
    );
  }

  /** Reads the first runs of the lanes of a fair queue, in turn. */
  #readFair(queue: string, rotation: Rotation, wanted: number): Candidate[] {
    const place = { queue, limited: 1, claimable: this.#claimable, rotation, wanted } as const;
    const found = fairLanes(this.#db, this.#t, place);
    const last = found.lanes.at(-1);
    if (!found.isComplete && last) this.#lastLanes.set(queue, last);
    return candidateShares(rotation, found, wanted).flatMap(({ lane, runs }) =>
      this.#readLane(queue, lane, runs),
    );
  }

  /** Whether the queue may have runs that fit beyond those that were read. */
  #isFull(queue: string, window: Candidate[], rotation: Rotation | null): boolean {
    return rotation?.isFair(queue) ? this.#lastLanes.has(queue) : window.length >= this.#window;
  }

  /** Finds runs of queues whose fitting runs are all beyond the window: such a queue must get its share as well. */
  #findHidden(
    windows: Map<string, Candidate[]>,
    usage: LimitUsage,
    seen: Set<number>,
    wanted: number,
  ): Candidate[] {
    const chooser = new Chooser(usage);
    return [...windows].flatMap(([queue, window]) => {
      if (window.some((one) => chooser.hasRoom(one))) return [];
      return this.#walkLanes(queue, chooser, seen, wanted).chosen;
    });
  }

  #readRows(chosen: Candidate[], chooser: Chooser): RunRow[] {
    const rows = this.#db.select<RunRow>(
      `select ${RUN_COLUMNS} from ${this.#t.runs} where id in (select value from json_each(?))`,
      JSON.stringify(chosen.map(({ id }) => id)),
    );
    const costs = new Map(chosen.map(({ id, cost }) => [id, cost]));
    for (const row of rows) {
      row.cost = costs.get(row.id)!;
      row.unkeyed = chooser.isIncomplete(row);
      const rates = chooser.ratesOf(row);
      if (rates.length > 0) row.rates = rates;
    }
    return rows;
  }

  #walkLanes(
    queue: string,
    chooser: Chooser,
    seen: Set<number>,
    wanted: number,
  ): { chosen: Candidate[]; isOver: boolean } {
    const chosen: Candidate[] = [];
    if (chooser.isQueueFull(queue)) return { chosen, isOver: true };
    const sharesPrefix = memoize((name: string) => this.#sharesPrefix(name));
    const walk = this.#walks.get(queue) ?? { at: null, isLastLap: true };
    this.#walks.set(queue, walk);
    for (let walked = 0; walked < LANES && chosen.length < wanted; walked++) {
      const head = laneAfter(this.#db, this.#t, { queue, limited: 1, claimable: this.#claimable }, walk.at);
      if (!head && walk.isLastLap) {
        this.#walks.delete(queue);
        return { chosen, isOver: true };
      }
      if (!head) {
        Object.assign(walk, { at: null, isLastLap: true });
        continue;
      }
      walk.at = { priority: head.priority, lane: head.lane };
      if (!chooser.hasRoom(head)) {
        this.#passed.push(head);
        // A job that can start no run is passed with all its lanes in one step.
        if (isKeyed(head.lane, head.name) && chooser.isJobFull(head) && !sharesPrefix(head.name)) {
          walk.at.lane = laneOf(head.name, LAST);
        }
        continue;
      }
      // Runs of this lane that are in the window come first: they are skipped.
      for (const one of this.#readLane(queue, head, wanted - chosen.length + this.#window)) {
        if (seen.has(one.id)) continue;
        if (!chooser.take(one)) break;
        seen.add(one.id);
        chosen.push(one);
      }
    }
    if (chosen.length > 0) walk.isLastLap = false;
    return { chosen, isOver: false };
  }

  /** Whether another job's name continues this one after the bar: lanes of both are mixed in the index. */
  #sharesPrefix(name: string): boolean {
    const other = this.#db.row(
      `select 1 from ${this.#t.jobs} where name >= ? and name <= ? limit 1`,
      laneOf(name, null),
      laneOf(name, LAST),
    );
    return other !== undefined;
  }

  #readLane(queue: string, { priority, lane }: LanePosition, limit: number): Candidate[] {
    return this.#db.select<Candidate>(
      `select ${CANDIDATE_COLUMNS} from ${this.#t.runs}
        where state = 1 and limited = 1 and owner is null and queue = ? and priority = ? and lane = ?${this.#claimable}
        order by run_at, id limit ?`,
      queue,
      priority,
      lane,
      limit,
    );
  }
}
