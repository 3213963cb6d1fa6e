import type {
  BusyWorker,
  Heartbeat,
  LastHeartbeat,
  WorkerFacts,
  WorkerRecord,
  WorkerRequest,
  WorkerRun,
} from "../records.ts";
import { EXCHANGE_STREAMS, WORKER_DEAD_AFTER, WORKER_FORGOTTEN_AFTER, WORKER_SEEN_WITHIN } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { first, forGroups, placeholders } from "./database.ts";
import { releaseJobs } from "./definers.ts";

/** A row of `workers`. */
interface WorkerRow {
  id: string;
  host: string;
  pid: number;
  parallel: number;
  queues: string | null;
  started_at: number;
  seen_at: number;
  facts: string | null;
  request: string | null;
}

/** The columns that a heartbeat writes. */
const BEAT_COLUMNS = "id, host, pid, parallel, queues, started_at, seen_at, facts";

function toWorker(row: WorkerRow): WorkerRecord {
  return {
    id: row.id,
    host: row.host,
    pid: row.pid,
    parallel: row.parallel,
    ...readQueues(row.queues),
    startedAt: row.started_at,
    seenAt: row.seen_at,
    facts: row.facts === null ? null : (JSON.parse(row.facts) as WorkerFacts),
    request: readRequest(row.request),
  };
}

function readRequest(text: string | null): WorkerRequest | null {
  return text === null ? null : (JSON.parse(text) as WorkerRequest);
}

/** Returns the live workers. */
export async function liveWorkers(sql: SqlContext, now: number): Promise<WorkerRecord[]> {
  const rows = await sql.all<WorkerRow>(
    `select ${BEAT_COLUMNS}, request from ${sql.t.workers} where seen_at > ? order by started_at, id`,
    now - WORKER_SEEN_WITHIN,
  );
  return rows.map(toWorker);
}

/** Returns runs that workers execute. A prefetched run has not started, and is left out. */
export function workerRuns(sql: SqlContext, most: number): Promise<WorkerRun[]> {
  return sql.all<WorkerRun>(
    `select locked_by as worker, id, name, queue, attempts as attempt, child, started_at as "startedAt", progress
       from ${sql.t.runs} where state = 2 and locked_by > '' and started_at is not null
      order by started_at limit ?`,
    most,
  );
}

/** Returns the last heartbeats of workers, alive or not, by id. */
export async function lastHeartbeats(
  sql: SqlContext,
  ids: string[],
): Promise<Map<string, NonNullable<LastHeartbeat>>> {
  const rows = await forGroups(ids, (group) =>
    sql.all<WorkerRow>(
      `select id, host, pid, seen_at from ${sql.t.workers} where id in (${placeholders(group)})`,
      ...group,
    ),
  );
  return new Map(rows.map(({ id, host, pid, seen_at: seenAt }) => [id, { host, pid, seenAt }]));
}

/** Returns the workers on a host that hold runs, alive or not. */
export async function busyWorkersOf(sql: SqlContext, host: string, now: number): Promise<BusyWorker[]> {
  const { db, t } = sql;
  const rows = await sql.all<Pick<WorkerRow, "id" | "pid" | "seen_at" | "facts">>(
    `select id, pid, seen_at, facts from ${t.workers} w where host = ? and exists (
       select 1 from ${t.runs} r${db.using(t.runs, "leased")} where r.state = 2 and r.locked_by = w.id)`,
    host,
  );
  return rows.map(({ id, pid, seen_at: seenAt, facts }) => {
    const { process = null }: Partial<WorkerFacts> = facts === null ? {} : JSON.parse(facts);
    return { id, pid, process, silence: now - seenAt };
  });
}

/** Writes the heartbeats of the workers of one store. */
export class Heartbeats {
  readonly #sql: SqlContext;
  /** The worker whose streams had their rows a moment ago, and when that was. */
  #streamsOf: { worker: string; seenAt: number } | null = null;

  constructor(sql: SqlContext) {
    this.#sql = sql;
  }

