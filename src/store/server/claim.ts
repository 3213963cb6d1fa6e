import type { Clock } from "../../time.ts";
import type { FreedRun } from "../chains.ts";
import { Chooser, type NextOpening } from "../chooser.ts";
import { serves } from "../queue-selection.ts";
import { NO_OPENING } from "../quiet-looks.ts";
import { spentBuckets } from "../rate-spending.ts";
import {
  ClaimOrder,
  claimable,
  leaseFor,
  merge,
  PROMOTED,
  RECALLED_COLUMNS,
  type RecalledRow,
  type RunRow,
  startingValues,
  takenBy,
  toClaimedRuns,
  toRecalledRuns,
} from "../sql/claim.ts";
import { windowsToGrow } from "../sql/claim-windows.ts";
import { SqlContext } from "../sql/context.ts";
import type { ServerDatabase, Sql, Tables } from "../sql/database.ts";
import { UNIQUE_SCOPE } from "../sql/new-run.ts";
import { bucketWrites } from "../sql/rates.ts";
import type { ClaimedRun, ClaimRequest, PausedNames } from "../store.ts";
import { type ClaimFacts, covers, readFacts } from "./claim-facts.ts";
import { type ClaimSeries, Continuation } from "./claim-series.ts";
import { ImmediateClaim } from "./immediate-claim.ts";
import { type ClaimScope, Limits } from "./limits.ts";
import { openQueues, type ReadyRuns, straysOf, unlimitedOf, withoutPaused } from "./ready-runs.ts";
import { ReadyWindows } from "./ready-windows.ts";
import { Speculation } from "./round-trips.ts";
import type { DatabaseTime } from "./time.ts";

/** Columns of the rows from which a claim updates runs that have tokens of their own. */
const STARTING_ROW = {
  id: "integer",
  token: "text",
  worker: "text",
  until: "integer",
  started: "integer",
  at: "integer",
} as const;

/** A claim, and the worker and the time that it is for. */
interface ClaimBase {
  request: ClaimRequest;
  worker: string;
  now: number;
}

/** One claim in an exchange's transaction. */
export interface ClaimCall extends ClaimBase {
  /** Facts that the exchange read before its transaction; null: none yet. */
  facts: ClaimFacts | null;
  /** Runs under limits that this transaction settles. */
  freed: Promise<FreedRun[]>;
}

export interface ClaimResult {
  claimed: ClaimedRun[];
  nextDue: number | null;
  /** Runs of this worker with a cancellation request, including those just claimed. */
  cancelled: number[];
  paused: PausedNames;
  /** Whether other claims held the gate of a run that would have fitted. */
  isGateHeld: boolean;
  /** Whether ready runs are left that the claim has not looked at. If it took nothing, the exchange claims again. */
  isUnfinished: boolean;
  /** When rates admit runs that the claim has left ready. */
  opening: NextOpening;
}

/** A claim's request and its order, while the claim looks for runs. */
interface Search {
  tx: Sql;
  request: ClaimRequest;
  order: ClaimOrder;
}

/**
 * The claim on a server, within the transaction of an exchange. `claim` does these steps; `#search` does the first
 * three:
 *
 * 1. `readFacts` (`claim-facts.ts`): which queues have ready runs, what is paused, whether scheduled runs are due.
 * 2. `#promote`: scheduled runs that are due become ready.
 * 3. `#find`: locks the first ready runs of each queue without limits (`ready-windows.ts`), and reads the first ones
 * under limits (`Limits.look`). It reads a queue with runs of closed jobs lane by lane (`claimPlaces`), and the lanes
 *    of a fair queue in turn (`fair-lanes.ts`). On servers that purge late, it continues behind the runs of the last
 *    claim (`claim-series.ts`). `#complete` reads on where a window was too small.
 * 4. `Limits.choose` (`limits.ts`): of those under limits, the ones that fit, and the runs that follow them in chains
 *    (`store/chains.ts`). It locks their gates and rows.
 * 5. `merge` (`sql/claim.ts`): the best of both, in claim order.
 * 6. `#countStarts`: writes the starts of runs under rates (`store/rate.ts`).
 * 7. `#take`: writes state, attempt and lease.
 *
 * No step waits for a lock that another transaction holds. Steps 1 and 3 are one round trip when the queues are those
 * of the previous claim (`Speculation`). A woken worker claims runs without limits by one statement first
 * (`immediate-claim.ts`).
 */
export class Claimer {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly #time: DatabaseTime;
  readonly #limits: Limits;
  readonly #windows: ReadyWindows;
  readonly #speculation = new Speculation<ClaimFacts, ReadyRuns>(covers);
  readonly immediate: ImmediateClaim;
  readonly #continuation: Continuation;

