import { Chooser, type LimitUsage } from "../chooser.ts";
import { MOST_LANES, openLanes } from "../open-lanes.ts";
import { serves } from "../queue-selection.ts";
import {
  ClaimOrder,
  claimable,
  leaseFor,
  merge,
  PROMOTED,
  RECALLED_COLUMNS,
  type RecalledRow,
  RUN_COLUMNS,
  type RunRow,
  takenBy,
  toClaimedRuns,
  toRecalledRuns,
} from "../sql/claim.ts";
import type { Param, Tables } from "../sql/database.ts";
import { keyAtStart } from "../sql/new-run.ts";
import { cancelledOf } from "../sql/settle.ts";
import type { ClaimedRun, ClaimRequest, PausedNames } from "../store.ts";
import type { SqliteDatabase } from "./database.ts";
import { type LanePosition, laneAfter } from "./lanes.ts";
import { Limits, readUsage } from "./limits.ts";

const KEY = keyAtStart("?");

/**
 * The claim on SQLite. Its caller holds the write lock, so nothing that the claim reads changes before the claim writes:
 * limits need no gates here.
 */
export class Claimer {
  readonly #db: SqliteDatabase;
  readonly #t: Tables;
  readonly #limits: Limits;

  constructor(db: SqliteDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
    this.#limits = new Limits(db, tables);
  }

