import { Chooser, type NextOpening } from "../chooser.ts";
import { laneShares, lanesToList } from "../fair-lanes.ts";
import { serves } from "../queue-selection.ts";
import { movedBuckets, spentBuckets } from "../rate-spending.ts";
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
import {
  behind,
  type ClaimWindow,
  growth,
  MOST_OPEN_LANES,
  openLanes,
  WindowSizes,
  windowsToGrow,
} from "../sql/claim-windows.ts";
import type { Param, Tables } from "../sql/database.ts";
import { keyAtStart } from "../sql/new-run.ts";
import { bucketWrites } from "../sql/rates.ts";
import { cancelledOf } from "../sql/settle.ts";
import type { ClaimedRun, ClaimRequest, PausedNames } from "../store.ts";
import type { SqliteDatabase } from "./database.ts";
import { fairLanes, type LanePosition, laneAfter } from "./lanes.ts";
import { readUsage } from "./limit-usage.ts";
import { Limits } from "./limits.ts";

/** A queue, or one lane of it, in which a claim looks for runs without the limit hint. */
interface ClaimTarget {
  queue: string;
  lane: LanePosition | null;
  /** Names of closed jobs, as JSON; null: there are none. */
  closed: string | null;
  /** See `ClaimWindow`. */
  first?: number;
  /** Whether the claim reads this lane only if those before it have too few runs. */
  isSpare?: boolean;
}

interface ReadyWindow extends ClaimWindow, ClaimTarget {
  lane: LanePosition | null;
}

const KEY = keyAtStart("?");

/**
 * The claim on SQLite. Its caller holds the write lock, so nothing that the claim reads changes before the claim
 * writes: limits need no gates here.
 */
