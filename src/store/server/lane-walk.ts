import { LAST, laneOf } from "../../run/lanes.ts";
import type { Candidate, Chooser } from "../chooser.ts";
import { CANDIDATE_COLUMNS } from "../sql/claim.ts";
import type { ServerDatabase, Sql, Statement, Tables } from "../sql/database.ts";
import { readTogether } from "./round-trips.ts";

/** Lanes of a queue that one step reads. */
const LANES = 64;

/** Runs of one lane that a step reads at most, beyond those the claim has seen. */
const RUNS_PER_LANE = 16;

export interface LanePosition {
  priority: number;
  lane: string;
}

export const START: LanePosition = { priority: -(2 ** 31), lane: "" };

/**
 * The condition of a lane. The priority is part of the text: as a parameter it is sent as a double, and MariaDB then
 * sorts all runs of the lane, and locks them.
 */
export function inLane({ priority, lane }: LanePosition): Statement {
  return { text: ` and priority = ${priority} and lane = ?`, params: [lane] };
}

/** The walk over the lanes of one queue. It is kept between claims. */
interface QueueWalk {
  /** The last lane that was read. */
  at: LanePosition;
  /** Whether the walk is over at the last lane. False: it starts over there, to read the lanes before `at` as well. */
  isLastLap: boolean;
}

/** State of the claim when the walk takes a step. */
interface View {
  /** Runs that the claim has seen. */
  candidates: Candidate[];
  chooser: Chooser;
  wanted: number;
  /** A condition of SQL. */
  claimable: string;
}

/** Finds runs under limits beyond a queue's window, lane by lane, so that blocked lanes cost one step each (note 5). */
export class LaneWalk {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly #walks = new Map<string, QueueWalk>();

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /** Takes a step in each queue. Returns runs that the claim has not seen, and the queues with lanes left to read. */
  async step(tx: Sql, queues: string[], view: View): Promise<{ found: Candidate[]; unfinished: string[] }> {
    const closed = await this.#closedPrefixes(tx, view);
    const found: Candidate[][] = [];
    const unfinished: string[] = [];
    for (const queue of queues) {
      const { lanes, isOver } = await this.#readLanes(tx, queue, view, closed);
      found.push(await this.#readRuns(tx, queue, lanes, view));
      if (!isOver) unfinished.push(queue);
    }
    return { found: found.flat(), unfinished };
  }

  /** Called when a claim takes runs: the next claim continues the walk here, and then reads the earlier lanes too. */
  addLap(queue: string): void {
    const walk = this.#walks.get(queue);
    if (walk) walk.isLastLap = false;
  }

  /**
   * Returns the common prefix of the lanes of each job that can start no run, whatever the key. A job is left out if
   * the name of another job continues this prefix: lanes of both are mixed in the index.
   */
  async #closedPrefixes(tx: Sql, { candidates, chooser }: View): Promise<string[]> {
    const full = candidates.filter((one) => chooser.isJobFull(one)).map(({ name }) => name);
    const lanes = [...new Set(full)].map((name) => [laneOf(name, null), laneOf(name, LAST)]);
    if (lanes.length === 0) return [];
    const rows = await tx.all<{ name: string; other: string | null }>(
      `select v.name, (select min(j.name) from ${this.#t.jobs} j where j.name >= v.name and j.name <= v.last) as other
         from ${this.#db.rows({ name: "text", last: "text" })} v`,
      JSON.stringify(lanes),
    );
    return rows.filter(({ other }) => other === null).map(({ name }) => name);
  }

  /** Reads the next lanes of a queue and returns those that are not known to be blocked. */
  async #readLanes(
    tx: Sql,
    queue: string,
    { candidates, chooser }: View,
    closed: string[],
  ): Promise<{ lanes: LanePosition[]; isOver: boolean }> {
    const walk = this.#walks.get(queue) ?? { at: START, isLastLap: true };
    this.#walks.set(queue, walk);
    const next = this.#db.readyLanes(this.#t, { queue, limited: 1 }, walk.at, LANES);
    const read = await tx.all<LanePosition>(next.text, ...next.params);
    const seen = Map.groupBy(
      candidates.filter((one) => one.queue === queue),
      ({ lane }) => lane,
    );
    const lanes: LanePosition[] = [];
    let isEnd = read.length < LANES;
    for (const position of read) {
      walk.at = position;
      const prefix = closed.find((lane) => position.lane.startsWith(lane));
      if (prefix !== undefined) {
        // The next step continues behind all lanes of the closed job.
        walk.at = { priority: position.priority, lane: prefix + LAST };
        isEnd = false;
        break;
      }
      if (seen.get(position.lane)?.some((one) => chooser.hasRoom(one)) ?? true) lanes.push(position);
    }
    const isOver = isEnd && walk.isLastLap;
    if (isOver) this.#walks.delete(queue);
    else if (isEnd) this.#walks.set(queue, { at: START, isLastLap: true });
    return { lanes, isOver };
  }

  /** Reads the first runs of lanes, without those that the claim has seen. */
  async #readRuns(
    tx: Sql,
    queue: string,
    lanes: LanePosition[],
    { candidates, wanted, claimable }: View,
  ): Promise<Candidate[]> {
    const seen = candidates.filter((one) => one.queue === queue);
    const seenOf = Map.groupBy(seen, ({ lane }) => lane);
    const selects = lanes.map((position): Statement => {
      const { text, params } = inLane(position);
      const most = (seenOf.get(position.lane)?.length ?? 0) + Math.min(wanted, RUNS_PER_LANE);
      return {
        text: `select ${CANDIDATE_COLUMNS} from ${this.#t.runs}${this.#db.using(this.#t.runs, "lanes")}
                where state = 1 and limited = 1 and owner is null and queue = ?${text}${claimable}
                order by run_at, id limit ?`,
        params: [queue, ...params, most],
      };
    });
    const known = new Set(seen.map(({ id }) => id));
    return (await readTogether<Candidate>(tx, this.#db, selects)).filter(({ id }) => !known.has(id));
  }
}
