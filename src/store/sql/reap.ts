import { isChain } from "../../run/chains.ts";
import { unchargedLoss, unmarkedLoss } from "../../run/failure.ts";
import { CRASHED } from "../../run/states.ts";
import { type CrashCap, hasCrashed, type Lease, type ReapedRun, WORKER_SILENT_AFTER } from "../store.ts";
import { type AttemptEntry, recordAttempts } from "./attempts.ts";
import { BatchTally, countRowOf } from "./batch-tally.ts";
import { RUN_COLUMNS, type RunRow, toClaimedRun } from "./claim.ts";
import type { SqlContext } from "./context.ts";
import { idsAsJson } from "./database.ts";
import { moveToHistory, type RunEnding } from "./history.ts";
import { putBack } from "./put-back.ts";

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
  owner: string | null;
  suspect: number;
  batch_id: string | null;
}

type ExpiredRun = Pick<LostRun, "id" | "worker">;

/** How to treat lost runs. */
export interface ReapPolicy {
  cap: CrashCap;
  error: string;
  keep: number | null;
  /** Gets the batches whose members have ended. */
  batches: Set<number>;
}

const LOST_COLUMNS =
  "r.id, r.name, r.queue, r.locked_by as worker, r.lease_token as token, r.attempts, r.logged, r.crashes, r.isolated, r.unique_until, r.started_at, r.cancelled_at, r.owner, r.suspect, r.batch_id";

/** Whether a lease has ended. A plain read, for workers that find nothing to reap most of the time. */
export async function hasExpired(sql: SqlContext, now: number): Promise<boolean> {
  const { db, t } = sql;
  const expired = await sql.all(
    `select 1 as one from ${t.runs} r${db.using(t.runs, "counted")} where state = 2 and locked_until < ? order by locked_until, id limit 1`,
    now,
  );
  return expired.length > 0;
}

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

/** Takes back all runs of silent workers, whether their leases have ended or not. */
export async function reapGone(
  tx: SqlContext,
  { workers, ...policy }: ReapPolicy & { workers: string[] },
  now: number,
): Promise<ReapedRun[]> {
  const lost: LostRuns = new Map();
  for (const worker of workers) {
    if ((await lockWorker(tx, worker, now - WORKER_SILENT_AFTER)) !== "mine") continue;
    const runs = await lockAllExpired(tx, worker, Number.MAX_SAFE_INTEGER);
    for (const [run, verdict] of judge(runs)) lost.set(run, verdict);
  }
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
  if (held.length < leases.length) tx.missed();
  return takeAllBack(tx, new Map(held.map((run) => [run, "crashed"])), policy, now);
}

/**
 * Charges the runs that crashed, and marks the suspects. Then puts back every run, or ends it if it crashed too often
 * or was cancelled.
 */
