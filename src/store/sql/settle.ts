import { type FinishedState, outcomeRules } from "../../run/states.ts";
import type { FreedRun } from "../chains.ts";
import type { ExchangeRequest, ExchangeResult, Lease, Renewal, RenewalResult, Settlement } from "../store.ts";
import { type AttemptEntry, recordAttempts } from "./attempts.ts";
import { BatchTally, batchOf } from "./batch-tally.ts";
import type { SqlContext } from "./context.ts";
import { type Database, first, idsAsJson, type Tables } from "./database.ts";
import { moveLeasedToHistory, moveToHistory, type RunEnding } from "./history.ts";
import { putBack } from "./put-back.ts";
import type { SlowedRun } from "./slow-down.ts";

/** A running run, as it was when its lease was compared. */
interface HeldRun extends FreedRun {
  cancelled_at: number | null;
  limited: number;
  attempts: number;
  logged: number;
  unique_until: number | null;
}

export interface SettleResult {
  written: ExchangeResult["settled"];
  /** Runs under limits that these settlements ended or put back. */
  freed: FreedRun[];
  /** Batches whose members these settlements ended. */
  batches: ReadonlySet<number>;
  /** Runs whose handlers have slowed their rates down, which is not written yet. */
  slowed: SlowedRun[];
}

/** Settlements that were written, those among them that ended a cancelled run, and the runs under limits. */
interface SettledGroup {
  settlements: Settlement[];
  cancelled?: Settlement[];
  freed: FreedRun[];
  slowed?: SlowedRun[];
}

/**
 * Writes the settlements and start marks of an exchange once. The row of its stream keeps the number of the last
 * exchange: a repeated exchange with that number was committed, and only its answer was lost. `again`: an earlier try
 * may have been committed.
 */
export async function settleOnce(
  tx: SqlContext,
  { worker, stream, seq, settle, started }: ExchangeRequest,
  now: number,
  again: boolean,
): Promise<SettleResult> {
  const { t } = tx;
  let settled: SettleResult = { written: [], freed: [], batches: new Set(), slowed: [] };
  if (settle.length > 0) {
    if (again) {
      const text = `select seq from ${t.exchanges} where worker = ? and stream = ?`;
      const known = await first(tx.all<{ seq: number }>(text, worker, stream));
      if (known && known.seq >= seq)
        return { ...settled, written: settle.map(() => true), batches: batchesOf(settle) };
    }
    // Sent together: statements that the caller sends from now on run after both.
    [, settled] = await Promise.all([
      tx.run(`update ${t.exchanges} set seq = ? where worker = ? and stream = ?`, seq, worker, stream),
      settleAll(tx, settle, now, `${worker}:${stream}`),
    ]);
  }
  await markStarted(tx, started, now);
  return settled;
}

/**
 * Writes settlements, each only while its lease is held. Settlements that only move their run into history take one
 * statement together where the database can; the others lock their runs first. `who` counts the members of batches.
 */
export async function settleAll(
  tx: SqlContext,
  settlements: Settlement[],
  now: number,
  who: string,
): Promise<SettleResult> {
  const batches = new Set<number>();
  const tally = new BatchTally(batches);
  const groups = byToken(settlements);
  const counted = [...groups.values()].flatMap((group) => [...group.values()]);
  const settled = await Promise.all([
    ...[...groups].map(([token, group]) => settleAtOnce(tx, { token, group, tally }, now)),
    settleInSteps(
      tx,
      counted.filter((one) => !endsAtOnce(tx.db, one)),
      now,
      tally,
    ),
  ]);
  await tally.write(tx, who);
  const written = new Set(settled.flatMap((part) => part.settlements));
  const cancelled = new Set(settled.flatMap((part) => part.cancelled ?? []));
  return {
    written: settlements.map((one) => (cancelled.has(one) ? "cancelled" : written.has(one))),
    freed: settled.flatMap(({ freed }) => freed),
    batches,
    slowed: settled.flatMap(({ slowed = [] }) => slowed),
  };
}

function batchesOf(settlements: Settlement[]): Set<number> {
  return new Set(settlements.map(({ batchId }) => batchOf(batchId)).filter((batch) => batch !== null));
}

/** For each token its settlements, by the id of their runs. */
function byToken(settlements: Settlement[]): Map<string, Map<number, Settlement>> {
  const groups = new Map<string, Map<number, Settlement>>();
  for (const one of settlements) {
    const group = groups.get(one.token) ?? new Map<number, Settlement>();
    groups.set(one.token, group);
    // The first settlement of a lease counts.
    if (!group.has(one.id)) group.set(one.id, one);
  }
  return groups;
}

