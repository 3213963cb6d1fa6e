import type { Clock } from "../../time.ts";
import type { FreedRun } from "../chains.ts";
import { Chooser } from "../chooser.ts";
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
  startingValues,
  takenBy,
  toClaimedRuns,
  toRecalledRuns,
} from "../sql/claim.ts";
import { namesAsJson, type ServerDatabase, type Sql, type Statement, type Tables } from "../sql/database.ts";
import { limitHint } from "../sql/limit-hint.ts";
import { UNIQUE_SCOPE } from "../sql/new-run.ts";
import type { ClaimedRun, ClaimRequest, PausedNames } from "../store.ts";
import { type ClaimFacts, claimPlaces, covers, inLane, readFacts } from "./claim-facts.ts";
import { type ClaimSeries, Continuation } from "./claim-series.ts";
import { ImmediateClaim } from "./immediate-claim.ts";
import { type ClaimScope, type LimitedRuns, Limits } from "./limits.ts";
import { readTogether, Speculation } from "./round-trips.ts";
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
}

/** Ready runs that a claim may take. */
interface ReadyRuns {
  /** Locked rows without the limit hint that no limit holds. */
  unlimited: RunRow[];
  /** Locked rows without the limit hint that a limit holds by now. */
  strays: RunRow[];
  /** Null: there are none. */
  limited: LimitedRuns | null;
}

/**
 * The claim on a server, within the transaction of an exchange. Its steps, in the order of the methods below:
 *
 * 1. `readFacts` (`claim-facts.ts`): which queues have ready runs, what is paused, whether scheduled runs are due.
 * 2. `#promote`: scheduled runs that are due become ready.
 * 3. `#find`: locks the first ready runs of each queue without limits, and reads the first ones under limits. It reads a
 *    queue with runs of closed jobs lane by lane (`claimPlaces`). On servers that purge late, it continues behind the
 *    runs of the last claim (`claim-series.ts`).
 * 4. `Limits.choose` (`limits.ts`): of those under limits, the ones that fit, and the runs that follow them in chains
 *    (`store/chains.ts`). It locks their gates and rows.
 * 5. `merge` (`sql/claim.ts`): the best of both, in claim order.
 * 6. `#take`: writes state, attempt and lease.
 *
 * No step waits for a lock that another transaction holds. Steps 1 and 3 are one round trip when the queues are those of
 * the previous claim (`Speculation`). A woken worker does all of them in one statement first, for runs without limits
 * (`immediate-claim.ts`).
 */
export class Claimer {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly #time: DatabaseTime;
  readonly #limits: Limits;
  readonly #speculation = new Speculation<ClaimFacts, ReadyRuns>(covers);
  readonly immediate: ImmediateClaim;
  readonly #continuation: Continuation;

  constructor(db: ServerDatabase, tables: Tables, time: DatabaseTime, clock: Clock) {
    this.#db = db;
    this.#t = tables;
    this.#time = time;
    this.#continuation = new Continuation(clock, db.purgesLate);
    this.#limits = new Limits(db, tables);
    this.immediate = new ImmediateClaim(db, tables, time);
  }

