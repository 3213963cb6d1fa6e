import { stateCodes } from "../../run/states.ts";
import type { CrashCap, Lease, ReapedRun } from "../store.ts";
import { compareRuns, RUN_COLUMNS, type RunRow, toClaimedRun } from "./claim.ts";
import type { SqlContext } from "./context.ts";
import { first, inGroups, type Param } from "./database.ts";
import { moveToHistory, type RunEnding } from "./history.ts";
import { putBack, recordAttempts } from "./settle.ts";

/** A run whose worker, or whose child process, is gone. */
interface Lost {
  id: number;
  name: string;
  queue: string;
  worker: string | null;
  attempts: number;
  logged: number;
  crashes: number;
  isolated: number;
  unique_until: number | null;
  started_at: number | null;
  cancelled_at: number | null;
  priority: number;
  run_at: number;
}

type Expired = Pick<Lost, "id" | "worker">;

/** What becomes of runs that were lost. */
export interface Loss {
  cap: CrashCap;
  error: string;
  keep: number | null;
}

const LOST =
  "r.id, r.name, r.queue, r.locked_by as worker, r.attempts, r.logged, r.crashes, r.isolated, r.unique_until, r.started_at, r.cancelled_at, r.priority, r.run_at";

/** Takes back runs whose lease has ended. */
export async function reap(
  tx: SqlContext,
  { limit, ...loss }: Loss & { limit: number },
  now: number,
): Promise<ReapedRun[]> {
  const { db, t } = tx;
  const expired = await tx.all<Expired>(
    `select id, locked_by as worker from ${t.runs} r${db.using(t.runs, "counted")}
      where state = 2 and locked_until < ? order by locked_until, id limit ?`,
    now,
    limit,
  );
  const { lost, begun } = await byWorker(tx, expired, limit, now);
  return giveUp(tx, lost, begun, loss, now);
}

/** Takes back runs that had begun in a process which is gone, where their leases are still held. */
export async function takeBack(
  tx: SqlContext,
  { leases, ...loss }: Loss & { leases: Lease[] },
  now: number,
): Promise<ReapedRun[]> {
  const { db, t } = tx;
  const found = await tx.all<Lost & { token: string; lease_token: string }>(
    `select ${LOST}, v.token, r.lease_token
       from ${db.lookUp(db.rows({ id: "integer", token: "text" }), t.runs)}
      where r.state = 2${db.forUpdate && ` order by r.id${db.lockOnly(db.forUpdate, "r")}`}`,
    JSON.stringify(leases.map(({ id, token }) => [id, token])),
  );
  const held = found.filter((run) => run.token === run.lease_token);
  return giveUp(tx, held, new Set(held), loss, now);
}

/** Charges those that had begun, and lets all of them run again, or ends them. */
async function giveUp(
  tx: SqlContext,
  lost: Lost[],
  begun: Set<Lost>,
  { cap, error, keep }: Loss,
  now: number,
): Promise<ReapedRun[]> {
  const { db, t } = tx;
  const crashed = lost.filter((run) => begun.has(run));
  await recordAttempts(
    tx,
    crashed.map(({ id, started_at }) => ({
      id,
      outcome: "crashed",
      startedAt: started_at ?? now,
      error,
      fingerprint: "crashed",
    })),
    now,
  );
  if (crashed.length > 0) {
    await tx.run(
      db.updateFrom(t.runs, { crashes: "r.crashes + 1" }, db.rows({ id: "integer" })),
      JSON.stringify(crashed.map(({ id }) => [id])),
    );
  }
  const reaped = lost.map((run): ReapedRun => {
    const { id, name, queue, worker, attempts: attempt, started_at, cancelled_at, crashes, isolated } = run;
    const isCrashed = begun.has(run);
    const duration = started_at === null ? 0 : now - started_at;
    const failed = isCrashed && crashes + 1 >= (isolated === 1 ? cap.isolated : cap.shared);
    const state = cancelled_at !== null ? "cancelled" : failed ? "failed" : "ready";
    return { id, name, queue, attempt, duration, worker, state, crashed: isCrashed, ended: null };
  });
  await readEnded(tx, reaped, now);
  const waiting = reaped.filter(({ state }) => state === "ready");
  await putBack(
    tx,
    waiting.map((run) => ({ id: run.id, delay: 0, counts: run.crashed, logged: null })),
    now,
  );
  const endings = reaped.flatMap(({ id, state }, index): RunEnding[] => {
    if (state === "ready") return [];
    const run = lost[index]!;
    const failure =
      state === "failed" ? { error, fingerprint: "crashed" } : { error: null, fingerprint: null };
    const { started_at: startedAt, unique_until: uniqueUntil, logged } = run;
    // One more: the try that was lost is written down by now.
    const attempts = run.attempts + 1;
    return [
      {
        id,
        state: stateCodes[state],
        ...failure,
        startedAt,
        result: null,
        keep,
        uniqueUntil,
        attempts,
        logged,
      },
    ];
  });
  await moveToHistory(tx, endings, now);
  return reaped;
}

