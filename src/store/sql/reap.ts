import { isChain } from "../../run/chains.ts";
import { stateCodes } from "../../run/states.ts";
import type { CrashCap, Lease, ReapedRun } from "../store.ts";
import { compareRuns, RUN_COLUMNS, type RunRow, toClaimedRun } from "./claim.ts";
import type { SqlContext } from "./context.ts";
import { first, idsAsJson } from "./database.ts";
import { moveToHistory, type RunEnding } from "./history.ts";
import { putBack, recordAttempts } from "./settle.ts";

/** A running run whose worker or child process died. */
interface LostRun {
  id: number;
  name: string;
  queue: string;
  worker: string | null;
  token: string;
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

type ExpiredRun = Pick<LostRun, "id" | "worker">;

/** How to treat lost runs. */
export interface ReapPolicy {
  cap: CrashCap;
  error: string;
  keep: number | null;
}

const LOST_COLUMNS =
  "r.id, r.name, r.queue, r.locked_by as worker, r.lease_token as token, r.attempts, r.logged, r.crashes, r.isolated, r.unique_until, r.started_at, r.cancelled_at, r.priority, r.run_at";

/** Takes back runs whose lease has ended, worker by worker. */
export async function reap(
  tx: SqlContext,
  { limit, ...policy }: ReapPolicy & { limit: number },
  now: number,
): Promise<ReapedRun[]> {
  const { db, t } = tx;
  const expired = await tx.all<ExpiredRun>(
    `select id, locked_by as worker from ${t.runs} r${db.using(t.runs, "counted")}
      where state = 2 and locked_until < ? order by locked_until, id limit ?`,
    now,
    limit,
  );
  const lost = await judgeByWorker(tx, expired, limit, now);
  return takeAllBack(tx, lost, policy, now);
}

/** Takes back runs that had started in a child process that died, if their leases are still held. */
export async function takeBack(
  tx: SqlContext,
  { leases, ...policy }: ReapPolicy & { leases: Lease[] },
  now: number,
): Promise<ReapedRun[]> {
  const { db, t } = tx;
  const found = await tx.all<LostRun & { claimed: string }>(
    `select ${LOST_COLUMNS}, v.token as claimed
       from ${db.lookUp(db.rows({ id: "integer", token: "text" }), t.runs)}
      where r.state = 2${db.forUpdate && ` order by r.id${db.lockOnly(db.forUpdate, "r")}`}`,
    JSON.stringify(leases.map(({ id, token }) => [id, token])),
  );
  const held = found.filter((run) => run.token === run.claimed);
  return takeAllBack(tx, { runs: held, started: new Set(held) }, policy, now);
}

/**
 * Charges the runs that had started with a crash. Then puts back every run, or ends it if it crashed too often or was
 * cancelled.
 */
async function takeAllBack(
  tx: SqlContext,
  { runs, started }: LostRuns,
  { cap, error, keep }: ReapPolicy,
  now: number,
): Promise<ReapedRun[]> {
  const { db, t } = tx;
  const crashed = runs.filter((run) => started.has(run));
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
      idsAsJson(crashed.map(({ id }) => id)),
    );
  }
  const reaped = runs.map((run): ReapedRun => {
    const { id, name, queue, worker, attempts: attempt, started_at, cancelled_at, crashes, isolated } = run;
    const isCrashed = started.has(run);
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
    const run = runs[index]!;
    const failure =
      state === "failed" ? { error, fingerprint: "crashed" } : { error: null, fingerprint: null };
    const { started_at: startedAt, unique_until: uniqueUntil, logged } = run;
    // The lost attempt is recorded by now, and counts.
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

/** Reads the runs that end as failed before they leave `runs`: their hooks get all columns. */
async function readEnded(tx: SqlContext, reaped: ReapedRun[], now: number): Promise<void> {
  const { db, t } = tx;
  const failed = new Map(reaped.filter(({ state }) => state === "failed").map((run) => [run.id, run]));
  if (failed.size === 0) return;
  const rows = await tx.all<RunRow>(
    `select ${RUN_COLUMNS.replaceAll(/\w+/g, "r.$&")} from ${db.lookUp(db.rows({ id: "integer" }), t.runs)}`,
    idsAsJson([...failed.keys()]),
  );
  // Without a token: the lease has ended.
  for (const row of rows) failed.get(row.id)!.ended = toClaimedRun(row, "", now, true);
}

interface LostRuns {
  runs: LostRun[];
  /** The runs among them that had started, or may have. */
  started: Set<LostRun>;
}

/**
 * Locks expired runs and decides which had started. A worker marks prefetched runs as started some time after they
 * start. So the first of its unmarked runs count as started too: as many as it has slots, less the runs that it
 * marked. All expired runs of a worker are judged in one transaction, also those beyond the limit, and by one process
 * at a time, which locks the worker's row first: in two transactions, twice as many runs would be charged.
 */
async function judgeByWorker(
  tx: SqlContext,
  expired: ExpiredRun[],
  limit: number,
  now: number,
): Promise<LostRuns> {
  const lost: LostRun[] = [];
  const started = new Set<LostRun>();
  for (const [worker, some] of Map.groupBy(expired, (run) => run.worker ?? "")) {
    const row = await lockWorker(tx, worker);
    // Another process reaps these runs, or the worker is alive; or this transaction is large enough.
    if (row === "locked" || lost.length >= 2 * limit) continue;
    const isComplete = expired.length < limit || row === null;
    const runs = await (isComplete ? lockExpired(tx, some, now) : lockAllExpired(tx, worker, now));
    for (const run of runs) {
      lost.push(run);
      if (run.started_at !== null) started.add(run);
    }
    const slots = Math.max(0, (row?.parallel ?? 0) - (row?.marked ?? 0));
    for (const run of maybeStarted(runs).slice(0, slots)) started.add(run);
  }
  return { runs: lost, started };
}

/**
 * Returns the unmarked runs that may have started, in claim order. A run that crashed before is marked before it
 * starts. The runs of a chain start one after the other: only its first can have started, and
 * only if none of them is marked.
 */
function maybeStarted(runs: LostRun[]): LostRun[] {
  const chains = new Set(runs.filter((run) => run.started_at !== null).map(({ token }) => token));
  const unmarked = runs.filter((run) => run.started_at === null && run.crashes === 0).sort(compareRuns);
  return unmarked.filter(({ token }) => {
    const isLater = isChain(token) && chains.has(token);
    chains.add(token);
    return !isLater;
  });
}

/**
 * Locks the row of a worker and counts the runs that it marked as started. "locked": another process has locked the
 * row. Null: the worker has no row.
 */
async function lockWorker(
  tx: SqlContext,
  worker: string,
): Promise<{ parallel: number; marked: number } | "locked" | null> {
  const { db, t } = tx;
  const known = await first(
    tx.all<{ parallel: number; marked: number }>(
      `select parallel, (select count(*) from ${t.runs}${db.using(t.runs, "leased")} where state = 2 and locked_by = w.id and started_at is not null) as marked
         from ${t.workers} w where id = ?`,
      worker,
    ),
  );
  if (!known || db.skipLocked === "") return known;
  const free = await tx.all(`select id from ${t.workers} where id = ?${db.skipLocked}`, worker);
  return free.length > 0 ? known : "locked";
}

/** Locks the runs whose leases have still not been renewed. */
function lockExpired(tx: SqlContext, runs: ExpiredRun[], now: number): Promise<LostRun[]> {
  const { db, t } = tx;
  return tx.all<LostRun>(
    `select ${LOST_COLUMNS} from ${db.lookUp(db.rows({ id: "integer" }), t.runs)}
      where r.state = 2 and r.locked_until < ? order by r.id${db.lockOnly(db.skipLocked, "r")}`,
    idsAsJson(runs.map(({ id }) => id)),
    now,
  );
}

/** Locks all expired runs of a worker. */
function lockAllExpired(tx: SqlContext, worker: string, now: number): Promise<LostRun[]> {
  const { db, t } = tx;
  return tx.all<LostRun>(
    `select ${LOST_COLUMNS} from ${t.runs} r${db.using(t.runs, "leased")}
      where state = 2 and locked_by = ? and locked_until < ? order by id${db.skipLocked}`,
    worker,
    now,
  );
}