  constructor(db: ServerDatabase, tables: Tables, time: DatabaseTime, clock: Clock) {
    this.#db = db;
    this.#t = tables;
    this.#time = time;
    this.#continuation = new Continuation(clock, db.purgesLate);
    this.#limits = new Limits(db, tables, time);
    this.#windows = new ReadyWindows(db, tables);
    this.immediate = new ImmediateClaim(db, tables, time);
  }

  async claim(tx: Sql, call: ClaimCall): Promise<ClaimResult> {
    const { request, worker } = call;
    const order = new ClaimOrder(request);
    const [freed, { facts, ready, series }] = await Promise.all([
      call.freed,
      this.#search({ tx, request, order }, call),
    ]);
    const observed = this.#time.observe(facts.now);
    const { limited } = ready;
    const chosen = limited
      ? await this.#limits.choose(tx, limited, { order, request, freed })
      : { rows: [], isGateHeld: false, isUnfinished: false, opening: NO_OPENING, recounted: null };
    const rows = merge(unlimitedOf(ready), chosen.rows, order, request);
    series.took(rows, openQueues(ready));
    request.rotation?.took(rows);
    this.#windows.sizes.took(rows);
    const now = await this.#countStarts(tx, rows, chosen.recounted, observed);
    await this.#take(tx, rows, { request, worker, now });
    const cancelled = rows.filter((row) => row.cancelled_at !== null).map(({ id }) => id);
    return {
      claimed: toClaimedRuns(rows, request, now),
      nextDue: facts.nextDue,
      cancelled: [...facts.cancelled, ...cancelled],
      paused: facts.paused,
      isGateHeld: chosen.isGateHeld,
      isUnfinished: chosen.isUnfinished || straysOf(ready).length > 0,
      opening: chosen.opening,
    };
  }