/** Whether one statement writes all the settlements: a statement sent right behind it sees their effect. */
export function isOneStatement(db: Database, settlements: Settlement[]): boolean {
  return settlements.every((one) => endsAtOnce(db, one));
}

function endsAtOnce(db: Database, { outcome }: Settlement): boolean {
  const { to, recorded } = outcomeRules[outcome];
  return db.moveToHistory !== undefined && to !== "waiting" && !recorded;
}

/** Writes the settlements of one token that only move their runs into history. */
async function settleAtOnce(
  tx: SqlContext,
  { token, group, tally }: { token: string; group: Map<number, Settlement>; tally: BatchTally },
  now: number,
): Promise<SettledGroup> {
  const endings = [...group.values()].filter((one) => endsAtOnce(tx.db, one));
  const ended = await moveLeasedToHistory(tx, token, endings, now);
  for (const { id } of ended) {
    const { batchId, outcome } = group.get(id)!;
    tally.count(batchId, outcomeRules[outcome].to as FinishedState);
  }
  return {
    settlements: ended.map(({ id }) => group.get(id)!),
    freed: ended.filter(({ limited }) => limited === 1).map((run) => ({ ...run, token })),
  };
}

/** Locks the runs, then records attempts, puts back the runs that wait again, and moves the others into history. */
async function settleInSteps(
  tx: SqlContext,
  settlements: Settlement[],
  now: number,
  tally: BatchTally,
): Promise<SettledGroup> {
  const { db } = tx;
  if (settlements.length === 0) return { settlements, freed: [] };
  const held = await readHeld(tx, settlements, db.forUpdate);
  const mine = settlements.filter(({ id, token }) => held.get(id)?.token === token);
  if (mine.length < settlements.length) tx.missed();
  // A run that was to wait again ends if somebody has cancelled it meanwhile.
  const nextState = ({ id, outcome }: Settlement) => {
    const { to } = outcomeRules[outcome];
    return to === "waiting" && held.get(id)!.cancelled_at !== null ? "cancelled" : to;
  };
  const forgets = (one: Settlement) => {
    const { id, keep } = one;
    return nextState(one) !== "waiting" && keep === 0 && !((held.get(id)!.unique_until ?? 0) > now);
  };
  const isRecorded = (one: Settlement) =>
    outcomeRules[one.outcome].recorded || (isInterrupted(one) && nextState(one) === "waiting");
  const tried = mine
    .filter((one) => isRecorded(one) && !forgets(one))
    .map((one) => ({
      ...one,
      outcome: one.outcome as AttemptEntry["outcome"],
      startedAt: now - one.duration,
    }));
  await recordAttempts(tx, tried, now);
  const waiting = mine.filter((one) => nextState(one) === "waiting");
  await putBack(
    tx,
    waiting.map((one) => {
      const { id, delay, outcome, logged, lane, cost } = one;
      const isUnused = outcome === "released" && !isInterrupted(one);
      const number = outcomeRules[outcome].counts ? "counted" : isUnused ? "unused" : "uncounted";
      return { id, delay, number, logged, lane, cost };
    }),
    now,
  );
  const isCancelled = (one: Settlement) => nextState(one) !== outcomeRules[one.outcome].to;
  const endings = mine.flatMap((one): RunEnding[] => {
    const to = nextState(one);
    if (to === "waiting") return [];
    const { id, result, keep, child = null, batchId = null } = one;
    const { error, fingerprint } = isCancelled(one) ? { error: null, fingerprint: null } : one;
    const { unique_until: uniqueUntil, attempts, logged } = held.get(id)!;
    return [
      {
        id,
        state: to,
        batchId,
        // Computed from the database's time, so that start and end are by the same clock.
        startedAt: now - one.duration,
        error,
        fingerprint,
        result,
        keep,
        uniqueUntil,
        attempts,
        logged: one.logged + logged,
        child,
      },
    ];
  });
  await moveToHistory(tx, endings, now, tally);
  const freed = mine.map(({ id }) => held.get(id)!).filter(({ limited }) => limited === 1);
  const slowed = mine.flatMap(({ id, slowDown: ms }) => (ms === undefined ? [] : { ...held.get(id)!, ms }));
  return { settlements: mine, cancelled: mine.filter(isCancelled), freed, slowed };
}

/** Whether the handler was called and did not finish: by no fault of the run, which goes back. */
function isInterrupted({ outcome, executed = false }: Settlement): boolean {
  return outcome === "released" && executed;
}

