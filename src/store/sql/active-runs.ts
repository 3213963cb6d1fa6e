import type { IsolatedRun } from "../records.ts";
import { hasCrashed } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { first, type Index } from "./database.ts";

/** Most waiting runs of each kind to count: the cost of a status must not grow with the backlog. */
const MOST_COUNTED = 10_000;

/** Fewest runs to count of a queue when `MOST_COUNTED` is divided among many queues. */
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
  /** Whether more runs are ready than were counted. */
  capped: boolean;
  scheduled: number;
  running: number;
  oldest: number | null;
}

/** The runs that one worker holds. */
interface WorkerActivity {
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
  readonly held: Map<string, WorkerActivity> = new Map();
  /** Number of runs whose lease has ended and that no worker has reaped. */
  expired = 0;
  readonly isolated: IsolatedRun[] = [];
  /** Whether more runs wait than were counted. */
  capped = false;
  readonly #sql: SqlContext;

  constructor(sql: SqlContext) {
    this.#sql = sql;
  }

  async count(now: number): Promise<this> {
    await this.#countRunning(now);
    for (const { where, index } of KINDS) await this.#countReady(where, index);
    await this.#countScheduled();
    return this;
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
    const all = `${where} and ${index === "ready" ? "queue" : "owner"} > ''`;
    const capped = (await this.#countUpTo(all, index, MOST_COUNTED)) > MOST_COUNTED;
    this.capped ||= capped;
    if (capped && index === "ready") return this.#countReadyByQueue(where);
    for (const group of await this.#countByJob(all, index, [], MOST_COUNTED)) {
      const { queue, n, oldest } = group;
      this.#queue(queue).ready += n;
      this.#noteOldest(queue, oldest);
      if (index !== "owned") this.#job(group).waiting += n;
    }
  }

  /** Counts the first runs of each queue in the order of the claim, and reads the oldest of each priority. */
  async #countReadyByQueue(where: string): Promise<void> {
    const queues = await this.#readyQueues(where);
    const most = Math.max(LEAST_OF_QUEUE, Math.floor(MOST_COUNTED / queues.length));
    for (const queue of queues) {
      const of = `${where} and queue = ?`;
      const groups = await this.#countByJob(of, "ready", [queue], most);
      this.#queue(queue).capped = sum(groups) > most;
      for (const group of groups) {
        this.#queue(queue).ready += group.n;
        this.#job(group).waiting += group.n;
      }
      await this.#readOldest(of, queue);
    }
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

  async #countScheduled(): Promise<void> {
    const rows = await this.#sql.all<GroupCount & { owned: number }>(
      `select name, queue, owned, min(priority) as priority, count(*) as n from (
         select name, queue, priority, case when owner is null then 0 else 1 end as owned from ${this.#runs("scheduled")}
          where state = 0 order by run_at limit ${MOST_COUNTED + 1}) as some_of_them group by name, queue, owned`,
    );
    for (const group of rows) {
      const { queue, owned, n } = group;
      this.#queue(queue).scheduled += n;
      if (owned === 0) this.#job(group).waiting += n;
    }
    this.capped ||= sum(rows) > MOST_COUNTED;
  }

  async #countUpTo(where: string, index: keyof typeof ORDER, most: number): Promise<number> {
    const row = await first(
      this.#sql.all<{ n: number }>(
        `select count(*) as n from (select 1 as one from ${this.#runs(index)} where ${where} order by ${ORDER[index]} limit ${most + 1}) as some_of_them`,
      ),
    );
    return row?.n ?? 0;
  }

  #countByJob(
    where: string,
    index: keyof typeof ORDER,
    params: string[],
    most: number,
  ): Promise<GroupCount[]> {
    return this.#sql.all<GroupCount>(
      `select name, queue, min(priority) as priority, count(*) as n, min(run_at) as oldest from (
         select name, queue, priority, run_at from ${this.#runs(index)} where ${where} order by ${ORDER[index]} limit ${most + 1}) as some_of_them group by name, queue`,
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
