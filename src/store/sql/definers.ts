import { WORKER_DEAD_AFTER } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { inGroups, placeholders, type Tables } from "./database.ts";
import type { JobRow } from "./jobs.ts";

/** Names of jobs that one statement updates. */
const JOBS_PER_STATEMENT = 500;

/** `defined_by` of a job whose worker has stopped or died. No worker has this id. */
const RELEASED = "";

/** A condition on workers: the heartbeats stand for the jobs (see `WorkerFacts.coversJobs`). */
const COVERS = `coalesce(facts, '') like '%"coversJobs":true%'`;

/** Joins the worker that defined a job (`j`) and executes runs, as `w`. */
export function joinDefiner(t: Tables): string {
  return `left join ${t.workers} w on w.id = j.defined_by and w.parallel > 0`;
}

/** When a worker last defined the job `j`: behind `joinDefiner`, its heartbeats count too. */
export const SEEN_AT = "case when w.seen_at > j.seen_at then w.seen_at else j.seen_at end";

/** How many jobs and limits of queues each worker has defined. */
export interface Census {
  /** Number of live workers. */
  workers: number;
  /**
   * Equal texts: the same workers define as many jobs and limits as before, and none of them has died or come back. A
   * sync that had nothing to write then still has nothing to write.
   */
  text: string;
  /** Returns the number of jobs whose row names a worker. */
  jobsOf(id: string): number;
}

/** Counts the jobs of each worker. The answer has a few rows, however many jobs and workers exist. */
export async function takeCensus(sql: SqlContext, now: number): Promise<Census> {
  const { t } = sql;
  const dead = now - WORKER_DEAD_AFTER;
  const counts = await sql.all<{ worker: string | null; jobs: number; queues: number; state: number }>(
    `select c.worker, c.jobs, c.queues,
            case when w.id is null or w.seen_at <= ? then 0 when w.parallel > 0 and ${COVERS} then 1 else 2 end as state
       from (select defined_by as worker, count(*) as jobs, 0 as queues from ${t.jobs} group by defined_by
             union all select defined_by, 0, count(*) from ${t.queues} group by defined_by
             union all select defined_by, 0, count(*) from ${t.limits} group by defined_by) c
       left join ${t.workers} w on w.id = c.worker order by c.worker, c.jobs, c.queues`,
    dead,
  );
  const live = await sql.all<{ covers: number; n: number }>(
    `select case when ${COVERS} then 1 else 0 end as covers, count(*) as n
       from ${t.workers} where seen_at > ? and parallel > 0 group by case when ${COVERS} then 1 else 0 end`,
    dead,
  );
  const rows = counts.map(({ worker, jobs, queues, state }) => [worker, jobs, queues, state]);
  return {
    workers: live.reduce((sum, { n }) => sum + n, 0),
    text: JSON.stringify([live.some(({ covers }) => covers === 0), ...rows]),
    jobsOf: (id) => counts.reduce((sum, { worker, jobs }) => sum + (worker === id ? jobs : 0), 0),
  };
}

/** The workers that may have defined a job, and what their heartbeats say about it. */
export class Definers {
  /** Times of last heartbeats: of all workers, and of those that execute runs. */
  readonly #beats = new Map<string, number>();
  readonly #workerBeats = new Map<string, number>();
  readonly #covering = new Set<string>();
  readonly #dead: number;
  /** Whether a live worker has code that reads `seen_at` of jobs alone. */
  #hasOlder = false;

  constructor(workers: { id: string; seen_at: number; parallel: number; covers: number }[], now: number) {
    this.#dead = now - WORKER_DEAD_AFTER;
    for (const { id, seen_at: seenAt, parallel, covers } of workers) {
      this.#beats.set(id, seenAt);
      if (parallel === 0) continue;
      this.#workerBeats.set(id, seenAt);
      if (seenAt <= this.#dead) continue;
      if (covers === 1) this.#covering.add(id);
      else this.#hasOlder = true;
    }
  }

  isAlive(id: string): boolean {
    return (this.#beats.get(id) ?? 0) > this.#dead;
  }

  /** Returns the time of a worker's last heartbeat; 0: it has no row. */
  lastBeat(id: string): number {
    return this.#workerBeats.get(id) ?? 0;
  }

  /** Whether the heartbeats of a job's worker tell that it is defined, so that nothing need be written. */
  covers({ defined_by: id }: JobRow): boolean {
    return !this.#hasOlder && id !== null && this.#covering.has(id);
  }

  /** Returns when a worker last defined a job; null: never. */
  lastSeen({ defined_by: id, seen_at: written }: JobRow): number | null {
    const beat = id === null ? undefined : this.#workerBeats.get(id);
    return written === null || beat === undefined ? written : Math.max(written, beat);
  }
}

/** Reads all workers, alive or not. */
export async function readDefiners(sql: SqlContext, now: number): Promise<Definers> {
  const { t } = sql;
  const rows = await sql.all<ConstructorParameters<typeof Definers>[0][number]>(
    `select id, seen_at, parallel, case when ${COVERS} then 1 else 0 end as covers from ${t.workers}`,
  );
  return new Definers(rows, now);
}

/**
 * Writes when the jobs of a worker were last defined: from now on its heartbeats do not tell it. Any worker that
 * defines one of them may take it over. `but`: jobs that the worker goes on defining.
 *
 * They are found by a plain read: MySQL locks every row that an `update` reads.
 */
export async function releaseJobs(
  sql: SqlContext,
  worker: string,
  seenAt: number,
  but: ReadonlySet<string> = new Set(),
): Promise<void> {
  const { t } = sql;
  const rows = await sql.all<{ name: string }>(
    `select name from ${t.jobs} where defined_by = ? order by name`,
    worker,
  );
  const names = rows.map(({ name }) => name).filter((name) => !but.has(name));
  for (const group of inGroups(names, JOBS_PER_STATEMENT)) {
    await sql.run(
      `update ${t.jobs} set seen_at = case when seen_at > ? then seen_at else ? end, defined_by = '${RELEASED}'
        where name in (${placeholders(group)}) and defined_by = ?`,
      seenAt,
      seenAt,
      ...group,
      worker,
    );
  }
}