  /**
   * Does steps 1 to 3. Repeats the third from the head of the queues if scheduled runs became ready or the series found
   * too few, and once more for strays.
   */
  async #search(
    search: Search,
    { worker, now, facts: known }: ClaimCall,
  ): Promise<{ facts: ClaimFacts; ready: ReadyRuns; series: ClaimSeries }> {
    const { tx, request } = search;
    let series = known ? this.#continuation.restart() : this.#continuation.next();
    const read = () => this.readFacts(tx, { worker, owner: request.owner }, now);
    const find = (by: ClaimFacts) => this.#find(tx, request, by, series);
    let [facts, ready] = known
      ? await this.#speculation.readSecond(known, find)
      : (await this.#speculation.read(read, find))!;
    const isDue = facts.nextDue !== null && facts.nextDue <= now;
    if (isDue) await this.#promote(tx, now);
    else ready = await this.#complete(search, ready, facts);
    if (isDue || series.isShort(openQueues(ready))) {
      series = this.#continuation.restart();
      [facts, ready] = await this.#speculation.readSecond(await read(), find);
      ready = await this.#complete(search, ready, facts);
    }
    const strays = straysOf(ready);
    if (strays.length > 0) {
      // The hint moves them to the index of runs under limits, where the second `find` reads them.
      await this.#updateAll(tx, strays, { limited: "1" });
      const queues = new Set([...facts.limitedQueues, ...strays.map(({ queue }) => queue)]);
      facts = { ...facts, limitedQueues: [...queues] };
      ready = await this.#complete(search, await find(facts), facts);
    }
    return { facts, ready, series };
  }

  async readFacts(sql: Sql, reader: { worker: string; owner: string }, now: number): Promise<ClaimFacts> {
    const facts = await readFacts(new SqlContext(this.#db, this.#t, sql), reader, now);
    this.immediate.remember(facts);
    return facts;
  }

  async #promote(tx: Sql, now: number): Promise<void> {
    const due = await tx.all<{ id: number }>(
      `select id from ${this.#t.runs}${this.#db.using(this.#t.runs, "scheduled")} where state = 0 and run_at <= ? order by run_at, id limit ${PROMOTED}${this.#db.skipLocked}`,
      now,
    );
    if (due.length > 0) await this.#updateAll(tx, due, { state: "1" });
  }

  async #find(tx: Sql, request: ClaimRequest, facts: ClaimFacts, series: ClaimSeries): Promise<ReadyRuns> {
    const scope = { request, closed: closedTo(request, facts) };
    const served = (queues: string[]) => queues.filter((queue) => serves(request, queue));
    const [windows, owned, limited] = await Promise.all([
      this.#windows.read(tx, scope, served(facts.unlimitedQueues), series),
      facts.hasOwned && request.limit > 0 ? this.#windows.readOwned(tx, request) : [],
      request.limited > 0
        ? this.#limits.look(tx, served(facts.limitedQueues), scopeOf(request, scope.closed))
        : null,
    ]);
    return { windows, owned, limited };
  }

  /**
   * Leaves out queues that were paused since the facts of the guess. Then lets windows grow until the runs that the
   * claim takes are the first of all queues together.
   */
  async #complete({ tx, request, order }: Search, found: ReadyRuns, facts: ClaimFacts): Promise<ReadyRuns> {
    const ready = withoutPaused(found, facts);
    const scope = { request, closed: closedTo(request, facts) };
    const growing = () => windowsToGrow(ready.windows, unlimitedOf(ready), order, request);
    for (let windows = growing(); windows.length > 0; windows = growing()) {
      await this.#windows.grow(tx, scope, windows);
    }
    return ready;
  }

  #updateAll(tx: Sql, runs: { id: number }[], set: Record<string, string>): Promise<void> {
    const ids = runs.map(({ id }) => id);
    const { text, params } = this.#db.updateByIds(this.#t.runs, set, ids, []);
    return tx.run(text, ...params);
  }

  /**
   * Counts the starts of runs under rates. Returns the time of the claim: with such runs, the time that was read under
   * the locks of their gates, because their starts count from then on.
   */
  async #countStarts(tx: Sql, rows: RunRow[], chooser: Chooser | null, now: number): Promise<number> {
    const rated = rows.filter(({ rates }) => rates !== undefined);
    if (!chooser || rated.length === 0) return now;
    for (const { text, params } of bucketWrites(this.#t, spentBuckets(rated, chooser))) {
      await tx.run(text, ...params);
    }
    return Math.max(now, chooser.rate(rated[0]!.rates![0]!).now);
  }

  async #take(tx: Sql, rows: RunRow[], { request, worker, now }: ClaimBase): Promise<void> {
    const until = ({ name }: RunRow) => now + leaseFor(name, request);
    const started = ({ starts }: RunRow) => (starts ? now : null);
    // The runs of a chain have a token of their own.
    const chained = rows.filter(({ token }) => token !== undefined);
    if (chained.length > 0) {
      const values = {
        token: "v.token",
        worker: "v.worker",
        until: "v.until",
        started: "v.started",
        now: "v.at",
      };
      await tx.run(
        this.#db.updateFrom(this.#t.runs, startingValues(values), this.#db.rows(STARTING_ROW)),
        JSON.stringify(chained.map((row) => [row.id, row.token, worker, until(row), started(row), now])),
      );
    }
    // One statement for those that start at once, one for the prefetched, one for each unusual lease, and one for those
    // with keys: MariaDB takes a sixth longer to set the columns of the key, even to the values that they have (note
    // 39).
    const others = rows.filter(({ token }) => token === undefined);
    const hasKey = ({ unique_scope: scope }: RunRow) => scope === UNIQUE_SCOPE.untilStarted;
    const kind = (row: RunRow) => `${until(row)} ${started(row)} ${hasKey(row)}`;
    for (const group of Map.groupBy(others, kind).values()) {
      const [first] = group as [RunRow];
      const ids = group.map(({ id }) => id);
      const at = hasKey(first) ? [now] : [];
      const values = startingValues({
        token: "?",
        worker: "?",
        until: "?",
        started: "?",
        now: at.length > 0 ? "?" : null,
      });
      const params = [request.token, worker, until(first), started(first), ...at];
      const statement = this.#db.updateByIds(this.#t.runs, values, ids, params);
      await tx.run(statement.text, ...statement.params);
    }
  }

  /** Lets the next claim begin at the head of the queues: runs may have been added there. */
  restart(): void {
    this.#continuation.restart();
  }

  /** Returns the runs that an earlier try of this claim took; its answer was lost. */
  async recall(tx: Sql, { request, worker, now }: ClaimBase): Promise<ClaimedRun[]> {
    const taken = takenBy(request);
    const rows = await tx.all<RecalledRow>(
      `select ${RECALLED_COLUMNS} from ${this.#t.runs}${this.#db.using(this.#t.runs, "leased")} where state = 2 and locked_by = ? and ${taken.text}`,
      worker,
      ...taken.params,
    );
    if (rows.length === 0) return [];
    const chooser = new Chooser(await this.#limits.readUsage(tx, rows, scopeOf(request, new Set())));
    return toRecalledRuns(rows, chooser, now);
  }
}

function scopeOf(request: ClaimRequest, closed: Set<string>): ClaimScope {
  return {
    isClosed: (name) => closed.has(name),
    computesKey: (name) => request.computesKey(name),
    computesCost: (name) => request.computesCost(name),
    claimable: claimable(request),
    window: request.window,
    wanted: request.limited,
    rotation: request.rotation ?? null,
  };
}

/** Jobs of which the claim takes no run. */
function closedTo(request: ClaimRequest, { paused }: ClaimFacts): Set<string> {
  return new Set([...request.exclude, ...paused.jobs]);
}
