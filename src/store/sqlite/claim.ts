import { Chooser } from "../choose.ts";
import type { Tables } from "../sql/database.ts";
import type { ClaimedRun, ClaimRequest } from "../store.ts";
import type { Connection } from "./connection.ts";
import { UNTIL_STARTED } from "./insert.ts";

/** How many runs under limits are looked at in order, before lanes are walked instead. */
const WINDOW = 64;

/** How many lanes one claim walks at most; the next claim goes on from there. */
const LANES = 512;

/** How many due runs one claim turns from scheduled to ready. */
const PROMOTED = 1000;

interface Row {
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
  owner: string | null;
  tags: string | null;
  parent_id: number | null;
  batch_id: string | null;
  expires_at: number | null;
  traceparent: string | null;
  schedule: number | null;
  tick_at: number | null;
  created_at: number;
}

const COLUMNS =
  "id, name, queue, lane, limited, priority, run_at, args, attempts, crashes, timeout, owner, tags, parent_id, batch_id, expires_at, traceparent, schedule, tick_at, created_at";

const inOrder = (a: Row, b: Row) => a.priority - b.priority || a.run_at - b.run_at || a.id - b.id;

/** Where the lane walk of a queue stopped. */
type Place = { priority: number; lane: string };

/** The claim, wholly SQLite's own: the write lock is the gate, so what is counted cannot change before it is taken. */
export class Claimer {
  readonly #connection: Connection;
  readonly #t: Tables;
  readonly #places = new Map<string, Place>();

  constructor(connection: Connection, tables: Tables) {
    this.#connection = connection;
    this.#t = tables;
  }

