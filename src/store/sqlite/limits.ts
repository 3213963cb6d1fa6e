import { countSlots } from "../../run/chains.ts";
import { isKeyed, LAST, laneOf } from "../../run/lanes.ts";
import { linkChains, planChains } from "../chains.ts";
import { type Candidate, Chooser, type LimitUsage } from "../chooser.ts";
import {
  CANDIDATE_COLUMNS,
  type ClaimOrder,
  claimable,
  compareRuns,
  RUN_COLUMNS,
  type RunRow,
} from "../sql/claim.ts";
import type { Tables } from "../sql/database.ts";
import type { ClaimRequest } from "../store.ts";
import type { SqliteDatabase } from "./database.ts";
import { type LanePosition, laneAfter } from "./lanes.ts";

/** Lanes that one claim walks at most. The next claim continues the walk, at once if this one took nothing. */
const LANES = 512;

/** The walk over the lanes of one queue. It is kept between claims. */
interface Walk {
  /** The last lane that was read; null: none yet. */
  at: LanePosition | null;
  /** Whether the walk is over at the last lane. False: it starts over there, to read the lanes before `at` as well. */
  isLastLap: boolean;
}

/** Finds runs that fit under their limits, without reading every run that does not fit. */
export class Limits {
  readonly #db: SqliteDatabase;
  readonly #t: Tables;
  readonly #walks = new Map<string, Walk>();
  /** The condition of the runs that the current claim may take, as SQL. */
  #claimable = "";
  /** How many runs the current claim reads of each queue. */
  #window = 0;

  constructor(db: SqliteDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /**
   * Picks from the window of each queue first; then, where blocked runs fill the window, from lane to lane.
   * `isUnfinished`: nothing was chosen and the walk has not seen every lane yet.
   */
  choose(
    queues: string[],
    usage: LimitUsage,
    order: ClaimOrder,
    request: ClaimRequest,
  ): { rows: RunRow[]; isUnfinished: boolean } {
    const { limited: wanted } = request;
    if (wanted <= 0) return { rows: [], isUnfinished: false };
    this.#claimable = claimable(request);
    this.#window = request.window;
    const chooser = new Chooser(usage);
    const windows = new Map(queues.map((queue) => [queue, this.#readWindow(queue)]));
    const candidates = [...windows.values()].flat();
    const inOrder = candidates.toSorted(compareRuns);
    const seen = new Set(candidates.map(({ id }) => id));
    if (order.hasShares) candidates.push(...this.#findHidden(windows, usage, seen, wanted));
    const chosen = order.pick(candidates, wanted, (one) => chooser.take(one));
    let isOver = true;
    for (const [queue, window] of windows) {
      if (chosen.length >= wanted) break;
      if (window.length < this.#window) continue;
      const walked = this.#walkLanes(queue, chooser, seen, wanted - chosen.length);
      chosen.push(...walked.chosen);
      isOver &&= walked.isOver;
    }
    if (chosen.length === 0) return { rows: [], isUnfinished: !isOver };
    const plans = planChains(chosen, inOrder, chooser, request.behind);
    const followers = plans.flatMap((plan) => plan.followers);
    const rows = this.#readRows([...chosen, ...followers], chooser);
    const isChosen = new Set(chosen.map(({ id }) => id));
    const heads = rows.filter(({ id }) => isChosen.has(id));
    return { rows: [...heads, ...linkChains(plans, heads, rows, request.token)], isUnfinished: false };
  }

  #readWindow(queue: string): Candidate[] {
    return this.#db.select<Candidate>(
      `select ${CANDIDATE_COLUMNS} from ${this.#t.runs}
        where state = 1 and limited = 1 and owner is null and queue = ?${this.#claimable}
        order by priority, run_at, id limit ${this.#window}`,
      queue,
    );
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
      if (window.length < this.#window || window.some((one) => chooser.hasRoom(one))) return [];
      return this.#walkLanes(queue, chooser, seen, wanted).chosen;
    });
  }

  #readRows(chosen: Candidate[], chooser: Chooser): RunRow[] {
    const rows = this.#db.select<RunRow>(
      `select ${RUN_COLUMNS} from ${this.#t.runs} where id in (select value from json_each(?))`,
      JSON.stringify(chosen.map(({ id }) => id)),
    );
    for (const row of rows) row.unkeyed = chooser.lacksKey(row);
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
        // A job that can start no run is passed with all its lanes in one step.
        if (isKeyed(head.lane, head.name) && chooser.isJobFull(head) && !sharesPrefix(head.name)) {
          walk.at.lane = laneOf(head.name, LAST);
        }
        continue;
      }
      for (const one of this.#readLane(queue, head, wanted - chosen.length)) {
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
      // Runs of this lane that are in the window come first; the caller skips them.
      limit + this.#window,
    );
  }
}

/**
 * Returns the usage of limits for one claim; each number is read when it is first needed. Every running run counts,
 * whether or not the limit existed when it was claimed; a chain counts once.
 */
export function readUsage(
  db: SqliteDatabase,
  t: Tables,
  request: Pick<ClaimRequest, "computesKey">,
  closed: Set<string>,
): LimitUsage {
  const limits = memoize((name: string) =>
    db.row<{ lim: number; key_lim: number }>(`select lim, key_lim from ${t.jobs} where name = ?`, name),
  );
  const count = (where: string, ...params: string[]) =>
    countSlots(
      db
        .select<{ token: string }>(
          `select lease_token as token from ${t.runs} where state = 2 and owner is null and ${where}`,
          ...params,
        )
        .map(({ token }) => token),
    );
  return {
    isClosed: (name) => closed.has(name),
    computesKey: (name) => request.computesKey(name),
    jobLimit: (name) => limits(name)?.lim ?? 0,
    keyLimit: (name) => limits(name)?.key_lim ?? 0,
    queueLimit: memoize(
      (queue: string) =>
        db.row<{ lim: number }>(`select lim from ${t.queues} where name = ?`, queue)?.lim ?? 0,
    ),
    runningOfJob: (name) => count("name = ?", name),
    runningOfLane: (name, lane) => count("name = ? and lane = ?", name, lane),
    runningOfQueue: (queue) => count("queue = ?", queue),
  };
}

function memoize<Value>(find: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    if (!known.has(key)) known.set(key, find(key));
    return known.get(key)!;
  };
}
