import type { IsolatedRun } from "../records.ts";
import { hasCrashed } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { first, type Index } from "./database.ts";

/** Most waiting runs of each kind to count: the cost of a status must not grow with the backlog. */
const MOST_COUNTED = 10_000;

/** Fewest runs of a queue whose jobs are read when `MOST_COUNTED` is divided among many queues. */
const LEAST_OF_QUEUE = 200;

/** Most running runs, queues, and priorities of one queue to read. */
const MOST_RUNNING = 10_000;
const MOST_QUEUES = 100;
const MOST_PRIORITIES = 20;

/** A lease that ended longer ago counts as expired: live workers reap every few seconds. */
const EXPIRED_FOR = 15_000;

interface JobActivity {
  running: number;
  waiting: number;
  leasedUntil: number | null;
  leasedBy: string | null;
}

interface QueueActivity {
  ready: number;
  /** Whether more runs are ready or due than were counted. */
  capped: boolean;
  scheduled: number;
  /** Of `scheduled`: runs that are due, and that no worker has made ready. */
  due: number;
  running: number;
  oldest: number | null;
}

/** The runs that one worker holds. */
interface HeldRuns {
  runs: number;
  jobs: Set<string>;
  last: { id: number; name: string };
  leasedUntil: number;
}

interface GroupCount {
  name: string;
  queue: string;
  priority: number;
  n: number;
  oldest: number;
}

/** Kinds of ready runs, one for each part of the indexes. */
const KINDS = [
  { where: "state = 1 and limited = 0 and owner is null", index: "ready" },
  { where: "state = 1 and limited = 1 and owner is null", index: "ready" },
  { where: "state = 1 and owner is not null", index: "owned" },
] as const;

/** Order of each index. Without it PostgreSQL reads the table from its beginning, past all runs of other kinds. */
const ORDER = { ready: "queue, priority, run_at, id", owned: "owner, priority, run_at, id" };

/** Order within a queue. With the queue in it, MariaDB reads and sorts all runs of the queue. */
const ORDER_IN_QUEUE = "priority, run_at, id";

/** A range of an index, to be read in its order. */
interface ReadyRange {
  where: string;
  params: string[];
  index: keyof typeof ORDER;
  order: string;
}

interface IsolatedRow {
  id: number;
  name: string;
  worker: string;
  child: string | null;
  started_at: number | null;
}

const ISOLATED_COLUMNS = "id, name, locked_by as worker, child, started_at";

function toIsolated({ id, name, worker, child, started_at: startedAt }: IsolatedRow): IsolatedRun {
  return { id, name, worker, child, startedAt };
}

/** Returns the isolated runs, at most 100. */
export async function isolatedRuns(sql: SqlContext, now: number): Promise<IsolatedRun[]> {
  const { t } = sql;
  const rows = await sql.all<IsolatedRow>(
    `select ${ISOLATED_COLUMNS} from ${t.runs}
      where state = 2 and locked_by > '' and crashes > 0 and owner is null and (isolated = 1 or started_at is null)
        and locked_until >= ? limit 100`,
    now,
  );
  return rows.map(toIsolated);
}

/** Counts unfinished runs by job, queue and worker. */
export class ActiveRuns {
  readonly jobs: Map<string, JobActivity> = new Map();
  /** Queue and priority of some run of each job. */
  readonly placements: Map<string, { queue: string; priority: number }> = new Map();
  readonly queues: Map<string, QueueActivity> = new Map();
  /** The runs of each worker, without those whose lease counts as expired. */
  readonly held: Map<string, HeldRuns> = new Map();
  /** Number of runs whose lease has ended and that no worker has reaped. */
  expired = 0;
  readonly isolated: IsolatedRun[] = [];
  /** Whether more runs wait than were counted. */
  capped = false;
  /** The last queue whose ready runs were counted, if later ones were left out. */
  #lastQueue: string | null = null;
  readonly #sql: SqlContext;

  constructor(sql: SqlContext) {
    this.#sql = sql;
  }

  async count(now: number): Promise<this> {
    await this.#countRunning(now);
    for (const { where, index } of KINDS) await this.#countReady(where, index);
    await this.#countScheduled(now);
    return this;
  }