export class Claimer {
  readonly #db: SqliteDatabase;
  readonly #t: Tables;
  readonly #limits: Limits;
  readonly #sizes = new WindowSizes();

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
  ): { claimed: ClaimedRun[]; isUnfinished: boolean; opening: NextOpening } {
    const closed = new Set([...request.exclude, ...paused.jobs]);
    const queues = this.#openQueues(request, paused);
    const order = new ClaimOrder(request);
    const usage = readUsage(this.#db, this.#t, { request, closed, now });
    const isLimited = ({ queue, name }: RunRow) => usage.isLimited(queue, name);
    const targets = request.limit > 0 ? this.#targets(queues, closed, request) : [];
    const { unlimited, strays } = this.#findUnlimited(request, targets, order, isLimited);
    this.#setLimitHint(strays);
    const limited = this.#limits.choose(queues, usage, order, request);
    const rows = merge(unlimited, limited.rows, order, request);
    this.#sizes.took(rows);
    request.rotation?.took(rows);
    this.#take(rows, request, worker, now);
    const spent = [...movedBuckets(limited.chooser.ratesSetBack()), ...spentBuckets(rows, limited.chooser)];
    for (const { text, params } of bucketWrites(this.#t, spent)) this.#db.change(text, ...params);
    return {
      claimed: toClaimedRuns(rows, request, now),
      isUnfinished: limited.isUnfinished || strays.length > 0,
      opening: limited.opening,
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
    targets: ClaimTarget[],
    order: ClaimOrder,
    isLimited: (run: RunRow) => boolean,
  ): { unlimited: RunRow[]; strays: RunRow[] } {
    const unlimited = this.#db.select<RunRow>(
      `select ${RUN_COLUMNS} from ${this.#t.runs} where owner is not null and owner = ? and state = 1
        order by priority, run_at, id limit ?`,
      request.owner,
      request.limit,
    );
    const strays: RunRow[] = [];
    const extend = (window: ReadyWindow, count: number) => {
      const found = this.#readBehind(window, request, count);
      window.rows.push(...found);
      window.size += count;
      for (const row of found) (isLimited(row) ? strays : unlimited).push(row);
    };
    const windows = targets.map((target): ReadyWindow => ({ ...target, rows: [], size: 0 }));
    for (const window of windows) {
      if (window.isSpare) continue;
      extend(window, window.first ?? this.#sizes.first(window.queue, windows.length, request.limit));
    }
    this.#passHidden(windows, request, extend);
    const growing = () => windowsToGrow(windows, unlimited, order, request);
    for (let group = growing(); group.length > 0; group = growing()) {
      for (const window of group) extend(window, growth(window, request.limit));
    }
    return { unlimited, strays };
  }

  /** Reads fair queues in order whose first lanes have no run for this claim: runs of closed jobs fill these lanes. */
  #passHidden(
    windows: ReadyWindow[],
    { rotation, limit }: ClaimRequest,
    extend: (window: ReadyWindow, count: number) => void,
  ): void {
    const byQueue = Map.groupBy(
      windows.filter(({ first }) => first !== undefined),
      ({ queue }) => queue,
    );
    for (const [queue, some] of byQueue) {
      if (some.length < lanesToList(limit) || some.some(({ rows }) => rows.length > 0)) continue;
      const last = some.at(-1)!;
      rotation?.pass({ queue, ...last.lane! });
      const whole: ReadyWindow = { queue, lane: null, closed: last.closed, rows: [], size: 0 };
      windows.push(whole);
      extend(whole, limit);
    }
  }

  #readBehind({ queue, lane, closed, rows }: ReadyWindow, request: ClaimRequest, count: number): RunRow[] {
    const ofLane = lane ? " and priority = ? and lane = ?" : "";
    const last = rows.at(-1);
    const further = last ? behind(last) : { text: "", params: [] };
    // The condition is left out where it excludes nothing: most processes define every job.
    const except = closed === null ? "" : "and name not in (select value from json_each(?))";
    return this.#db.select<RunRow>(
      `select ${RUN_COLUMNS} from ${this.#t.runs}
        where state = 1 and limited = 0 and owner is null and queue = ?${ofLane}${further.text}${claimable(request)} ${except}
        order by priority, run_at, id limit ?`,
      queue,
      ...(lane ? [lane.priority, lane.lane] : []),
      ...further.params,
      ...(closed === null ? [] : [closed]),
      count,
    );
  }

  /** Returns where a claim looks: in whole queues, except those with runs of closed jobs, which it reads by lane. */
  #targets(queues: string[], closed: Set<string>, { rotation, limit }: ClaimRequest): ClaimTarget[] {
    const names = closed.size > 0 ? JSON.stringify([...closed]) : null;
    return queues.flatMap((queue): ClaimTarget[] => {
      if (rotation?.isFair(queue)) {
        const found = fairLanes(this.#db, this.#t, { queue, limited: 0, rotation, wanted: limit });
        return laneShares(rotation, found, limit).map(({ lane, runs, isFirst }) => ({
          queue,
          lane,
          closed: names,
          first: runs,
          isSpare: !isFirst,
        }));
      }
      const lanes = closed.size > 0 ? openLanes(this.#firstLanes(queue), closed) : null;
      return (lanes ?? [null]).map((lane) => ({ queue, lane, closed: names }));
    });
  }

  /** Returns the first lanes of a queue with runs without the limit hint. */
  #firstLanes(queue: string): LanePosition[] {
    const lanes: LanePosition[] = [];
    while (lanes.length <= MOST_OPEN_LANES) {
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

  /** Makes scheduled runs ready that are due. */
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

  /**
   * Whether a claim could find ready runs. Reads one row of each index: no index begins with the state alone.
   * `isClosed`: no run with the limit hint can start.
   */
  hasReady(request: Pick<ClaimRequest, "owner" | "crashed">, isClosed: boolean): boolean {
    const exists = (where: string, ...params: string[]) =>
      this.#db.row(`select 1 from ${this.#t.runs} where state = 1 and ${where} limit 1`, ...params) !==
      undefined;
    return (
      exists(`limited = 0 and owner is null${claimable(request)}`) ||
      (!isClosed && exists(`limited = 1 and owner is null${claimable(request)}`)) ||
      exists("owner is not null and owner = ?", request.owner)
    );
  }

  /**
   * Returns a text that differs once another process has inserted a run, has given one back that was under a limit, has
   * paused or resumed something, or an operator has acted. Every heartbeat of a worker changes the file, and is no
   * news. `read`: what the exchange has read already.
   */
  readNews(read: { nextDue: number | null; paused: PausedNames }): string {
    const { runs, audit } = this.#t;
    const row = this.#db.row(
      `select (select max(id) from ${runs}) as newest, (select max(id) from ${audit}) as action,
              count(*) as held, sum(id) as ids from ${runs} where state = 2 and limited = 1`,
    );
    return JSON.stringify([row, read]);
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
    const chooser = new Chooser(readUsage(this.#db, this.#t, { request, closed: new Set(), now }));
    return toRecalledRuns(rows, chooser, now);
  }
}