/** Reads the runs of leases, by id, with the tokens that they have now. */
async function readHeld(tx: SqlContext, leases: Lease[], lock: string): Promise<Map<number, HeldRun>> {
  const { db, t } = tx;
  const rows = await tx.all<HeldRun>(
    `select r.id, r.name, r.lane, r.queue, r.limited, r.lease_token as token, r.attempts, r.logged, r.unique_until, r.cancelled_at
       from ${db.lookUp(db.rows({ id: "integer" }), t.runs)}${lock && ` order by r.id${db.lockOnly(lock, "r")}`}`,
    idsAsJson(leases.map(({ id }) => id)),
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** Marks the runs as started whose leases are held. */
export async function markStarted(tx: SqlContext, leases: Lease[], now: number): Promise<void> {
  const { db, t } = tx;
  if (leases.length === 0) return;
  await tx.run(
    db.updateFrom(
      t.runs,
      { started_at: "coalesce(r.started_at, v.started)", child: "v.child" },
      db.rows({ id: "integer", token: "text", started: "integer", child: "text" }),
      "r.state = 2 and r.lease_token = v.token",
    ),
    JSON.stringify(leases.map(({ id, token, child = null }) => [id, token, now, child])),
  );
}

/**
 * Sets columns of one run and the child process that has it; false: the lease is lost. The first start mark stands.
 */
export async function updateHeld(
  tx: SqlContext,
  { id, token, child = null }: Lease,
  changes: { started_at?: number; isolated?: number; progress?: string; hook?: string | null },
): Promise<boolean> {
  const { db, t } = tx;
  const held = await readHeld(tx, [{ id, token }], db.forUpdate);
  if (held.get(id)?.token !== token) {
    tx.missed();
    return false;
  }
  const set = Object.keys(changes).map((column) =>
    column === "started_at" ? "started_at = coalesce(started_at, ?)" : `${column} = ?`,
  );
  await tx.run(
    `update ${t.runs} set ${set.join(", ")}, child = coalesce(${db.text}, child) where id = ?`,
    ...Object.values(changes),
    child,
    id,
  );
  return true;
}

/** Whether the lease is held at this moment. Does not lock the row. */
export async function holdsLease(tx: SqlContext, lease: Lease): Promise<boolean> {
  return (await readHeld(tx, [lease], "")).get(lease.id)?.token === lease.token;
}

/** Prolongs leases without waiting for a lock: a settlement of the same process may hold some rows and want others. */
export async function renew(
  tx: SqlContext,
  renewals: Renewal[],
  time: Promise<number>,
): Promise<Omit<RenewalResult, "cancelled">> {
  const { db, t } = tx;
  const underToken = (rows: Map<number, HeldRun>) =>
    renewals.filter(({ id, token }) => rows.get(id)?.token === token);
  const [found, now] = await Promise.all([readHeld(tx, renewals, db.skipLocked), time]);
  const free = underToken(found);
  if (free.length > 0) {
    await tx.run(
      db.updateFrom(
        t.runs,
        // An earlier renewal may arrive after a later one and must not shorten the lease. A lease that is longer than
        // `latest` was made before the database's clock was set back.
        {
          locked_until:
            "case when r.locked_until between v.until and v.latest then r.locked_until else v.until end",
        },
        db.rows({ id: "integer", until: "integer", latest: "integer" }),
      ),
      JSON.stringify(free.map(({ id, lease }) => [id, now + lease, now + 2 * lease])),
    );
  }
  const held = new Set(free.map(({ id }) => id));
  const locked = new Set<number>();
  if (free.length < renewals.length && db.skipLocked !== "") {
    const seen = underToken(await readHeld(tx, renewals, ""));
    for (const { id } of seen) if (!held.has(id)) locked.add(id);
    if (held.size + locked.size < renewals.length) tx.missed();
  }
  return { held, locked };
}

/** Returns the running runs of a worker for which a cancellation was requested. */
export async function readCancelled(sql: SqlContext, worker: string): Promise<number[]> {
  const rows = await sql.all<{ id: number }>(cancelledOf(sql.db, sql.t), worker);
  return rows.map((row) => row.id);
}

/** A `select` of the ids that `readCancelled` returns; the worker is its parameter. */
export function cancelledOf(db: Database, t: Tables): string {
  return `select id from ${t.runs}${db.using(t.runs, "leased")} where state = 2 and cancelled_at is not null and locked_by = ?`;
}
