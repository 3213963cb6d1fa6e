import type { Rotation } from "../../run/rotation.ts";
import { splitFair } from "../fair-lanes.ts";
import { claimable, type OrderKey, RUN_COLUMNS, type RunRow } from "../sql/claim.ts";
import { behind, type ClaimWindow, growth, WindowSizes } from "../sql/claim-windows.ts";
import { SqlContext } from "../sql/context.ts";
import {
  type ColumnType,
  namesAsJson,
  type ServerDatabase,
  type Sql,
  type Statement,
  type Tables,
} from "../sql/database.ts";
import { limitHint } from "../sql/limit-hint.ts";
import type { ClaimRequest } from "../store.ts";
import { type ClaimTarget, claimTargets } from "./claim-facts.ts";
import type { ClaimSeries } from "./claim-series.ts";
import { fairWindows } from "./fair-lanes.ts";
import { inLane, type LanePosition } from "./lane-walk.ts";
import { readTogether } from "./round-trips.ts";

/**
 * A ready run without the limit hint. `bound` is 1 if a limit holds the run all the same: its insert and the sync that
 * set the limit passed each other (note 24).
 */
export type ReadyRow = RunRow & { bound: number };

/** The first ready runs of one claim target. */
export interface ReadyWindow extends ClaimWindow<ReadyRow>, ClaimTarget {
  lane: LanePosition | null;
}

/** A claim, and the jobs that are closed to it. */
export interface WindowScope {
  request: ClaimRequest;
  closed: Set<string>;
}

/** A position before every run. */
const HEAD: OrderKey = { priority: -(2 ** 31), run_at: -(2 ** 53), id: 0 };

/** Runs to read for a window. */
interface Extension {
  window: ReadyWindow;
  /** The run behind which it begins; null: at the head. */
  after: OrderKey | null;
  count: number;
}

/** Windows as rows of a list `v`, which has the columns `name` and `most`. */
interface WindowList {
  /** Conditions that compare a run with its row of the list. */
  where: string;
  columns: Record<string, ColumnType>;
  rows: (string | number)[][];
}

/** Locks and reads the first ready runs without the limit hint of each queue. */
export class ReadyWindows {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly sizes: WindowSizes = new WindowSizes();

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  async read(tx: Sql, scope: WindowScope, queues: string[], series: ClaimSeries): Promise<ReadyWindow[]> {
    const { limit, rotation } = scope.request;
    if (limit <= 0) return [];
    const [fair, others] = splitFair(queues, rotation);
    if (!rotation || fair.length === 0) return this.#readPlain(tx, scope, queues, series);
    const [plain, inTurn] = await Promise.all([
      this.#readPlain(tx, scope, others, series),
      this.#readFair(tx, scope, fair, rotation),
    ]);
    return [...plain, ...inTurn];
  }

