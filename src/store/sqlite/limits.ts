import { isKeyed, LAST, laneOf } from "../../run/lanes.ts";
import { Chooser, type Usage } from "../chooser.ts";
import { COLUMNS, claimable, LOOK, type Look, type Row, WINDOW } from "../sql/claim.ts";
import type { Tables } from "../sql/database.ts";
import type { Order } from "../sql/order.ts";
import type { ClaimRequest } from "../store.ts";
import type { Connection } from "./connection.ts";
import { remembered } from "./usage.ts";

/** Lanes that one claim walks at most. The next claim goes on from there, at once if nothing was found. */
const LANES = 512;

type Place = { priority: number; lane: string };

/** Where the walk over the lanes of a queue stands. */
interface Walk {
  /** Null: before the first lane. */
  at: Place | null;
  /** Whether it goes on to the last lane only: everything behind `at` was seen, or nothing is behind it. */
  isLast: boolean;
}

/** Finds runs that fit under their limits, without reading through those that do not. */
export class Looker {
  readonly #connection: Connection;
  readonly #t: Tables;
  readonly #walks = new Map<string, Walk>();
  /** The condition of the claim under way. */
  #claimable = "";

  constructor(connection: Connection, tables: Tables) {
    this.#connection = connection;
    this.#t = tables;
  }

  /**
   * Look, then choose: first the best of each queue in order, then, where closed lanes fill the view, lane by lane.
   * `more`: nothing was found yet, and not every lane was seen.
   */
  choose(
    queues: string[],
    usage: Usage,
    order: Order,
    request: ClaimRequest,
  ): { rows: Row[]; more: boolean } {
    const { limited: wanted } = request;
    if (wanted <= 0) return { rows: [], more: false };
    this.#claimable = claimable(request);
    const chooser = new Chooser(usage);
    const windows = queues.map((queue) => this.#window(queue));
    const looks = windows.flat();
    const seen = new Set(looks.map((look) => look.id));
    if (order.hasShares) looks.push(...this.#hidden(queues, windows, usage, seen, wanted));
    const chosen = order.pick(looks, wanted, (look) => chooser.take(look));
    let isOver = true;
    for (const [index, queue] of queues.entries()) {
      if (chosen.length >= wanted) break;
      if (windows[index]!.length < WINDOW) continue;
      const walked = this.#walkLanes(queue, chooser, seen, wanted - chosen.length);
      chosen.push(...walked.chosen);
      isOver &&= walked.isOver;
    }
    return {
      rows: chosen.length > 0 ? this.#load(chosen, chooser) : [],
      more: chosen.length === 0 && !isOver,
    };
  }

  /** Of queues with nothing to take in view: what other queues have must not keep them from their share. */
  #hidden(queues: string[], windows: Look[][], usage: Usage, seen: Set<number>, wanted: number): Look[] {
    const chooser = new Chooser(usage);
    return queues.flatMap((queue, index) => {
      const window = windows[index]!;
      if (window.length < WINDOW || window.some((look) => chooser.hasRoom(look))) return [];
      return this.#walkLanes(queue, chooser, seen, wanted).chosen;
    });
  }

  #load(chosen: Look[], chooser: Chooser): Row[] {
    const rows = this.#connection.select<Row>(
      `select ${COLUMNS} from ${this.#t.runs} where id in (select value from json_each(?))`,
      JSON.stringify(chosen.map(({ id }) => id)),
    );
    for (const row of rows) row.unkeyed = chooser.lacksKey(row);
    return rows;
  }

  #window(queue: string): Look[] {
    return this.#connection.select<Look>(
      `select ${LOOK} from ${this.#t.runs}
        where state = 1 and limited = 1 and owner is null and queue = ?${this.#claimable}
        order by priority, run_at, id limit ${WINDOW}`,
      queue,
    );
  }

  #walkLanes(
    queue: string,
    chooser: Chooser,
    seen: Set<number>,
    wanted: number,
  ): { chosen: Look[]; isOver: boolean } {
    const chosen: Look[] = [];
    if (chooser.isQueueFull(queue)) return { chosen, isOver: true };
    const mixes = remembered((name: string) => this.#mixes(name));
    const walk = this.#walks.get(queue) ?? { at: null, isLast: true };
    this.#walks.set(queue, walk);
    for (let walked = 0; walked < LANES && chosen.length < wanted; walked++) {
      const head = this.#laneAfter(queue, walk.at);
      if (!head && walk.isLast) {
        this.#walks.delete(queue);
        return { chosen, isOver: true };
      }
      if (!head) {
        Object.assign(walk, { at: null, isLast: true });
        continue;
      }
      walk.at = { priority: head.priority, lane: head.lane };
      if (!chooser.hasRoom(head)) {
        // The lanes of a job that can have no run taken are one step.
        if (isKeyed(head.lane, head.name) && chooser.isFull(head) && !mixes(head.name)) {
          walk.at.lane = laneOf(head.name, LAST);
        }
        continue;
      }
      for (const look of this.#lane(queue, head, wanted - chosen.length)) {
        if (seen.has(look.id)) continue;
        if (!chooser.take(look)) break;
        seen.add(look.id);
        chosen.push(look);
      }
    }
    if (chosen.length > 0) walk.isLast = false;
    return { chosen, isOver: false };
  }

  /** Whether the name of another job continues this one after the bar: their lanes are mixed. */
  #mixes(name: string): boolean {
    const other = this.#connection.row(
      `select 1 from ${this.#t.jobs} where name >= ? and name <= ? limit 1`,
      laneOf(name, null),
      laneOf(name, LAST),
    );
    return other !== undefined;
  }

  /** The first run of the lane that comes after a place. In two steps: `(priority, lane) > (?, ?)` walks the whole lane. */
  #laneAfter(queue: string, place: Place | null): Look | undefined {
    const first = (where: string, ...params: (string | number)[]) =>
      this.#connection.row<Look>(
        `select ${LOOK} from ${this.#t.runs}
          where state = 1 and limited = 1 and owner is null and queue = ?${this.#claimable} ${where}
          order by priority, lane, run_at, id limit 1`,
        queue,
        ...params,
      );
    if (!place) return first("");
    return (
      first("and priority = ? and lane > ?", place.priority, place.lane) ??
      first("and priority > ?", place.priority)
    );
  }

  #lane(queue: string, { priority, lane }: Place, limit: number): Look[] {
    return this.#connection.select<Look>(
      `select ${LOOK} from ${this.#t.runs}
        where state = 1 and limited = 1 and owner is null and queue = ? and priority = ? and lane = ?${this.#claimable}
        order by run_at, id limit ?`,
      queue,
      priority,
      lane,
      // The window's own rows of this lane come first and are passed over.
      limit + WINDOW,
    );
  }
}