  /** Inserts or updates the row of a live worker, and inserts the rows of its streams. */
  async beat(worker: Heartbeat, now: number): Promise<WorkerRequest | null> {
    await beat(this.#sql, worker, now);
    const known = this.#streamsOf;
    // The rows of streams are deleted minutes after the last heartbeat, so most heartbeats need not look for them.
    if (known?.worker !== worker.id || Math.abs(now - known.seenAt) >= WORKER_DEAD_AFTER) {
      await addStreams(this.#sql, worker.id);
      this.#streamsOf = { worker: worker.id, seenAt: now };
    }
    return requestOf(this.#sql, worker.id);
  }

  /** Records that a worker no longer defines its jobs, and forgets what was asked of it: it has ended. */
  async release(worker: string, now: number): Promise<void> {
    await releaseJobs(this.#sql, worker, now);
    await this.#sql.run(`update ${this.#sql.t.workers} set request = null where id = ?`, worker);
  }

  /** Deletes the rows of a worker that stops. */
  async leave(worker: string, now: number): Promise<void> {
    this.#streamsOf = null;
    await leave(this.#sql, worker, now);
  }
}

async function requestOf(sql: SqlContext, worker: string): Promise<WorkerRequest | null> {
  const row = await first(
    sql.all<Pick<WorkerRow, "request">>(`select request from ${sql.t.workers} where id = ?`, worker),
  );
  return row ? readRequest(row.request) : null;
}

/**
 * Writes what an operator asks of a worker; null: withdraws a pause. A request to stop is not replaced: the worker may
 * have obeyed already. A process that only dispatches has a row, but is no worker.
 */
export function askWorker(
  sql: SqlContext,
  worker: string,
  request: WorkerRequest | null,
): Promise<"asked" | "stopping" | null> {
  const { db, t } = sql;
  return sql.transaction(async (tx) => {
    const row = await first(
      tx.all<Pick<WorkerRow, "request">>(
        `select request from ${t.workers} where id = ? and parallel > 0${db.forUpdate}`,
        worker,
      ),
    );
    if (!row) return null;
    if (readRequest(row.request)?.action === "stop") return "stopping";
    const text = request && JSON.stringify(request);
    await tx.run(`update ${t.workers} set request = ? where id = ?`, text, worker);
    return "asked";
  });
}

/** Inserts or updates the row of a live worker. */
async function beat(sql: SqlContext, worker: Heartbeat, now: number): Promise<void> {
  const { db, t } = sql;
  await sql.run(
    db.upsert({
      table: t.workers,
      key: ["id"],
      columns: BEAT_COLUMNS.split(", "),
      update: ["parallel", "queues", "seen_at", "facts"],
    }),
    worker.id,
    worker.host,
    worker.pid,
    worker.parallel,
    writeQueues(worker),
    worker.startedAt,
    now,
    worker.facts ? JSON.stringify(worker.facts) : null,
  );
}

/** Inserts the rows of a worker's streams, if they are missing. */
async function addStreams(sql: SqlContext, worker: string): Promise<void> {
  const { db, t } = sql;
  // Reads first: an insert would wait for exchanges under way, which hold these rows.
  const streams = await sql.all(`select stream from ${t.exchanges} where worker = ?`, worker);
  if (streams.length === EXCHANGE_STREAMS) return;
  const rows = Array.from({ length: EXCHANGE_STREAMS }, (_, stream) => [worker, stream]);
  const key = ["worker", "stream"];
  await sql.run(db.upsert({ table: t.exchanges, key, columns: key, rows: rows.length }), ...rows.flat());
}

/** Most rows of workers that one prune deletes. */
const FORGOTTEN_AT_ONCE = 100;

/** Counts the rows of workers that died long ago. */
export async function countDead(sql: SqlContext, now: number): Promise<number> {
  const { t } = sql;
  const gone = now - WORKER_FORGOTTEN_AFTER;
  const row = first(sql.all<{ n: number }>(`select count(*) as n from ${t.workers} where seen_at < ?`, gone));
  return (await row)?.n ?? 0;
}

/**
 * Deletes the rows of workers that died long ago. Returns their number. Leaves out rows that another transaction has
 * locked: a worker may be frozen in an exchange or in a reap.
 */
export async function forgetDead(sql: SqlContext, now: number): Promise<number> {
  const { db, t } = sql;
  if ((await countDead(sql, now)) === 0) return 0;
  return sql.transaction(async (tx) => {
    const dead = await tx.all<{ id: string; seen_at: number }>(
      `select id, seen_at from ${t.workers} where seen_at < ? order by id limit ${FORGOTTEN_AT_ONCE}${db.skipLocked}`,
      now - WORKER_FORGOTTEN_AFTER,
    );
    if (dead.length === 0) return 0;
    for (const { id, seen_at: seenAt } of dead) await releaseJobs(tx, id, seenAt);
    const ids = dead.map(({ id }) => id);
    await tx.run(`delete from ${t.workers} where id in (${placeholders(ids)})`, ...ids);
    // By a plain read, and then by key: MySQL locks every row that a `delete` reads.
    const streams = await tx.all<{ worker: string; stream: number }>(
      `select worker, stream from ${t.exchanges} where worker not in (select id from ${t.workers}) limit ${FORGOTTEN_AT_ONCE}`,
    );
    for (const { worker, stream } of streams) {
      const key = "worker = ? and stream = ?";
      const free = await tx.all(
        `select seq from ${t.exchanges} where ${key}${db.skipLocked}`,
        worker,
        stream,
      );
      if (free.length > 0) await tx.run(`delete from ${t.exchanges} where ${key}`, worker, stream);
    }
    return dead.length;
  });
}

type WorkerQueues = Pick<WorkerRecord, "queues" | "exceptQueues" | "weights" | "schedules">;

/** Reads the column `queues`. Null: all queues; an array: these queues; an object: all settings. */
function readQueues(text: string | null): WorkerQueues {
  const stored: string[] | Partial<WorkerQueues> | null = text === null ? null : JSON.parse(text);
  const {
    queues = null,
    exceptQueues = [],
    weights = null,
    schedules = true,
  } = Array.isArray(stored) ? { queues: stored } : (stored ?? {});
  return { queues, exceptQueues, weights, schedules };
}

function writeQueues({ queues, exceptQueues, weights, schedules }: WorkerQueues): string | null {
  const isPlain = exceptQueues.length === 0 && weights === null && schedules;
  if (isPlain) return queues === null ? null : JSON.stringify(queues);
  return JSON.stringify({ queues, exceptQueues, weights, schedules });
}

async function leave(sql: SqlContext, worker: string, now: number): Promise<void> {
  const { t } = sql;
  // Before its row is deleted: if this process dies in between, the row still tells when it defined the jobs.
  await releaseJobs(sql, worker, now);
  await sql.run(`delete from ${t.workers} where id = ?`, worker);
  await sql.run(`delete from ${t.exchanges} where worker = ?`, worker);
}
