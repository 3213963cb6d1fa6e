import { outcomeRules, type RunState, stateCodes } from "../../run/states.ts";
import type { Lease, Renewal, RenewalResult, Settlement } from "../store.ts";
import type { RunRow } from "./claim.ts";
import type { SqlContext } from "./context.ts";
import type { Database, Tables } from "./database.ts";
import { type Ending, moveHeldToHistory, moveToHistory } from "./history.ts";

/** A run, and which limits it is under. */
type Place = Pick<RunRow, "id" | "name" | "lane" | "queue">;

/** A run whose lease is held, as the one who writes about it found it. */
interface Held extends Place {
  token: string;
  limited: number;
  attempts: number;
  logged: number;
  unique_until: number | null;
}

export interface Settled {
  /** In the order given: true where the lease was held. */
  written: boolean[];
  /** Runs under limits that are not running any more, as far as this transaction goes. */
  freed: Place[];
}

/** A run that goes back to wait. */
interface Waiting {
  id: number;
  delay: number;
  /** False: the try is given back, and the next one has its number. */
  counts: boolean;
  /** Lines logged under that number; null: as many as before. */
  logged: number | null;
  /** Its key was computed meanwhile. */
  lane?: string | undefined;
}

/** A try that is written down. */
export interface Tried {
  id: number;
  outcome: "retried" | "failed" | "crashed";
  startedAt: number;
  error: string | null;
  fingerprint: string | null;
}

/** What was settled, and the run as it was. */
interface Mine {
  settlement: Settlement;
  run: Place & { limited: number };
}

function leaseOf({ id, token }: Lease): string {
  return `${id} ${token}`;
}

export async function settleAll(tx: SqlContext, settlements: Settlement[], now: number): Promise<Settled> {
  const byLease = new Map<string, Settlement>();
  // Of several about one run the first counts.
  for (const one of settlements) if (!byLease.has(leaseOf(one))) byLease.set(leaseOf(one), one);
  const [atOnce, steps] = await Promise.all([
    settleAtOnce(tx, byLease, now),
    settleInSteps(
      tx,
      [...byLease.values()].filter((one) => !endsAtOnce(tx.db, one)),
      now,
    ),
  ]);
  const mine = new Set([...atOnce, ...steps].map(({ settlement }) => settlement));
  return {
    written: settlements.map((one) => mine.has(one)),
    freed: [...atOnce, ...steps].map(({ run }) => run).filter(({ limited }) => limited === 1),
  };
}

/** Whether all of it is one statement, so that what is asked behind it sees what it did. */
export function isOneStatement(db: Database, settlements: Settlement[]): boolean {
  return settlements.every((one) => endsAtOnce(db, one));
}

function endsAtOnce(db: Database, { outcome }: Settlement): boolean {
  const { to, recorded } = outcomeRules[outcome];
  return db.move !== null && to !== "waiting" && !recorded;
}

/** Those that end their runs and leave nothing else to write. */
async function settleAtOnce(tx: SqlContext, byLease: Map<string, Settlement>, now: number): Promise<Mine[]> {
  const ending = [...byLease.values()].filter((one) => endsAtOnce(tx.db, one));
  const endings = ending.map(({ outcome, duration, ...one }) => ({
    ...one,
    state: stateCodes[outcomeRules[outcome].to as RunState],
    startedAt: now - duration,
  }));
  const ended = await moveHeldToHistory(tx, endings, now);
  return ended.map((run) => ({ run, settlement: byLease.get(leaseOf(run))! }));
}

async function settleInSteps(tx: SqlContext, settlements: Settlement[], now: number): Promise<Mine[]> {
  const { db } = tx;
  if (settlements.length === 0) return [];
  const held = await readHeld(tx, settlements, db.forUpdate);
  const mine = settlements.filter(({ id, token }) => held.get(id)?.token === token);
  const forgets = ({ id, keep, outcome }: Settlement) =>
    outcomeRules[outcome].to !== "waiting" && keep === 0 && !((held.get(id)!.unique_until ?? 0) > now);
  const tried = mine
    .filter((one) => outcomeRules[one.outcome].recorded && !forgets(one))
    .map((one) => ({ ...one, outcome: one.outcome as Tried["outcome"], startedAt: now - one.duration }));
  await recordAttempts(tx, tried, now);
  const waiting = mine.filter(({ outcome }) => outcomeRules[outcome].to === "waiting");
  await putBack(
    tx,
    waiting.map(({ id, delay, outcome, logged, lane }) => ({
      id,
      delay,
      counts: outcomeRules[outcome].counts,
      logged,
      lane,
    })),
    now,
  );
  const endings = mine.flatMap(({ outcome, duration, ...one }): Ending[] => {
    const { to } = outcomeRules[outcome];
    if (to === "waiting") return [];
    const { unique_until: uniqueUntil, attempts, ...before } = held.get(one.id)!;
    const logged = one.logged + before.logged;
    // From the duration, so that both ends of it are the database's time.
    return [{ ...one, state: stateCodes[to], startedAt: now - duration, uniqueUntil, attempts, logged }];
  });
  await moveToHistory(tx, endings, now);
  return mine.map((settlement) => ({ settlement, run: held.get(settlement.id)! }));
}