  async #readPlain(
    tx: Sql,
    scope: WindowScope,
    queues: string[],
    series: ClaimSeries,
  ): Promise<ReadyWindow[]> {
    const { limit } = scope.request;
    const targets = await claimTargets(new SqlContext(this.#db, this.#t, tx), queues, scope.closed);
    const extensions = targets.map(
      (target): Extension => ({
        window: { ...target, rows: [], size: 0 },
        after: target.lane ? null : series.lastOf(target.queue),
        count: this.sizes.first(target.queue, targets.length, limit),
      }),
    );
    await this.#extend(tx, scope, extensions);
    return extensions.map(({ window }) => window);
  }

  /** Reads the lanes of fair queues in turn. */
  async #readFair(tx: Sql, scope: WindowScope, queues: string[], rotation: Rotation): Promise<ReadyWindow[]> {
    const { limit } = scope.request;
    const found = await fairWindows(new SqlContext(this.#db, this.#t, tx), queues, rotation, limit);
    const first = found.filter(({ isFirst }) => isFirst);
    await this.#extend(
      tx,
      scope,
      first.map(({ window }) => ({ window, after: null, count: growth(window, limit) })),
    );
    const windows = found.map(({ window }) => window);
    const hidden = queues.filter((queue) => {
      const ofQueue = found.filter(({ window }) => window.queue === queue);
      const isHidden = ofQueue.every(({ window, isComplete }) => window.rows.length === 0 && !isComplete);
      return ofQueue.length > 0 && isHidden;
    });
    if (hidden.length === 0) return windows;
    // Runs of closed jobs, or runs that other claims have locked, fill the first lanes: the next claim looks behind
    // them.
    for (const queue of hidden) {
      const { lane } = found.findLast(({ window }) => window.queue === queue)!.window;
      rotation.pass({ queue, ...lane! });
    }
    const whole = hidden.map((queue): Extension => {
      const window: ReadyWindow = { queue, lane: null, rows: [], size: 0 };
      return { window, after: null, count: limit };
    });
    await this.#extend(tx, scope, whole);
    return [...windows.filter(({ queue }) => !hidden.includes(queue)), ...whole.map(({ window }) => window)];
  }

  /** Reads on behind the last runs of these windows. */
  grow(tx: Sql, scope: WindowScope, windows: ReadyWindow[]): Promise<void> {
    const extensions = windows.map((window) => ({
      window,
      after: window.rows.at(-1) ?? null,
      count: growth(window, scope.request.limit),
    }));
    return this.#extend(tx, scope, extensions);
  }

  /** Locks and returns ready ad hoc runs of the claiming instance. */
  readOwned(tx: Sql, { owner, limit }: ClaimRequest): Promise<RunRow[]> {
    const from = `${this.#t.runs} r${this.#db.using(this.#t.runs, "owned")}`;
    return tx.all<RunRow>(
      `select ${RUN_COLUMNS} from ${from} where state = 1 and owner = ? order by priority, run_at, id limit ?${this.#db.skipLocked}`,
      owner,
      limit,
    );
  }

  async #extend(tx: Sql, scope: WindowScope, extensions: Extension[]): Promise<void> {
    const { hasLateral } = this.#db;
    const whole = extensions.filter(({ window }) => window.lane === null);
    const wholes = hasLateral && whole.length > 1 ? whole : [];
    const inTurn = extensions.filter(({ window }) => window.first !== undefined);
    const lanes = hasLateral && inTurn.length > 1 ? inTurn : [];
    const isLateral = new Set([...wholes, ...lanes]);
    const each = isLateral.size > 0 ? extensions.filter((one) => !isLateral.has(one)) : extensions;
    const read = await Promise.all([
      wholes.length > 0 ? this.#readLateral(tx, scope, wholes) : [],
      lanes.length > 0 ? this.#readLanesLateral(tx, scope, lanes) : [],
      this.#readEach(tx, scope, each),
    ]);
    const byQueue = Map.groupBy(read.flat(), ({ queue }) => queue);
    for (const { window, count } of extensions) {
      const { queue, lane } = window;
      const found = (byQueue.get(queue) ?? []).filter(
        (row) => !lane || (row.lane === lane.lane && row.priority === lane.priority),
      );
      window.rows = window.rows.concat(found);
      window.size += count;
    }
  }

  /** Reads windows of whole queues by one statement whose text does not depend on their number. */
  #readLateral(tx: Sql, scope: WindowScope, extensions: Extension[]): Promise<ReadyRow[]> {
    const where = " and (priority, run_at, id) > (v.after_priority, v.after_time, v.after_id)";
    const columns: WindowList["columns"] = {
      name: "text",
      after_priority: "integer",
      after_time: "integer",
      after_id: "integer",
      most: "integer",
    };
    const rows = extensions.map(({ window, after, count }) => {
      const { priority, run_at, id } = after ?? HEAD;
      return [window.queue, priority, run_at, id, count];
    });
    return this.#readListed(tx, scope, "ready", { where, columns, rows });
  }

  /** Reads windows of lanes in fair queues by one statement. */
  #readLanesLateral(tx: Sql, scope: WindowScope, extensions: Extension[]): Promise<ReadyRow[]> {
    const where =
      " and priority = v.priority and lane = v.lane and (run_at, id) > (v.after_time, v.after_id)";
    const columns: WindowList["columns"] = {
      name: "text",
      priority: "integer",
      lane: "text",
      after_time: "integer",
      after_id: "integer",
      most: "integer",
    };
    const rows = extensions.map(({ window: { queue, lane }, after, count }) => {
      const { run_at, id } = after ?? HEAD;
      return [queue, lane!.priority, lane!.lane, run_at, id, count];
    });
    return this.#readListed(tx, scope, "lanes", { where, columns, rows });
  }

  #readListed(
    tx: Sql,
    scope: WindowScope,
    index: "ready" | "lanes",
    { where, columns, rows }: WindowList,
  ): Promise<ReadyRow[]> {
    const { text, params } = this.#select(scope, { index, queue: "v.name", where, limit: "v.most" });
    return tx.all<ReadyRow>(
      `select f.* from ${this.#db.rows(columns)} v cross join lateral (${text}) f`,
      JSON.stringify(rows),
      ...params,
    );
  }

  #readEach(tx: Sql, scope: WindowScope, extensions: Extension[]): Promise<ReadyRow[]> {
    const selects = extensions.map(({ window: { queue, lane }, after, count }): Statement => {
      const ofLane = lane ? inLane(lane) : { text: "", params: [] };
      const further = after ? behind(after) : { text: "", params: [] };
      const { text, params } = this.#select(scope, {
        index: lane ? "lanes" : "ready",
        queue: "?",
        where: `${ofLane.text}${further.text}`,
        limit: "?",
      });
      return { text, params: [queue, queue, ...ofLane.params, ...further.params, ...params, count] };
    });
    return readTogether<ReadyRow>(tx, this.#db, selects);
  }

  /** The `select` of one window. Its parameters are those of the closed jobs, which come before the limit. */
  #select(
    { request, closed }: WindowScope,
    { index, queue, where, limit }: { index: "ready" | "lanes"; queue: string; where: string; limit: string },
  ): Statement {
    const db = this.#db;
    const except =
      closed.size > 0 ? ` and name not in (select v.name from ${db.rows({ name: "text" })} v)` : "";
    const bound = limitHint(this.#t, { name: "r.name", queue });
    const from = `${this.#t.runs} r${db.using(this.#t.runs, index)}`;
    return {
      text: `select ${RUN_COLUMNS}, ${bound} as bound from ${from} where state = 1 and limited = 0 and owner is null and queue = ${queue}${where}${claimable(request)}${except} order by priority, run_at, id limit ${limit}${db.skipLocked}`,
      params: closed.size > 0 ? [namesAsJson([...closed])] : [],
    };
  }
}