  /** Whether the ready runs of a queue were left out, because others come before it. */
  isLeftOut(queue: string): boolean {
    return this.#lastQueue !== null && queue > this.#lastQueue;
  }

  async #countRunning(now: number): Promise<void> {
    const rows = await this.#sql.all<
      IsolatedRow & {
        queue: string;
        priority: number;
        owner: string | null;
        crashes: number;
        isolated: number;
        until: number;
      }
    >(
      `select ${ISOLATED_COLUMNS}, queue, priority, owner, crashes, isolated, locked_until as until from ${this.#sql.t.runs}
        where state = 2 and locked_by > '' limit ${MOST_RUNNING}`,
    );
    for (const row of rows) {
      const { queue, owner, worker, until } = row;
      // The run is prefetched, follows another one of its chain, or waits to be isolated.
      const waits = row.started_at === null;
      this.#queue(queue)[waits ? "ready" : "running"]++;
      if (until < now - EXPIRED_FOR) this.expired++;
      else this.#addHeld(row);
      const isApart = row.isolated === 1 || row.started_at === null;
      if (hasCrashed(row) && isApart && until >= now) this.isolated.push(toIsolated(row));
      if (owner !== null) continue;
      const job = this.#job(row);
      job[waits ? "waiting" : "running"]++;
      if (job.leasedUntil !== null && job.leasedUntil >= until) continue;
      job.leasedUntil = until;
      job.leasedBy = worker;
    }
  }

  #addHeld({ id, name, worker, until }: { id: number; name: string; worker: string; until: number }): void {
    const held = entry(this.held, worker, () => ({
      runs: 0,
      jobs: new Set<string>(),
      last: { id, name },
      leasedUntil: until,
    }));
    held.runs++;
    held.jobs.add(name);
    if (until <= held.leasedUntil) return;
    held.last = { id, name };
    held.leasedUntil = until;
  }

  async #countReady(where: string, index: "ready" | "owned"): Promise<void> {
    // This condition is always true. It makes the database use the index.
    const isAny = `${where} and ${index === "ready" ? "queue" : "owner"} > ''`;
    const all: ReadyRange = { where: isAny, params: [], index, order: ORDER[index] };
    const capped = (await this.#countUpTo(all)) > MOST_COUNTED;
    this.capped ||= capped;
    if (capped && index === "ready") return this.#countReadyByQueue(where);
    for (const group of await this.#countByJob(all, MOST_COUNTED)) {
      const { queue, n, oldest } = group;
      this.#queue(queue).ready += n;
      this.#noteOldest(queue, oldest);
      if (index !== "owned") this.#job(group).waiting += n;
    }
  }

  /**
   * Counts each queue by the index alone, with a cap of its own: runs of other queues must not change its count. Jobs
   * are not in the index, so they are counted among the first runs of each queue in the order of the claim.
   */
  async #countReadyByQueue(where: string): Promise<void> {
    const queues = await this.#readyQueues(where);
    const most = Math.max(LEAST_OF_QUEUE, Math.floor(MOST_COUNTED / queues.length));
    for (const queue of queues) {
      const isOf = `${where} and queue = ?`;
      const of: ReadyRange = { where: isOf, params: [queue], index: "ready", order: ORDER_IN_QUEUE };
      const counted = await this.#countUpTo(of);
      const activity = this.#queue(queue);
      activity.ready += Math.min(counted, MOST_COUNTED);
      activity.capped ||= counted > MOST_COUNTED;
      for (const group of await this.#countByJob(of, most)) this.#job(group).waiting += group.n;
      await this.#readOldest(isOf, queue);
    }
    if (queues.length === MOST_QUEUES) this.#leaveOut(queues.at(-1)!);
  }

  #leaveOut(after: string): void {
    if (this.#lastQueue === null || after < this.#lastQueue) this.#lastQueue = after;
  }

  /** Finds the queues by a loose index scan. */
  async #readyQueues(where: string): Promise<string[]> {
    const found: string[] = [];
    while (found.length < MOST_QUEUES) {
      const next = await first(
        this.#sql.all<{ queue: string }>(
          `select queue from ${this.#runs("ready")} where ${where} and queue > ? order by queue limit 1`,
          found.at(-1) ?? "",
        ),
      );
      if (!next) break;
      found.push(next.queue);
    }
    return found;
  }

  async #readOldest(where: string, queue: string): Promise<void> {
    let priority = -(2 ** 31);
    for (let looked = 0; looked < MOST_PRIORITIES && priority < 2 ** 31; looked++) {
      const head = await first(
        this.#sql.all<{ priority: number; run_at: number }>(
          `select priority, run_at from ${this.#runs("ready")} where ${where} and priority >= ? order by priority, run_at limit 1`,
          queue,
          priority,
        ),
      );
      if (!head) return;
      priority = head.priority + 1;
      this.#noteOldest(queue, head.run_at);
    }
  }

  /** Counts scheduled runs in the order of their times, so that a cap leaves out runs for later before due ones. */
  async #countScheduled(now: number): Promise<void> {
    const rows = await this.#sql.all<GroupCount & { owned: number; due: number }>(
      `select name, queue, owned, due, min(priority) as priority, count(*) as n, min(run_at) as oldest from (
         select name, queue, priority, run_at, case when owner is null then 0 else 1 end as owned,
                case when run_at <= ? then 1 else 0 end as due from ${this.#runs("scheduled")}
          where state = 0 order by run_at ${this.#sql.db.upTo(MOST_COUNTED + 1)}) as some_of_them group by name, queue, owned, due`,
      now,
    );
    const due = rows.filter((group) => group.due === 1);
    const capped = sum(due) > MOST_COUNTED;
    for (const group of rows) {
      const { queue, owned, n } = group;
      this.#queue(queue).scheduled += n;
      if (owned === 0) this.#job(group).waiting += n;
    }
    for (const { queue, n, oldest } of due) {
      this.#queue(queue).due += n;
      this.#queue(queue).capped ||= capped;
      this.#noteOldest(queue, oldest);
    }
    this.capped ||= sum(rows) > MOST_COUNTED;
  }

  /** Counts runs up to one more than `MOST_COUNTED`, by the index alone. */
  async #countUpTo({ where, params, index, order }: ReadyRange): Promise<number> {
    const row = await first(
      this.#sql.all<{ n: number }>(
        `select count(*) as n from (select 1 as one from ${this.#runs(index)} where ${where} order by ${order} ${this.#sql.db.upTo(MOST_COUNTED + 1)}) as some_of_them`,
        ...params,
      ),
    );
    return row?.n ?? 0;
  }

  #countByJob({ where, params, index, order }: ReadyRange, most: number): Promise<GroupCount[]> {
    return this.#sql.all<GroupCount>(
      `select name, queue, min(priority) as priority, count(*) as n, min(run_at) as oldest from (
         select name, queue, priority, run_at from ${this.#runs(index)} where ${where} order by ${order} ${this.#sql.db.upTo(most + 1)}) as some_of_them group by name, queue`,
      ...params,
    );
  }

  /** The table `runs`, with the hint to use this index. */
  #runs(index: Index): string {
    return `${this.#sql.t.runs}${this.#sql.db.using(this.#sql.t.runs, index)}`;
  }

  #noteOldest(queue: string, at: number): void {
    const known = this.#queue(queue);
    known.oldest = Math.min(known.oldest ?? at, at);
  }

  #job({ name, queue, priority }: { name: string; queue: string; priority: number }): JobActivity {
    if (!this.placements.has(name)) this.placements.set(name, { queue, priority });
    return entry(this.jobs, name, () => ({ running: 0, waiting: 0, leasedUntil: null, leasedBy: null }));
  }

  #queue(name: string): QueueActivity {
    return entry(this.queues, name, () => ({
      ready: 0,
      capped: false,
      scheduled: 0,
      due: 0,
      running: 0,
      oldest: null,
    }));
  }
}

function sum(counted: { n: number }[]): number {
  return counted.reduce((total, { n }) => total + n, 0);
}

function entry<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