async function readHeld(tx: SqlContext, leases: Lease[], lock: string): Promise<Map<number, Held>> {
  const { db, t } = tx;
  const rows = await tx.all<Held>(
    `select r.id, r.name, r.lane, r.queue, r.limited, r.lease_token as token, r.attempts, r.logged, r.unique_until
       from ${db.lookUp(db.rows({ id: "integer" }), t.runs)}${lock && ` order by r.id${db.lockOnly(lock, "r")}`}`,
    JSON.stringify(leases.map(({ id }) => [id])),
  );
  return new Map(rows.map((row) => [row.id, row]));
}

export async function putBack(tx: SqlContext, runs: Waiting[], now: number): Promise<void> {
  const { db, t } = tx;
  if (runs.length === 0) return;
  await tx.run(
    db.updateFrom(
      t.runs,
      {
        state: "v.to_state",
        lane: "coalesce(v.lane, r.lane)",
        run_at: "coalesce(v.due, r.run_at)",
        attempts: "r.attempts - v.given_back",
        lease_token: "null",
        locked_by: "null",
        child: "null",
        locked_until: "null",
        started_at: "null",
        isolated: "0",
        hook: "null",
        logged: "coalesce(v.logged, r.logged)",
      },
      db.rows({
        id: "integer",
        to_state: "integer",
        due: "integer",
        given_back: "integer",
        logged: "integer",
        lane: "text",
      }),
    ),
    JSON.stringify(
      runs.map(({ id, delay, counts, logged, lane = null }) => [
        id,
        delay > 0 ? stateCodes.scheduled : stateCodes.ready,
        delay > 0 ? now + delay : null,
        counts ? 0 : 1,
        // The next try has another number, and no lines under it.
        counts ? 0 : logged,
        lane,
      ]),
    ),
  );
}

export async function recordAttempts(tx: SqlContext, tried: Tried[], now: number): Promise<void> {
  const { db, t } = tx;
  if (tried.length === 0) return;
  const rows = db.rows({
    id: "integer",
    outcome: "text",
    started_at: "integer",
    finished_at: "integer",
    error: "text",
    fingerprint: "text",
  });
  await tx.run(
    `insert into ${t.attempts} (run_id, attempt, outcome, worker, started_at, finished_at, error, fingerprint)
     select r.id, r.attempts, v.outcome, r.locked_by, v.started_at, v.finished_at, v.error, v.fingerprint
       from ${db.lookUp(rows, t.runs)}`,
    JSON.stringify(
      tried.map(({ id, outcome, startedAt, error, fingerprint }) => [
        id,
        outcome,
        startedAt,
        now,
        error,
        fingerprint,
      ]),
    ),
  );
}

/** Marks runs as started that are still held. */
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

/** Columns of one run, and which child has it, if its lease is held. The first start counts. */
export async function updateHeld(
  tx: SqlContext,
  { id, token, child = null }: Lease,
  changes: { started_at?: number; isolated?: number; progress?: string; hook?: string | null },
): Promise<boolean> {
  const { db, t } = tx;
  const held = await readHeld(tx, [{ id, token }], db.forUpdate);
  if (held.get(id)?.token !== token) return false;
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

/** Whether the lease is held now; the row is not locked. */
export async function holdsLease(tx: SqlContext, lease: Lease): Promise<boolean> {
  return (await readHeld(tx, [lease], "")).get(lease.id)?.token === lease.token;
}

/** Never waits for a lock: a settle of the same process holds its rows and may want others. */
export async function renew(
  tx: SqlContext,
  renewals: Renewal[],
  time: Promise<number>,
): Promise<Omit<RenewalResult, "cancelled">> {
  const { db, t } = tx;
  const standing = (rows: Map<number, Held>) =>
    renewals.filter(({ id, token }) => rows.get(id)?.token === token);
  const [found, now] = await Promise.all([readHeld(tx, renewals, db.skipLocked), time]);
  const free = standing(found);
  if (free.length > 0) {
    await tx.run(
      db.updateFrom(
        t.runs,
        // Of two renewals under way the earlier one may come last, and must not shorten the lease. A longer gap means
        // that the database's clock was set back.
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
    const seen = standing(await readHeld(tx, renewals, ""));
    for (const { id } of seen) if (!held.has(id)) locked.add(id);
  }
  return { held, locked };
}

export async function readCancelled(sql: SqlContext, worker: string): Promise<number[]> {
  const rows = await sql.all<{ id: number }>(cancelledOf(sql.db, sql.t), worker);
  return rows.map((row) => row.id);
}

/** The ids of runs of one worker that somebody asked to cancel. */
export function cancelledOf(db: Database, t: Tables): string {
  return `select id from ${t.runs}${db.using(t.runs, "leased")} where state = 2 and cancelled_at is not null and locked_by = ?`;
}
