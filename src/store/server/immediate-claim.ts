import { serves } from "../queue-selection.ts";
import { compareRuns, type RunRow, runColumnsOf, startingValues, toClaimedRun } from "../sql/claim.ts";
import { namesAsJson, type ServerDatabase, type Statement, type Tables } from "../sql/database.ts";
import { limitHint } from "../sql/limit-hint.ts";
import { TextCache } from "../sql/text-cache.ts";
import type { ClaimedRun, ClaimRequest, ExchangeRequest } from "../store.ts";
import type { ClaimFacts } from "./claim-facts.ts";
import type { DatabaseTime } from "./time.ts";

/** Most queues that one immediate claim looks at. */
const MOST_QUEUES = 8;

/** First ready runs that it reads of each queue. Bounded: jobs that this process does not define may fill the queue. */
const WINDOW = 64;

interface ClaimingRequest extends ExchangeRequest {
  claim: ClaimRequest;
}

/** The answer to an immediate claim. */
export interface ImmediateResult {
  claimed: ClaimedRun[];
  /** Claimed runs with a cancellation request. */
  cancelled: number[];
}

/**
 * The first claim of a worker that was woken: one statement in one round trip, before any facts are read (note 38). It
 * takes runs without limits for free slots, of queues that had ready runs before. The worker's next exchange claims the
 * rest.
 *
 * The answer may be lost after the statement was sent, and the server may execute it late. The statement therefore
 * locks the row of its stream and takes nothing if a later exchange has used the stream: an exchange that is sent again
 * writes its number into that row before it looks for runs with its token.
 */
export class ImmediateClaim {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly #time: DatabaseTime;
  /** Queues that had ready runs without limits, the latest last. */
  readonly #queues = new Set<string>();
  readonly #texts = new TextCache();

  constructor(db: ServerDatabase, tables: Tables, time: DatabaseTime) {
    this.#db = db;
    this.#t = tables;
    this.#time = time;
  }

  /** Remembers the queues in which later claims look for runs. */
  remember({ unlimitedQueues }: ClaimFacts): void {
    for (const queue of unlimitedQueues) {
      this.#queues.delete(queue);
      this.#queues.add(queue);
    }
    for (const queue of this.#queues) {
      if (this.#queues.size <= MOST_QUEUES) return;
      this.#queues.delete(queue);
    }
  }

  /** Whether this exchange can begin with an immediate claim. Shares of queues need the facts. */
  suits(request: ExchangeRequest): request is ClaimingRequest {
    const { settle, started, again, claim } = request;
    if (!claim?.immediate || again || settle.length > 0 || started.length > 0) return false;
    return this.#db.atOnce !== undefined && claim.start > 0 && claim.stride === null;
  }

  /** Returns null if the answer was lost: the runs may be claimed. */
  async claim(exchange: ClaimingRequest): Promise<ImmediateResult | null> {
    const { claim } = exchange;
    const queues = [...this.#queues].filter(
      (queue) => serves(claim, queue) && !claim.rotation?.isFair(queue),
    );
    if (queues.length === 0) return { claimed: [], cancelled: [] };
    const now = await this.#time.now(this.#db);
    const rows = await this.#db.atOnce!<RunRow & { started_at: number }>(
      this.#statement(exchange, queues, now),
    );
    return rows && this.#toResult(rows, claim);
  }

  #toResult(rows: (RunRow & { started_at: number })[], { token }: ClaimRequest): ImmediateResult {
    const claimed = rows.sort(compareRuns).map((row) => {
      return toClaimedRun(row, token, this.#time.observe(row.started_at), true);
    });
    const cancelled = rows.filter((row) => row.cancelled_at !== null).map(({ id }) => id);
    return { claimed, cancelled };
  }

  #statement(exchange: ClaimingRequest, queues: string[], now: number): Statement {
    const { worker, stream, seq, claim } = exchange;
    const { exclude, lease, leases } = claim;
    const unusual = Object.entries(leases);
    const excludes = exclude.length > 0;
    const hasLeases = unusual.length > 0;
    return {
      text: this.#texts.get(`${queues.length} ${excludes} ${hasLeases}`, () =>
        this.#text(queues.length, excludes, hasLeases),
      ),
      params: [
        now,
        ...queues,
        ...(excludes ? [namesAsJson(exclude)] : []),
        now,
        Math.min(claim.start, claim.limit),
        worker,
        stream,
        seq,
        claim.token,
        worker,
        ...(hasLeases ? [JSON.stringify(unusual)] : []),
        lease,
      ],
    };
  }

  #text(queues: number, excludes: boolean, hasLeases: boolean): string {
    const { runs, exchanges } = this.#t;
    const list = this.#db.rows({ name: "text", lease: "integer" });
    const lease = hasLeases ? `coalesce((select v.lease from ${list} v where v.name = r.name), ?)` : "?";
    const values = startingValues({
      token: "?",
      worker: "?",
      until: `clock.now + ${lease}`,
      started: "clock.now",
      now: "clock.now",
    });
    const sets = Object.entries(values).map(([column, value]) => `${column} = ${value}`);
    // The stream's row is locked only if something was found: an empty claim writes nothing, so its commit does not
    // wait for the disk.
    return `with clock as materialized (select ${this.#time.later} as now),
        found as materialized (
          select r.id from ${runs} r where r.id = any(array(${this.#firstReady(queues, excludes)})) and r.state = 1 and r.limited = 0 for update skip locked),
        stream as materialized (
          select seq from ${exchanges} where worker = ? and stream = ? and seq < ? and exists (select 1 from found) for update)
        update ${runs} as r set ${sets.join(", ")}
          from clock
         where r.id = any(array(select id from found where exists (select 1 from stream)))
        returning ${runColumnsOf("r")}, r.started_at`;
  }

  /** A select of the ids to take. Leaves out jobs and queues that are paused or limited by now. */
  #firstReady(queues: number, excludes: boolean): string {
    const { runs, queues: queueTable } = this.#t;
    const arm = `(select id, name, queue, priority, run_at from ${runs}
      where state = 1 and limited = 0 and owner is null and queue = ? and crashes = 0
      order by priority, run_at, id limit ${WINDOW})`;
    const defined = excludes
      ? `f.name not in (select v.name from ${this.#db.rows({ name: "text" })} v) and`
      : "";
    return `select f.id from (${Array.from({ length: queues }, () => arm).join(" union all ")}) f
        where ${defined} ${limitHint(this.#t, { name: "f.name", queue: "f.queue" })} = 0
          and not exists (select 1 from ${queueTable} q
            where q.name = f.queue and q.paused_at is not null and (q.paused_until is null or q.paused_until > ?))
        order by f.priority, f.run_at, f.id limit ?`;
  }
}