  /** `isUnfinished`: ready runs are left that the claim has not looked at. */
  claim(
    request: ClaimRequest,
    worker: string,
    now: number,
    paused: PausedNames,
  ): { claimed: ClaimedRun[]; isUnfinished: boolean } {
    const closed = new Set([...request.exclude, ...paused.jobs]);
    const queues = this.#openQueues(request, paused);
    const order = new ClaimOrder(request);
    const usage = readUsage(this.#db, this.#t, request, closed);
    const { unlimited, strays } = this.#findUnlimited(request, queues, closed, usage);
    this.#setLimitHint(strays);
    const limited = this.#limits.choose(queues, usage, order, request);
    const rows = merge(unlimited, limited.rows, order, request);
    this.#take(rows, request, worker, now);
    return {
      claimed: toClaimedRuns(rows, request, now),
      isUnfinished: limited.isUnfinished || strays.length > 0,
    };
  }

  readPaused(now: number): PausedNames {
    const names = (text: string, ...params: Param[]) =>
      this.#db.select<{ name: string }>(text, ...params).map(({ name }) => name);
    return {
      jobs: names(`select name from ${this.#t.jobs} where paused_at is not null`),
      queues: names(
        `select name from ${this.#t.queues} where paused_at is not null and (paused_until is null or paused_until > ?)`,
        now,
      ),
    };
  }

  /** Returns the served queues that are not paused; if the request names none, those with ready runs. */
  #openQueues(request: ClaimRequest, paused: PausedNames): string[] {
    const pausedQueues = new Set(paused.queues);
    // A set: a queue that is named twice must not return its runs twice.
    const queues = new Set(request.queues ?? [...this.#readyQueues(0), ...this.#readyQueues(1)]);
    return [...queues].filter((queue) => serves(request, queue) && !pausedQueues.has(queue));
  }

  /** Steps along the index from each queue to the next: `distinct` would read every ready run. */
  *#readyQueues(limited: 0 | 1): Generator<string> {
    const next = `select min(queue) as queue from ${this.#t.runs} where state = 1 and limited = ${limited} and owner is null and queue > ?`;
    let queue: string | null = "";
    while (queue !== null) {
      queue = this.#db.row<{ queue: string | null }>(next, queue)?.queue ?? null;
      if (queue !== null) yield queue;
    }
  }

  /** Reads ready runs without the limit hint. `strays` are those that a limit holds by now. */
  #findUnlimited(
    request: ClaimRequest,
    queues: string[],
    closed: Set<string>,
    usage: LimitUsage,
  ): { unlimited: RunRow[]; strays: RunRow[] } {
    const unlimited = this.#db.select<RunRow>(
      `select ${RUN_COLUMNS} from ${this.#t.runs} where owner is not null and owner = ? and state = 1
        order by priority, run_at, id limit ?`,
      request.owner,
      request.limit,
    );
    const strays: RunRow[] = [];
    // The condition is left out where it excludes nothing: most processes define every job.
    const except = closed.size > 0 ? "and name not in (select value from json_each(?))" : "";
    const names = closed.size > 0 ? [JSON.stringify([...closed])] : [];
    for (const queue of queues) {
      const select = (where: string, ...params: Param[]) =>
        this.#db.select<RunRow>(
          `select ${RUN_COLUMNS} from ${this.#t.runs}
            where state = 1 and limited = 0 and owner is null and queue = ?${where}${claimable(request)} ${except}
            order by priority, run_at, id limit ?`,
          queue,
          ...params,
          ...names,
          request.limit,
        );
      const lanes = closed.size > 0 ? openLanes(this.#firstLanes(queue), closed) : null;
      const rows =
        lanes?.flatMap(({ priority, lane }) => select(" and priority = ? and lane = ?", priority, lane)) ??
        select("");
      const isLimited = ({ name }: RunRow) =>
        usage.queueLimit(queue) > 0 || usage.jobLimit(name) > 0 || usage.keyLimit(name) > 0;
      for (const row of rows) (isLimited(row) ? strays : unlimited).push(row);
    }
    return { unlimited, strays };
  }

  /** Returns the first lanes of a queue with runs without the limit hint. */
  #firstLanes(queue: string): LanePosition[] {
    const lanes: LanePosition[] = [];
    while (lanes.length <= MOST_LANES) {
      const next = laneAfter(this.#db, this.#t, { queue, limited: 0 }, lanes.at(-1) ?? null);
      if (!next) break;
      lanes.push(next);
    }
    return lanes;
  }

  /** Moves strays to the index of runs under limits, where `Limits` finds them. */
  #setLimitHint(strays: RunRow[]): void {
    if (strays.length === 0) return;
    this.#db.change(
      `update ${this.#t.runs} set limited = 1 where id in (select value from json_each(?))`,
      JSON.stringify(strays.map(({ id }) => id)),
    );
  }

  /**
   * Sends one statement for all runs with the same lease and token: one for each run takes 1.5 times as long
   * (bench/subjects/drain.ts).
   */
  #take(rows: RunRow[], request: ClaimRequest, worker: string, now: number): void {
    const groups = Map.groupBy(rows, (row) =>
      JSON.stringify([leaseFor(row.name, request), row.starts ?? false, row.token ?? request.token]),
    );
    for (const [key, group] of groups) {
      const [lease, started, token] = JSON.parse(key) as [number, boolean, string];
      this.#db.change(
        `update ${this.#t.runs}
            set state = 2, attempts = attempts + 1, lease_token = ?, locked_by = ?, locked_until = ?, started_at = ?,
                unique_key = ${KEY.unique_key}, unique_scope = ${KEY.unique_scope}
          where id in (select value from json_each(?))`,
        token,
        worker,
        now + lease,
        started ? now : null,
        now,
        JSON.stringify(group.map(({ id }) => id)),
      );
    }
  }

  /** Turns scheduled runs that are due into ready ones. */
  promote(now: number): void {
    this.#db.change(
      `update ${this.#t.runs} set state = 1 where id in
         (select id from ${this.#t.runs} where state = 0 and run_at <= ? order by run_at, id limit ${PROMOTED})`,
      now,
    );
  }

  nextDue(): number | null {
    const next = this.#db.row<{ run_at: number }>(
      `select run_at from ${this.#t.runs} where state = 0 order by run_at, id limit 1`,
    );
    return next?.run_at ?? null;
  }

  /** Whether a claim could find ready runs. Reads one row of each index: no index begins with the state alone. */
  hasReady(request: Pick<ClaimRequest, "owner" | "crashed">): boolean {
    const exists = (where: string, ...params: string[]) =>
      this.#db.row(`select 1 from ${this.#t.runs} where state = 1 and ${where} limit 1`, ...params) !==
      undefined;
    return (
      exists(`limited = 0 and owner is null${claimable(request)}`) ||
      exists(`limited = 1 and owner is null${claimable(request)}`) ||
      exists("owner is not null and owner = ?", request.owner)
    );
  }

  /** Returns the runs of this worker with a cancellation request. */
  cancelledOf(worker: string): number[] {
    return this.#db.select<{ id: number }>(cancelledOf(this.#db, this.#t), worker).map((row) => row.id);
  }

  /** Returns the runs that an earlier try of this claim took; its answer was lost. */
  recall(request: ClaimRequest, worker: string, now: number): ClaimedRun[] {
    const taken = takenBy(request);
    const rows = this.#db.select<RecalledRow>(
      `select ${RECALLED_COLUMNS} from ${this.#t.runs} where state = 2 and locked_by = ? and ${taken.text}`,
      worker,
      ...taken.params,
    );
    const chooser = new Chooser(readUsage(this.#db, this.#t, request, new Set()));
    return toRecalledRuns(rows, chooser, now);
  }
}
