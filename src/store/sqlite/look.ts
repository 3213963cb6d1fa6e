import { Chooser, type Usage } from "../choose.ts";
import { COLUMNS, claimable, LOOK, type Look, type Row, WINDOW } from "../sql/claimed.ts";
import type { Tables } from "../sql/database.ts";
import type { Order } from "../sql/order.ts";
import type { ClaimRequest } from "../store.ts";
import type { Connection } from "./connection.ts";

/** How many lanes one claim walks at most; the next claim goes on from there. */
const LANES = 512;

/** Where the lane walk of a queue stopped. */
type Place = { priority: number; lane: string };

/** Finds runs that fit under their limits, without reading through those that do not. */
export class Looker {
  readonly #connection: Connection;
  readonly #t: Tables;
  readonly #places = new Map<string, Place>();
  /** The condition of the claim under way. */
  #claimable = "";

  constructor(connection: Connection, tables: Tables) {
    this.#connection = connection;
    this.#t = tables;
  }

  /** Look, then choose: first the best of each queue in order, then, where closed lanes fill the view, lane by lane. */
  choose(queues: string[], closed: Set<string>, order: Order, request: ClaimRequest): Row[] {
    const { limited: wanted } = request;
    if (wanted <= 0) return [];
    this.#claimable = claimable(request);
    const chooser = new Chooser(this.#usage(closed));
    const windows = queues.map((queue) => this.#window(queue));
    const looks = windows.flat();
    const seen = new Set(looks.map((look) => look.id));
    if (order.hasShares) looks.push(...this.#hidden(queues, windows, closed, seen, wanted));
    const chosen = order.pick(looks, wanted, (look) => chooser.take(look));
    for (const [index, queue] of queues.entries()) {
      if (chosen.length >= wanted) break;
      if (windows[index]!.length < WINDOW) continue;
      chosen.push(...this.#walkLanes(queue, chooser, seen, wanted - chosen.length));
    }
    return chosen.length > 0 ? this.#load(chosen) : [];
  }

  /** Of queues with nothing to take in view: what other queues have must not keep them from their share. */
  #hidden(
    queues: string[],
    windows: Look[][],
    closed: Set<string>,
    seen: Set<number>,
    wanted: number,
  ): Look[] {
    const chooser = new Chooser(this.#usage(closed));
    return queues.flatMap((queue, index) => {
      const window = windows[index]!;
      if (window.length < WINDOW || window.some((look) => chooser.hasRoom(look))) return [];
      return this.#walkLanes(queue, chooser, seen, wanted);
    });
  }

  #load(chosen: Look[]): Row[] {
    return this.#connection.select<Row>(
      `select ${COLUMNS} from ${this.#t.runs} where id in (select value from json_each(?))`,
      JSON.stringify(chosen.map(({ id }) => id)),
    );
  }

  #window(queue: string): Look[] {
    return this.#connection.select<Look>(
      `select ${LOOK} from ${this.#t.runs}
        where state = 1 and limited = 1 and owner is null and queue = ?${this.#claimable}
        order by priority, run_at, id limit ${WINDOW}`,
      queue,
    );
  }

  #walkLanes(queue: string, chooser: Chooser, seen: Set<number>, wanted: number): Look[] {
    const chosen: Look[] = [];
    let place = this.#places.get(queue);
    let wrapped = place === undefined;
    for (let walked = 0; walked < LANES && chosen.length < wanted; walked++) {
      const head = this.#laneAfter(queue, place);
      if (!head) {
        if (wrapped) break;
        wrapped = true;
        place = undefined;
        continue;
      }
      place = head;
      if (!chooser.hasRoom(head)) continue;
      for (const look of this.#lane(queue, head, wanted - chosen.length)) {
        if (seen.has(look.id)) continue;
        if (!chooser.take(look)) break;
        seen.add(look.id);
        chosen.push(look);
      }
    }
    if (place) this.#places.set(queue, { priority: place.priority, lane: place.lane });
    else this.#places.delete(queue);
    return chosen;
  }

  /** The first run of the lane that comes after a place. In two steps: `(priority, lane) > (?, ?)` walks the whole lane. */
  #laneAfter(queue: string, place: Place | undefined): Look | undefined {
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

  #usage(closed: Set<string>): Usage {
    const limits = remembered((name: string) =>
      this.#connection.row<{ lim: number; key_lim: number }>(
        `select lim, key_lim from ${this.#t.jobs} where name = ?`,
        name,
      ),
    );
    const count = (text: string, ...params: string[]) =>
      this.#connection.row<{ n: number }>(
        `select count(*) as n from ${this.#t.runs} where state = 2 and limited = 1 and ${text}`,
        ...params,
      )!.n;
    return {
      isClosed: (name) => closed.has(name),
      jobLimit: (name) => limits(name)?.lim ?? 0,
      keyLimit: (name) => limits(name)?.key_lim ?? 0,
      queueLimit: remembered(
        (queue: string) =>
          this.#connection.row<{ lim: number }>(`select lim from ${this.#t.queues} where name = ?`, queue)
            ?.lim ?? 0,
      ),
      runningOfJob: (name) => count("name = ?", name),
      runningOfLane: (name, lane) => count("name = ? and lane = ?", name, lane),
      runningOfQueue: (queue) => count("queue = ?", queue),
    };
  }
}

function remembered<Value>(find: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    if (!known.has(key)) known.set(key, find(key));
    return known.get(key)!;
  };
}