  promote(now: number): void {
    this.#connection.change(
      `update ${this.#t.runs} set state = 1 where id in
         (select id from ${this.#t.runs} where state = 0 and run_at <= ? order by run_at, id limit ${PROMOTED})`,
      now,
    );
  }

  nextDue(): number | null {
    const next = this.#connection.row<{ run_at: number }>(
      `select run_at from ${this.#t.runs} where state = 0 order by run_at, id limit 1`,
    );
    return next?.run_at ?? null;
  }

  /** Read only, and cheap: whether a claim could find anything at all. */
  anyReady(): boolean {
    return this.#connection.row(`select 1 from ${this.#t.runs} where state = 1 limit 1`) !== undefined;
  }

  claimedUnder(token: string, worker: string, now: number): ClaimedRun[] {
    const rows = this.#connection.rows<Row & { started_at: number | null }>(
      `select ${COLUMNS}, started_at from ${this.#t.runs} where state = 2 and locked_by = ? and lease_token = ?`,
      worker,
      token,
    );
    return rows.sort(inOrder).map((row) => toClaimed(row, token, now, row.started_at !== null));
  }

  claim(request: ClaimRequest, worker: string, now: number): ClaimedRun[] {
    const closed = new Set([...request.exclude, ...this.#pausedJobs()]);
    const queues = this.#openQueues(request.queues, now);
    const free = this.#unlimited(request, queues, closed);
    const limited = this.#limited(request, queues, closed);
    const chosen = merge(free, limited, request);
    // A run with a crash behind it waits until it can run alone: it is marked as started by then, not now.
    const starts = (row: Row, index: number) => index < request.start && row.crashes === 0;
    this.#take(chosen, starts, request, worker, now);
    return chosen.map((row, index) => {
      row.attempts++;
      return toClaimed(row, request.token, now, starts(row, index));
    });
  }

  /** One statement for all that get the same lease: a statement for each run costs half as much again (bench/sqlite.ts). */
  #take(
    rows: Row[],
    starts: (row: Row, index: number) => boolean,
    request: ClaimRequest,
    worker: string,
    now: number,
  ): void {
    const alike = Map.groupBy(rows.entries(), ([index, row]) =>
      JSON.stringify([request.leases[row.name] ?? request.lease, starts(row, index)]),
    );
    for (const [key, group] of alike) {
      const [lease, started] = JSON.parse(key) as [number, boolean];
      this.#connection.change(
        `update ${this.#t.runs}
            set state = 2, attempts = attempts + 1, lease_token = ?, locked_by = ?, locked_until = ?, started_at = ?,
                unique_key = case when unique_scope = ${UNTIL_STARTED} and coalesce(unique_until, 0) <= ? then null else unique_key end
          where id in (select value from json_each(?))`,
        request.token,
        worker,
        now + lease,
        started ? now : null,
        now,
        JSON.stringify(group.map(([, row]) => row.id)),
      );
    }
  }

  #unlimited(request: ClaimRequest, queues: string[], closed: Set<string>): Row[] {
    const found = this.#connection.rows<Row>(
      `select ${COLUMNS} from ${this.#t.runs} where state = 1 and owner is not null and owner = ?
        order by priority, run_at, id limit ?`,
      request.owner,
      request.limit,
    );
    // The list goes into the statement only when there is one: most processes define every job there is.
    const but = closed.size > 0 ? "and name not in (select value from json_each(?))" : "";
    const list = closed.size > 0 ? [JSON.stringify([...closed])] : [];
    for (const queue of queues) {
      const arm = this.#connection.rows<Row>(
        `select ${COLUMNS} from ${this.#t.runs}
          where state = 1 and limited = 0 and owner is null and queue = ? ${but}
          order by priority, run_at, id limit ?`,
        queue,
        ...list,
        request.limit,
      );
      found.push(...arm);
    }
    return found.sort(inOrder);
  }

  /** Look, then choose: first the best of each queue in order, then, where closed lanes fill the view, lane by lane. */
  #limited(request: ClaimRequest, queues: string[], closed: Set<string>): Row[] {
    if (request.start <= 0) return [];
    const chooser = new Chooser(this.#usage(closed));
    const windows = queues.map((queue) => this.#window(queue));
    const chosen: Row[] = [];
    for (const row of windows.flat().sort(inOrder)) {
      if (chosen.length >= request.start) break;
      if (chooser.take(row)) chosen.push(row);
    }
    const seen = new Set(windows.flat().map((row) => row.id));
    for (const [index, queue] of queues.entries()) {
      if (chosen.length >= request.start) break;
      if (windows[index]!.length < WINDOW) continue;
      chosen.push(...this.#walkLanes(queue, chooser, seen, request.start - chosen.length));
    }
    return chosen.sort(inOrder);
  }

  #window(queue: string): Row[] {
    return this.#connection.rows<Row>(
      `select ${COLUMNS} from ${this.#t.runs}
        where state = 1 and limited = 1 and owner is null and queue = ?
        order by priority, run_at, id limit ${WINDOW}`,
      queue,
    );
  }

  #walkLanes(queue: string, chooser: Chooser, seen: Set<number>, wanted: number): Row[] {
    const chosen: Row[] = [];
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
      place = { priority: head.priority, lane: head.lane };
      for (const row of this.#lane(queue, place, wanted - chosen.length)) {
        if (seen.has(row.id)) continue;
        if (!chooser.take(row)) break;
        seen.add(row.id);
        chosen.push(row);
      }
    }
    if (place) this.#places.set(queue, place);
    else this.#places.delete(queue);
    return chosen;
  }

  #laneAfter(queue: string, place: Place | undefined): Place | undefined {
    const after = place ? "and (priority, lane) > (?, ?)" : "";
    return this.#connection.row<Place>(
      `select priority, lane from ${this.#t.runs}
        where state = 1 and limited = 1 and owner is null and queue = ? ${after}
        order by priority, lane limit 1`,
      queue,
      ...(place ? [place.priority, place.lane] : []),
    );
  }

  #lane(queue: string, { priority, lane }: Place, limit: number): Row[] {
    return this.#connection.rows<Row>(
      `select ${COLUMNS} from ${this.#t.runs}
        where state = 1 and limited = 1 and owner is null and queue = ? and priority = ? and lane = ?
        order by run_at, id limit ?`,
      queue,
      priority,
      lane,
      // The window's own rows of this lane come first and are passed over.
      limit + WINDOW,
    );
  }

  #pausedJobs(): string[] {
    return this.#connection
      .rows<{ name: string }>(`select name from ${this.#t.jobs} where paused_at is not null`)
      .map((row) => row.name);
  }

  /** The queues that have ready runs, found by hopping along the index from one to the next. */
  #openQueues(wanted: string[] | null, now: number): string[] {
    const paused = new Set(
      this.#connection
        .rows<{ name: string }>(
          `select name from ${this.#t.queues} where paused_at is not null and coalesce(paused_until, ?) >= ?`,
          now,
          now,
        )
        .map((row) => row.name),
    );
    const queues = wanted ?? [...new Set([...this.#hop(0), ...this.#hop(1)])];
    return queues.filter((queue) => !paused.has(queue));
  }

  *#hop(limited: 0 | 1): Generator<string> {
    const next = `select min(queue) as queue from ${this.#t.runs} where state = 1 and limited = ${limited} and owner is null and queue > ?`;
    let queue: string | null = "";
    while (queue !== null) {
      queue = this.#connection.row<{ queue: string | null }>(next, queue)?.queue ?? null;
      if (queue !== null) yield queue;
    }
  }

  #usage(closed: Set<string>): ConstructorParameters<typeof Chooser>[0] {
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

/** The best of both in order; a run under a limit is only taken where it starts at once. */
function merge(free: Row[], limited: Row[], { limit, start }: ClaimRequest): Row[] {
  const chosen: Row[] = [];
  let f = 0;
  let l = 0;
  while (chosen.length < limit) {
    const one = free[f];
    const other = chosen.length < start ? limited[l] : undefined;
    if (one && (!other || inOrder(one, other) < 0)) {
      chosen.push(one);
      f++;
    } else if (other) {
      chosen.push(other);
      l++;
    } else break;
  }
  return chosen;
}

function toClaimed(row: Row, token: string, now: number, started: boolean): ClaimedRun {
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
  };
}

function remembered<Value>(find: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    if (!known.has(key)) known.set(key, find(key));
    return known.get(key)!;
  };
}
