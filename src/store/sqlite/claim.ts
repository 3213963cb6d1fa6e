import { Chooser, type Usage } from "../chooser.ts";
import { serves } from "../queue-selection.ts";
import {
  COLUMNS,
  claimable,
  leaseOf,
  merge,
  PROMOTED,
  type Row,
  startsAtOnce,
  toClaimed,
} from "../sql/claim.ts";
import type { Tables } from "../sql/database.ts";
import { keyAtStart } from "../sql/new-run.ts";
import { inOrder, Order } from "../sql/order.ts";
import { cancelledOf } from "../sql/settle.ts";
import type { ClaimedRun, ClaimRequest } from "../store.ts";
import type { Connection } from "./connection.ts";
import { Looker } from "./limits.ts";
import { readUsage } from "./usage.ts";

const KEY = keyAtStart("?");

/** The claim, wholly SQLite's own: the write lock is the gate, so what is counted cannot change before it is taken. */
export class Claimer {
  readonly #connection: Connection;
  readonly #t: Tables;
  readonly #looker: Looker;

  constructor(connection: Connection, tables: Tables) {
    this.#connection = connection;
    this.#t = tables;
    this.#looker = new Looker(connection, tables);
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

  /** Read only: whether a claim could find anything at all. One look into each index: the state alone is in none of them. */
  anyReady(request: Pick<ClaimRequest, "owner" | "crashed">): boolean {
    const any = (kind: string, ...params: string[]) =>
      this.#connection.row(`select 1 from ${this.#t.runs} where state = 1 and ${kind} limit 1`, ...params) !==
      undefined;
    return (
      any(`limited = 0 and owner is null${claimable(request)}`) ||
      any(`limited = 1 and owner is null${claimable(request)}`) ||
      any("owner is not null and owner = ?", request.owner)
    );
  }

  cancelledOf(worker: string): number[] {
    return this.#connection
      .select<{ id: number }>(cancelledOf(this.#connection, this.#t), worker)
      .map((row) => row.id);
  }

  claimedUnder(request: ClaimRequest, worker: string, now: number): ClaimedRun[] {
    const rows = this.#connection.select<Row & { started_at: number | null }>(
      `select ${COLUMNS}, started_at from ${this.#t.runs} where state = 2 and locked_by = ? and lease_token = ?`,
      worker,
      request.token,
    );
    const chooser = new Chooser(readUsage(this.#connection, this.#t, request, new Set()));
    return rows.sort(inOrder).map((row) => {
      const unkeyed = row.owner === null && chooser.lacksKey(row);
      return toClaimed({ ...row, unkeyed }, request.token, now, row.started_at !== null);
    });
  }

  claim(request: ClaimRequest, worker: string, now: number): { claimed: ClaimedRun[]; more: boolean } {
    const closed = new Set([...request.exclude, ...this.#pausedJobs()]);
    const queues = this.#openQueues(request, now);
    const order = new Order(request);
    const usage = readUsage(this.#connection, this.#t, request, closed);
    const { free, strays } = this.#unlimited(request, queues, closed, usage);
    this.#bind(strays);
    const limited = this.#looker.choose(queues, usage, order, request);
    const chosen = merge(free, limited.rows, order, request);
    this.#take(chosen, request, worker, now);
    const claimed = chosen.map((row, index) => {
      row.attempts++;
      return toClaimed(row, request.token, now, startsAtOnce(row, index, request));
    });
    return { claimed, more: limited.more || strays.length > 0 };
  }

  /** A limit was set after they were sorted among the unlimited ones: from now on they wait among those under limits. */
  #bind(strays: Row[]): void {
    if (strays.length === 0) return;
    this.#connection.change(
      `update ${this.#t.runs} set limited = 1 where id in (select value from json_each(?))`,
      JSON.stringify(strays.map(({ id }) => id)),
    );
  }

  /** One statement for all that get the same lease: a statement for each run costs half as much again (bench/sqlite.ts). */
  #take(rows: Row[], request: ClaimRequest, worker: string, now: number): void {
    const alike = Map.groupBy(rows.entries(), ([index, row]) =>
      JSON.stringify([leaseOf(row.name, request), startsAtOnce(row, index, request)]),
    );
    for (const [key, group] of alike) {
      const [lease, started] = JSON.parse(key) as [number, boolean];
      this.#connection.change(
        `update ${this.#t.runs}
            set state = 2, attempts = attempts + 1, lease_token = ?, locked_by = ?, locked_until = ?, started_at = ?,
                unique_key = ${KEY.unique_key}, unique_scope = ${KEY.unique_scope}
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

  /** `strays`: those that are under a limit after all. */
  #unlimited(
    request: ClaimRequest,
    queues: string[],
    closed: Set<string>,
    usage: Usage,
  ): { free: Row[]; strays: Row[] } {
    const free = this.#connection.select<Row>(
      `select ${COLUMNS} from ${this.#t.runs} where owner is not null and owner = ? and state = 1
        order by priority, run_at, id limit ?`,
      request.owner,
      request.limit,
    );
    const strays: Row[] = [];
    // The list goes into the statement only when there is one: most processes define every job there is.
    const but = closed.size > 0 ? "and name not in (select value from json_each(?))" : "";
    const list = closed.size > 0 ? [JSON.stringify([...closed])] : [];
    for (const queue of queues) {
      const arm = this.#connection.select<Row>(
        `select ${COLUMNS} from ${this.#t.runs}
          where state = 1 and limited = 0 and owner is null and queue = ?${claimable(request)} ${but}
          order by priority, run_at, id limit ?`,
        queue,
        ...list,
        request.limit,
      );
      const isBound = ({ name }: Row) =>
        usage.queueLimit(queue) > 0 || usage.jobLimit(name) > 0 || usage.keyLimit(name) > 0;
      for (const row of arm) (isBound(row) ? strays : free).push(row);
    }
    return { free, strays };
  }

  #pausedJobs(): string[] {
    return this.#connection
      .select<{ name: string }>(`select name from ${this.#t.jobs} where paused_at is not null`)
      .map((row) => row.name);
  }

  /** The queues that have ready runs, found by hopping along the index from one to the next. */
  #openQueues(request: ClaimRequest, now: number): string[] {
    const paused = new Set(
      this.#connection
        .select<{ name: string }>(
          `select name from ${this.#t.queues} where paused_at is not null and (paused_until is null or paused_until > ?)`,
          now,
        )
        .map((row) => row.name),
    );
    // A queue named twice would give its runs twice.
    const queues = new Set(request.queues ?? [...this.#hop(0), ...this.#hop(1)]);
    return [...queues].filter((queue) => serves(request, queue) && !paused.has(queue));
  }

  *#hop(limited: 0 | 1): Generator<string> {
    const next = `select min(queue) as queue from ${this.#t.runs} where state = 1 and limited = ${limited} and owner is null and queue > ?`;
    let queue: string | null = "";
    while (queue !== null) {
      queue = this.#connection.row<{ queue: string | null }>(next, queue)?.queue ?? null;
      if (queue !== null) yield queue;
    }
  }
}