  async claim(tx: Sql, call: ClaimCall): Promise<ClaimResult> {
    const { request, worker } = call;
    const [freed, { facts, ready, series }] = await Promise.all([call.freed, this.#search(tx, call)]);
    const { unlimited, strays, limited } = ready;
    const now = this.#time.observe(facts.now);
    const order = new ClaimOrder(request);
    const chosen = limited
      ? await this.#limits.choose(tx, limited, { order, request, freed })
      : { rows: [], isGateHeld: false, isUnfinished: false };
    const rows = merge(unlimited, chosen.rows, order, request);
    series.took(rows, unlimited, request.limit);
    await this.#take(tx, rows, { request, worker, now });
    const cancelled = rows.filter((row) => row.cancelled_at !== null).map(({ id }) => id);
    return {
      claimed: toClaimedRuns(rows, request, now),
      nextDue: facts.nextDue,
      cancelled: [...facts.cancelled, ...cancelled],
      paused: facts.paused,
      isGateHeld: chosen.isGateHeld,
      isUnfinished: chosen.isUnfinished || strays.length > 0,
    };
  }

  /** Does steps 1 to 3. Repeats the third for scheduled runs that became ready, and for strays. */
  async #search(
    tx: Sql,
    { request, worker, now, facts: known }: ClaimCall,
  ): Promise<{ facts: ClaimFacts; ready: ReadyRuns; series: ClaimSeries }> {
    let series = known ? this.#continuation.restart() : this.#continuation.next();
    const read = () => this.readFacts(tx, { worker, owner: request.owner }, now);
    const find = (by: ClaimFacts) => this.#find(tx, request, by, series);
    let [facts, ready] = known
      ? await this.#speculation.readSecond(known, find)
      : (await this.#speculation.read(read, find))!;
    const isDue = facts.nextDue !== null && facts.nextDue <= now;
    if (isDue) await this.#promote(tx, now);
    if (isDue || series.isShort([...ready.unlimited, ...ready.strays], request.limit)) {
      series = this.#continuation.restart();
      [facts, ready] = await this.#speculation.readSecond(await read(), find);
    }
    if (ready.strays.length > 0) {
      // The hint moves them to the index of runs under limits, where the second `find` reads them.
      await this.#updateAll(tx, ready.strays, { limited: "1" });
      const queues = new Set([...facts.limitedQueues, ...ready.strays.map(({ queue }) => queue)]);
      facts = { ...facts, limitedQueues: [...queues] };
      ready = await find(facts);
    }
    return { facts, ready: withoutPaused(ready, facts), series };
  }

  /** Lets the next claim begin at the head: something has changed. */
  restart(): void {
    this.#continuation.restart();
  }

  async readFacts(
    sql: Pick<Sql, "all">,
    reader: { worker: string; owner: string },
    now: number,
  ): Promise<ClaimFacts> {
    const facts = await readFacts({ sql, db: this.#db, t: this.#t }, reader, now);
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
    const closed = new Set([...request.exclude, ...facts.paused.jobs]);
    const served = (queues: string[]) => queues.filter((queue) => serves(request, queue));
    const [rows, limited] = await Promise.all([
      this.#findUnlimited(tx, request, served(facts.unlimitedQueues), {
        closed,
        hasOwned: facts.hasOwned,
        series,
      }),
      request.limited > 0
        ? this.#limits.look(tx, served(facts.limitedQueues), scopeOf(request, closed))
        : null,
    ]);
    return {
      unlimited: rows.filter(({ bound }) => bound === 0),
      strays: rows.filter(({ bound }) => bound === 1),
      limited,
    };
  }

  /**
   * Locks and returns ready runs without the limit hint. `bound` is 1 if a limit holds the run all the same: its insert
   * and the sync that set the limit passed each other (note 24).
   */
  async #findUnlimited(
    tx: Sql,
    request: ClaimRequest,
    queues: string[],
    { closed, hasOwned, series }: { closed: Set<string>; hasOwned: boolean; series: ClaimSeries },
  ): Promise<(RunRow & { bound: number })[]> {
    if (request.limit <= 0) return [];
    const select = (index: "ready" | "lanes" | "owned", bound: string, where: string) =>
      `select ${RUN_COLUMNS}, ${bound} as bound from ${this.#t.runs} r${this.#db.using(this.#t.runs, index)} where state = 1 and ${where} order by priority, run_at, id limit ?${this.#db.skipLocked}`;
    const names = namesAsJson([...closed]);
    const except =
      closed.size > 0 ? ` and name not in (select v.name from ${this.#db.rows({ name: "text" })} v)` : "";
    const bound = limitHint(this.#t, { name: "r.name", queue: "?" });
    const places = await claimPlaces({ tx, db: this.#db, t: this.#t }, queues, closed);
    const selects = places.map(({ queue, lane }): Statement => {
      const within = lane ? inLane(lane) : series.behindLast(queue);
      const where = `limited = 0 and owner is null and queue = ?${within.text}${claimable(request)}${except}`;
      return {
        text: select(lane ? "lanes" : "ready", bound, where),
        params: [queue, queue, ...within.params, ...(except ? [names] : []), request.limit],
      };
    });
    if (hasOwned) {
      selects.push({ text: select("owned", "0", "owner = ?"), params: [request.owner, request.limit] });
    }
    return readTogether(tx, selects);
  }

  #updateAll(tx: Sql, runs: { id: number }[], set: Record<string, string>): Promise<void> {
    const ids = runs.map(({ id }) => id);
    const { text, params } = this.#db.updateByIds(this.#t.runs, set, ids, []);
    return tx.run(text, ...params);
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
    // with keys: MariaDB takes a sixth longer to set the columns of the key, even to the values that they have (note 39).
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
    claimable: claimable(request),
    window: request.window,
  };
}

/** Leaves out queues that were paused since the facts of the guess. */
function withoutPaused({ unlimited, strays, limited }: ReadyRuns, facts: ClaimFacts): ReadyRuns {
  const unlimitedQueues = new Set(facts.unlimitedQueues);
  const limitedQueues = new Set(facts.limitedQueues);
  return {
    unlimited: unlimited.filter(({ queue, owner }) => owner !== null || unlimitedQueues.has(queue)),
    strays,
    limited: limited && {
      ...limited,
      candidates: limited.candidates.filter(({ queue }) => limitedQueues.has(queue)),
    },
  };
}
