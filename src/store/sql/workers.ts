import type { WorkerRow } from "../records.ts";
import type { Database, Tables } from "./database.ts";

interface Row {
  id: string;
  host: string;
  pid: number;
  parallel: number;
  queues: string | null;
  started_at: number;
  seen_at: number;
}

export const WORKER_COLUMNS = "id, host, pid, parallel, queues, started_at, seen_at";

export function toWorker(row: Row): WorkerRow {
  return {
    id: row.id,
    host: row.host,
    pid: row.pid,
    parallel: row.parallel,
    queues: row.queues === null ? null : JSON.parse(row.queues),
    startedAt: row.started_at,
    seenAt: row.seen_at,
  };
}

export async function beat(
  db: Database,
  t: Tables,
  worker: Omit<WorkerRow, "seenAt">,
  now: number,
): Promise<void> {
  await db.run(
    db.upsert(t.workers, ["id"], WORKER_COLUMNS.split(", "), ["parallel", "queues", "seen_at"]),
    worker.id,
    worker.host,
    worker.pid,
    worker.parallel,
    worker.queues === null ? null : JSON.stringify(worker.queues),
    worker.startedAt,
    now,
  );
}

export async function leave(db: Database, t: Tables, worker: string): Promise<void> {
  await db.run(`delete from ${t.workers} where id = ?`, worker);
}
