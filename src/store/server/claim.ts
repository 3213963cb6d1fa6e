import { type Candidate, Chooser } from "../chooser.ts";
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
import type { ServerDatabase, Sql, Statement, Tables } from "../sql/database.ts";
import { limitedNow } from "../sql/limit-hint.ts";
import { keyAtStart } from "../sql/new-run.ts";
import { inOrder, Order } from "../sql/order.ts";
import type { ClaimedRun, ClaimRequest } from "../store.ts";
import { readArms } from "./arms.ts";
import type { Facts } from "./facts.ts";
import { Limits, type Sight } from "./limits.ts";
import { limitedBy, readUsage, type Scope } from "./usage.ts";

export interface Claimed {
  claimed: ClaimedRun[];
  /** Those of them that somebody asked to cancel while another had them. */
  cancelled: number[];
  /** Others held a gate of something that would have fitted. */
  lost: boolean;
  /** Not everything that is ready was looked at. */
  more: boolean;
}

/** What a claim could take. */
interface Found {
  scope: Scope;
  free: Row[];
  /** Runs that came with the unlimited ones, and are under a limit by now. */
  strays: Row[];
  /** Null: nothing under limits. */
  sight: Sight | null;
}

/** The claim on a server: nothing in it waits for a lock that another holds. */
export class Claimer {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly #limits: Limits;
  #last: Facts | null = null;

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
    this.#limits = new Limits(db, tables);
  }

  async #promote(tx: Sql, now: number): Promise<void> {
    const due = await tx.all<{ id: number }>(
      `select id from ${this.#t.runs}${this.#db.using(this.#t.runs, "scheduled")} where state = 0 and run_at <= ? order by run_at, id limit ${PROMOTED}${this.#db.skipLocked}`,
      now,
    );
    if (due.length === 0) return;
    await tx.run(
      this.#db.updateFrom(this.#t.runs, { state: "1" }, this.#db.rows({ id: "integer" })),
      JSON.stringify(due.map(({ id }) => [id])),
    );
  }

  async claimedUnder(tx: Sql, request: ClaimRequest, worker: string, now: number): Promise<ClaimedRun[]> {
    const rows = await tx.all<Row & { started_at: number | null }>(
      `select ${COLUMNS}, started_at from ${this.#t.runs}${this.#db.using(this.#t.runs, "leased")} where state = 2 and locked_by = ? and lease_token = ?`,
      worker,
      request.token,
    );
    if (rows.length === 0) return [];
    const chooser = new Chooser(
      await readUsage(tx, this.#db, this.#t, limitedBy(rows), scopeOf(request, [])),
    );
    return rows.sort(inOrder).map((row) => {
      const unkeyed = row.owner === null && chooser.lacksKey(row);
      return toClaimed({ ...row, unkeyed }, request.token, now, row.started_at !== null);
    });
  }

  /**
   * What there is, and what of it may be taken. Where that is not known, it looks where there was something the last
   * time, together with the question; what is not to be had after all is left out.
   */
  async search(
    tx: Sql,
    request: ClaimRequest,
    looked: Facts | null,
    read: () => Promise<Facts>,
    now: number,
  ): Promise<{ facts: Facts; found: Found }> {
    const guess = looked ?? this.#last;
    let [facts, found] = await Promise.all([looked ?? read(), guess && this.#find(tx, request, guess)]);
    if (facts.nextDue !== null && facts.nextDue <= now) {
      await this.#promote(tx, now);
      facts = await read();
      found = null;
    }
    this.#last = facts;
    if (!found || !covers(guess!, facts)) found = await this.#find(tx, request, facts);
    if (found.strays.length > 0) {
      await this.#bind(tx, found.strays);
      const limited = new Set([...facts.limited, ...found.strays.map(({ queue }) => queue)]);
      facts = { ...facts, limited: [...limited] };
      found = await this.#find(tx, request, facts);
    }
    return { facts, found: only(found, facts) };
  }

  async #find(tx: Sql, request: ClaimRequest, facts: Facts): Promise<Found> {
    const closed = new Set([...request.exclude, ...facts.pausedJobs]);
    const scope = scopeOf(request, closed);
    const wanted = (queues: string[]) => queues.filter((queue) => serves(request, queue));
    const [ready, sight] = await Promise.all([
      this.#unlimited(tx, request, wanted(facts.free), facts.owned, closed),
      request.limited > 0 ? this.#limits.look(tx, wanted(facts.limited), scope, claimable(request)) : null,
    ]);
    const strays = ready.filter(({ bound }) => bound === 1);
    const free = strays.length > 0 ? ready.filter(({ bound }) => bound === 0) : ready;
    return { scope, free, strays, sight };
  }

  /** A limit was set after they were inserted: from now on they wait among those under limits. */
  #bind(tx: Sql, strays: Row[]): Promise<void> {
    return tx.run(
      this.#db.updateFrom(this.#t.runs, { limited: "1" }, this.#db.rows({ id: "integer" })),
      JSON.stringify(strays.map(({ id }) => [id])),
    );
  }

  /** `freed`: runs under limits that this transaction has settled. */
  async claim(
    tx: Sql,
    request: ClaimRequest,
    { scope, free, strays, sight }: Found,
    freed: Candidate[],
    worker: string,
    now: number,
  ): Promise<Claimed> {
    const order = new Order(request);
    const limited = sight
      ? await this.#limits.choose(tx, sight, scope, order, request.limited, freed)
      : { rows: [], lost: false, more: false };
    const chosen = merge(free, limited.rows, order, request);
    await this.#take(tx, chosen, request, worker, now);
    const claimed = chosen.map((row, index) => {
      row.attempts++;
      return toClaimed(row, request.token, now, startsAtOnce(row, index, request));
    });
    const cancelled = chosen.filter((row) => row.cancelled_at !== null).map(({ id }) => id);
    return { claimed, cancelled, lost: limited.lost, more: limited.more || strays.length > 0 };
  }

  /**
   * Each with `bound`: whether it is under a limit after all. The insert that sorted it by the limits it saw may have
   * met a new one on its way.
   */
  async #unlimited(
    tx: Sql,
    request: ClaimRequest,
    queues: string[],
    owned: boolean,
    closed: Set<string>,
  ): Promise<(Row & { bound: number })[]> {
    if (request.limit <= 0) return [];
    const arm = (index: "ready" | "owned", bound: string, where: string) =>
      `select ${COLUMNS}, ${bound} as bound from ${this.#t.runs} r${this.#db.using(this.#t.runs, index)} where state = 1 and ${where} order by priority, run_at, id limit ?${this.#db.skipLocked}`;
    const names = JSON.stringify([...closed].map((name) => [name]));
    const but =
      closed.size > 0 ? ` and name not in (select v.name from ${this.#db.rows({ name: "text" })} v)` : "";
    const bound = limitedNow(this.#t, { name: "r.name", queue: "?" });
    const arms: Statement[] = queues.map((queue) => ({
      text: arm("ready", bound, `limited = 0 and owner is null and queue = ?${claimable(request)}${but}`),
      params: [queue, queue, ...(but ? [names] : []), request.limit],
    }));
    if (owned) arms.push({ text: arm("owned", "0", "owner = ?"), params: [request.owner, request.limit] });
    return readArms(tx, arms);
  }

  async #take(tx: Sql, rows: Row[], request: ClaimRequest, worker: string, now: number): Promise<void> {
    if (rows.length === 0) return;
    await tx.run(
      this.#db.updateFrom(
        this.#t.runs,
        {
          state: "2",
          attempts: "r.attempts + 1",
          lease_token: "v.token",
          locked_by: "v.worker",
          locked_until: "v.until",
          started_at: "v.started",
          ...keyAtStart("v.at"),
        },
        this.#db.rows({
          id: "integer",
          token: "text",
          worker: "text",
          until: "integer",
          started: "integer",
          at: "integer",
        }),
      ),
      JSON.stringify(
        rows.map((row, index) => [
          row.id,
          request.token,
          worker,
          now + leaseOf(row.name, request),
          startsAtOnce(row, index, request) ? now : null,
          now,
        ]),
      ),
    );
  }
}

function scopeOf(request: ClaimRequest, closed: Iterable<string>): Scope {
  const names = new Set(closed);
  return { isClosed: (name) => names.has(name), computesKey: (name) => request.computesKey(name) };
}

/** Whether a search by the older facts has looked at every queue that has ready runs. */
function covers(was: Facts, is: Facts): boolean {
  const within = (some: string[], all: string[]) => {
    const known = new Set(all);
    return some.every((one) => known.has(one));
  };
  return (
    was === is ||
    (within(is.free, was.free) &&
      within(is.limited, was.limited) &&
      (was.owned || !is.owned) &&
      within(was.pausedJobs, is.pausedJobs) &&
      within(is.pausedJobs, was.pausedJobs))
  );
}

/** Without queues that were paused meanwhile. */
function only({ free, sight, ...rest }: Found, facts: Facts): Found {
  const unlimited = new Set(facts.free);
  const limited = new Set(facts.limited);
  return {
    ...rest,
    free: free.filter(({ queue, owner }) => owner !== null || unlimited.has(queue)),
    sight: sight && { ...sight, looks: sight.looks.filter(({ queue }) => limited.has(queue)) },
  };
}