/** Reads those that end as failed, while they are there: their hooks want all of them. */
async function readEnded(tx: SqlContext, reaped: ReapedRun[], now: number): Promise<void> {
  const { db, t } = tx;
  const failed = new Map(reaped.filter(({ state }) => state === "failed").map((run) => [run.id, run]));
  if (failed.size === 0) return;
  const rows = await tx.all<RunRow>(
    `select ${RUN_COLUMNS.replaceAll(/\w+/g, "r.$&")} from ${db.lookUp(db.rows({ id: "integer" }), t.runs)}`,
    JSON.stringify([...failed.keys()].map((id) => [id])),
  );
  // Without a token: its lease has ended.
  for (const row of rows) failed.get(row.id)!.ended = toClaimedRun(row, "", now, true);
}

interface Losses {
  lost: Lost[];
  /** Those that had begun when their worker was lost. */
  begun: Set<Lost>;
}

/**
 * Which of the expired runs had begun, worker by worker. Of the prefetched ones the first may have begun since their
 * worker last wrote a start: as many as it had slots for, less the starts it wrote. So all runs of a worker are judged in one
 * transaction, also those beyond the limit, and by one process at a time: it locks the worker's row before it locks any
 * run. Judged in two parts, twice as many would be charged.
 */
async function byWorker(tx: SqlContext, expired: Expired[], limit: number, now: number): Promise<Losses> {
  const lost: Lost[] = [];
  const begun = new Set<Lost>();
  for (const [worker, some] of Map.groupBy(expired, (run) => run.worker ?? "")) {
    const row = await lockWorker(tx, worker);
    // Another process reaps its runs, or it is alive; or this transaction has grown enough.
    if (row === "locked" || lost.length >= 2 * limit) continue;
    const isComplete = expired.length < limit || row === null;
    const runs = await (isComplete ? lockExpired(tx, some, now) : expiredOf(tx, worker, now));
    for (const run of runs) {
      lost.push(run);
      if (run.started_at !== null) begun.add(run);
    }
    const slots = Math.max(0, (row?.parallel ?? 0) - (row?.told ?? 0));
    // One with a crash behind it is told of before it begins.
    const ahead = runs.filter((run) => run.started_at === null && run.crashes === 0).sort(compareRuns);
    for (const run of ahead.slice(0, slots)) begun.add(run);
  }
  return { lost, begun };
}

/** Null: the worker has no row any more. */
async function lockWorker(
  tx: SqlContext,
  worker: string,
): Promise<{ parallel: number; told: number } | "locked" | null> {
  const { db, t } = tx;
  const known = await first(
    tx.all<{ parallel: number; told: number }>(
      `select parallel, (select count(*) from ${t.runs}${db.using(t.runs, "leased")} where state = 2 and locked_by = w.id and started_at is not null) as told
         from ${t.workers} w where id = ?`,
      worker,
    ),
  );
  if (!known || db.skipLocked === "") return known;
  const free = await tx.all(`select id from ${t.workers} where id = ?${db.skipLocked}`, worker);
  return free.length > 0 ? known : "locked";
}

/** Those of the runs whose leases are still over, locked. */
function lockExpired(tx: SqlContext, runs: Expired[], now: number): Promise<Lost[]> {
  const { db, t } = tx;
  return tx.all<Lost>(
    `select ${LOST} from ${db.lookUp(db.rows({ id: "integer" }), t.runs)}
      where r.state = 2 and r.locked_until < ? order by r.id${db.lockOnly(db.skipLocked, "r")}`,
    JSON.stringify(runs.map(({ id }) => [id])),
    now,
  );
}

function expiredOf(tx: SqlContext, worker: string, now: number): Promise<Lost[]> {
  const { db, t } = tx;
  return tx.all<Lost>(
    `select ${LOST} from ${t.runs} r${db.using(t.runs, "leased")}
      where state = 2 and locked_by = ? and locked_until < ? order by id${db.skipLocked}`,
    worker,
    now,
  );
}

/** Ends runs that are not running, and with `force` those that are too, by a condition on `runs`; gives their ids. */
export async function endRuns(
  tx: SqlContext,
  { where, params, force = false }: { where: string; params: Param[]; force?: boolean },
  end: { state: "failed" | "cancelled"; error: string | null; keep: number | null; now: number },
): Promise<number[]> {
  const { db, t } = tx;
  const found = await tx.all<Pick<Lost, "id" | "unique_until" | "started_at" | "attempts" | "logged">>(
    `select id, unique_until, started_at, attempts, logged from ${t.runs} where state in (0, 1${force ? ", 2" : ""}) and ${where} order by id${db.forUpdate}`,
    ...params,
  );
  for (const group of inGroups(found)) {
    const endings = group.map(({ id, unique_until, started_at, attempts, logged }) => ({
      id,
      state: stateCodes[end.state],
      startedAt: started_at,
      error: end.error,
      fingerprint: null,
      result: null,
      keep: end.keep,
      uniqueUntil: unique_until,
      attempts: attempts + 1,
      logged,
    }));
    await moveToHistory(tx, endings, end.now);
  }
  return found.map(({ id }) => id);
}
