import { stateCodes } from "../../run/states.ts";
import type { ReapedRun } from "../store.ts";
import { inOrder } from "./claimed.ts";
import { type Database, first, inGroups, type Param, type Sql, type Tables } from "./database.ts";
import type { Ending, Settler } from "./settle.ts";

interface Expired {
  id: number;
  name: string;
  worker: string | null;
  attempts: number;
  crashes: number;
  unique_until: number | null;
  started_at: number | null;
  cancelled_at: number | null;
  priority: number;
  run_at: number;
}

/** Takes back runs whose lease has ended. */
export async function reap(
  tx: Sql,
  db: Database,
  t: Tables,
  settler: Settler,
  { limit, crashCap, error, keep }: { limit: number; crashCap: number; error: string; keep: number | null },
  now: number,
): Promise<ReapedRun[]> {
  const expired = await tx.all<Expired>(
    `select id, name, locked_by as worker, attempts, crashes, unique_until, started_at, cancelled_at, priority, run_at
       from ${t.runs} where state = 2 and locked_until < ? order by locked_until, id limit ?${db.skipLocked}`,
    now,
    limit,
  );
  const begun = await whichBegan(tx, t, expired);
  const crashed = expired.filter((run) => begun.has(run));
  await settler.record(
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
  const reaped = expired.map(({ id, name, worker, cancelled_at, crashes }, index): ReapedRun => {
    const isCrashed = begun.has(expired[index]!);
    const failed = isCrashed && crashes + 1 >= crashCap;
    const state = cancelled_at !== null ? "cancelled" : failed ? "failed" : "ready";
    return { id, name, worker, state, crashed: isCrashed };
  });
  const waiting = reaped.filter(({ state }) => state === "ready");
  await settler.putBack(
    tx,
    waiting.map((run) => ({ id: run.id, delay: 0, counts: run.crashed })),
    now,
  );
  const endings = reaped.flatMap(({ id, state }, index): Ending[] => {
    if (state === "ready") return [];
    const run = expired[index]!;
    const failure =
      state === "failed" ? { error, fingerprint: "crashed" } : { error: null, fingerprint: null };
    const { started_at: startedAt, unique_until: uniqueUntil } = run;
    // One more: the try that was lost is written down by now.
    const attempts = run.attempts + 1;
    return [
      { id, state: stateCodes[state], ...failure, startedAt, result: null, keep, uniqueUntil, attempts },
    ];
  });
  await settler.end(tx, endings, now);
  return reaped;
}

/**
 * Runs that had begun when their worker was lost. Of those claimed ahead the first may have begun since it last told
 * of any: as many as it had slots for, less those it told of.
 */
async function whichBegan(tx: Sql, t: Tables, expired: Expired[]): Promise<Set<Expired>> {
  const begun = new Set(expired.filter((run) => run.started_at !== null));
  for (const [worker, runs] of Map.groupBy(expired, (run) => run.worker ?? "")) {
    const row = await first(
      tx.all<{ parallel: number; told: number }>(
        `select parallel, (select count(*) from ${t.runs} where state = 2 and locked_by = w.id and started_at is not null) as told
           from ${t.workers} w where id = ?`,
        worker,
      ),
    );
    const slots = Math.max(0, (row?.parallel ?? 0) - (row?.told ?? 0));
    // One with a crash behind it is told of before it begins.
    const ahead = runs.filter((run) => run.started_at === null && run.crashes === 0).sort(inOrder);
    for (const run of ahead.slice(0, slots)) begun.add(run);
  }
  return begun;
}

/** Ends runs that are not running, by a condition on `runs`; gives their ids. */
export async function endWaiting(
  tx: Sql,
  db: Database,
  t: Tables,
  settler: Settler,
  { where, params }: { where: string; params: Param[] },
  end: { state: "failed" | "cancelled"; error: string | null; keep: number | null; now: number },
): Promise<number[]> {
  const waiting = await tx.all<{ id: number; unique_until: number | null; attempts: number }>(
    `select id, unique_until, attempts from ${t.runs} where state in (0, 1) and ${where} order by id${db.forUpdate}`,
    ...params,
  );
  for (const group of inGroups(waiting)) {
    const endings = group.map(({ id, unique_until, attempts }) => ({
      id,
      state: stateCodes[end.state],
      startedAt: null,
      error: end.error,
      fingerprint: null,
      result: null,
      keep: end.keep,
      uniqueUntil: unique_until,
      attempts: attempts + 1,
    }));
    await settler.end(tx, endings, end.now);
  }
  return waiting.map(({ id }) => id);
}