async function takeAllBack(
  tx: SqlContext,
  lost: LostRuns,
  { cap, error, keep, batches }: ReapPolicy,
  now: number,
): Promise<ReapedRun[]> {
  const { db, t } = tx;
  const runs = [...lost.keys()];
  const crashed = runs.filter((run) => lost.get(run) === "crashed");
  const suspects = runs.filter((run) => lost.get(run) === "suspect");
  await recordAttempts(
    tx,
    [
      ...crashed.map(
        ({ id, started_at }): AttemptEntry => ({
          id,
          outcome: "crashed",
          startedAt: started_at ?? now,
          error,
          fingerprint: CRASHED,
        }),
      ),
      // Their numbers are used: without a row, operators could not see that the handler was, or may have been, called.
      ...suspects.map(
        ({ id, started_at: startedAt }): AttemptEntry => ({
          id,
          outcome: "lost",
          startedAt,
          error: startedAt === null ? unmarkedLoss : unchargedLoss,
          fingerprint: null,
        }),
      ),
    ],
    now,
  );
  if (crashed.length > 0) {
    await tx.run(
      db.updateFrom(t.runs, { crashes: "r.crashes + 1" }, db.rows({ id: "integer" })),
      idsAsJson(crashed.map(({ id }) => id)),
    );
  }
  if (suspects.length > 0) {
    await tx.run(
      db.updateFrom(t.runs, { suspect: "1" }, db.rows({ id: "integer" })),
      idsAsJson(suspects.map(({ id }) => id)),
    );
  }
  const reaped = runs.map((run): ReapedRun => {
    const { id, name, queue, worker, attempts: attempt, started_at, cancelled_at, crashes, isolated } = run;
    const isCrashed = lost.get(run) === "crashed";
    const duration = started_at === null ? 0 : now - started_at;
    const failed = isCrashed && crashes + 1 >= (isolated === 1 ? cap.isolated : cap.shared);
    const state = cancelled_at !== null ? "cancelled" : failed ? "failed" : "ready";
    return { id, name, queue, attempt, duration, worker, state, crashed: isCrashed, ended: null };
  });
  await readEnded(tx, reaped, now);
  const numberUses = { crashed: "counted", suspect: "uncounted", unstarted: "unused" } as const;
  await putBack(
    tx,
    reaped.flatMap(({ id, state }, index) => {
      const number = numberUses[lost.get(runs[index]!)!];
      return state === "ready" ? [{ id, delay: 0, number, logged: null }] : [];
    }),
    now,
  );
  const endings = reaped.flatMap(({ id, state }, index): RunEnding[] => {
    if (state === "ready") return [];
    const run = runs[index]!;
    const failure = state === "failed" ? { error, fingerprint: CRASHED } : { error: null, fingerprint: null };
    const { started_at: startedAt, unique_until: uniqueUntil, logged, batch_id: batchId } = run;
    // The lost attempt is recorded by now, and counts.
    const attempts = run.attempts + 1;
    return [
      {
        id,
        state,
        batchId,
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
  const tally = new BatchTally(batches);
  await moveToHistory(tx, endings, now, tally);
  await tally.write(tx, countRowOf(endings));
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

type Verdict =
  /** The run is charged with the crash. */
  | "crashed"
  /** The run may have been under way. It goes back uncharged, and its next start is written beforehand. */
  | "suspect"
  /** The run had not started. */
  | "unstarted";

/** Lost runs, each with its verdict. */
type LostRuns = Map<LostRun, Verdict>;

/**
 * Locks expired runs and judges them. All expired runs of a worker are judged in one transaction, also those beyond the
 * limit, and by one process at a time, which locks the worker's row first: a part of a chain would be judged wrongly.
 */
async function judgeByWorker(
  tx: SqlContext,
  expired: ExpiredRun[],
  limit: number,
  now: number,
): Promise<LostRuns> {
  const lost: LostRuns = new Map();
  for (const [worker, some] of Map.groupBy(expired, (run) => run.worker ?? "")) {
    const row = await lockWorker(tx, worker);
    // Another process reaps these runs, or the worker is alive; or this transaction is large enough.
    if (row === "locked" || lost.size >= 2 * limit) continue;
    const isComplete = expired.length < limit || row === null;
    const runs = await (isComplete ? lockExpired(tx, some, now) : lockAllExpired(tx, worker, now));
    for (const [run, verdict] of judge(runs)) lost.set(run, verdict);
  }
  return lost;
}

/**
 * Judges runs of one dead worker. A start mark charges a run, unless other runs of its chain are lost with it: any of
 * them may have been under way. A run without a mark may have started since the worker's last exchange, except crashed
 * runs and suspects, which are marked before they start.
 */
function judge(runs: LostRun[]): LostRuns {
  const chains = Map.groupBy(runs, ({ token }) => token);
  const isAmbiguous = ({ token }: LostRun) => isChain(token) && chains.get(token)!.length > 1;
  return new Map(
    runs.map((run) => {
      if (run.started_at === null)
        return [run, hasCrashed(run) || run.suspect === 1 ? "unstarted" : "suspect"];
      return [run, isAmbiguous(run) ? "suspect" : "crashed"];
    }),
  );
}

/**
 * Locks the row of a worker that was last seen at `seen` or earlier. "locked": another process has locked it. Null:
 * there is no such row.
 */
async function lockWorker(
  tx: SqlContext,
  worker: string,
  seen = Number.MAX_SAFE_INTEGER,
): Promise<"mine" | "locked" | null> {
  const { db, t } = tx;
  const select = `select id from ${t.workers} where id = ? and seen_at <= ?`;
  if ((await tx.all(`${select}${db.skipLocked}`, worker, seen)).length > 0) return "mine";
  return (await tx.all(select, worker, seen)).length > 0 ? "locked" : null;
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
