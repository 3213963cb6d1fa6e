import { stateCodes } from "../../run/states.ts";
import { yieldToEventLoop } from "../../time.ts";
import {
  exceededLimits,
  Findings,
  type InvariantReport,
  type Limit,
  MOST_REPORTED,
  type RunFacts,
  type RunningRun,
  SWEPT_WITHIN,
  seconds,
  TICKED_WITHIN,
  violationsOf,
} from "../invariants.ts";
import { hasRates, jobLimitOf, keyLimitOf, queueLimitOf, readRates } from "../stored-limits.ts";
import { isClaiming } from "../worker-records.ts";
import { checkBatches, checkMemberRuns } from "./batch-invariants.ts";
import { type Belongings, checkBelongings } from "./belonging-invariants.ts";
import type { SqlContext } from "./context.ts";
import { joinDefiner, SEEN_AT } from "./definers.ts";
import { UNIQUE_SCOPE } from "./new-run.ts";
import { checkRates } from "./rate-invariants.ts";
import { liveWorkers } from "./workers.ts";

/** Rows that one statement reads. */
const SLICE = 1000;

/** Most running runs to count: more than the workers of a large installation hold. */
const MOST_RUNNING = 100_000;

/** Some heartbeats of the worker that defines a job. Workers of older versions write every 30 seconds that they do. */
const DEFINED_WITHIN = 40_000;

const OF_RUNS: Pick<Belongings, "owners" | "owner"> = { owners: ["runs", "history"], owner: "run" };
const OF_BATCHES: Pick<Belongings, "invariant" | "owners" | "owner"> = {
  invariant: "members",
  owners: ["batches"],
  owner: "batch",
};

/** The rows that belong to others. Lines of runs that are gone may be left for some time. */
function belongings(now: number): Belongings[] {
  return [
    {
      ...OF_RUNS,
      invariant: "attempts",
      table: "attempts",
      key: ["run_id", "attempt"],
      what: "Attempts",
    },
    {
      ...OF_RUNS,
      invariant: "logs",
      table: "logs",
      key: ["run_id", "position"],
      before: now - SWEPT_WITHIN,
      what: "Log lines",
    },
    { ...OF_BATCHES, table: "batch_members", key: ["batch", "run_id"], what: "Members" },
    { ...OF_BATCHES, table: "batch_counts", key: ["batch", "who"], what: "Counts" },
  ];
}

/**
 * Checks the invariants, reading at most `most` rows of each table, the oldest first. It locks nothing. Each statement
 * sees one moment; a later look confirms what it finds.
 */
export async function checkInvariants(
  sql: SqlContext,
  most: number,
  now: () => Promise<number>,
): Promise<InvariantReport> {
  const findings = new Findings();
  const runs = await checkRuns(sql, { most, now, findings });
  const all = [
    runs.complete,
    await checkLimits(sql, findings),
    await checkRates(sql, { most, now, findings }),
  ];
  for (const rows of belongings(await now())) all.push(await checkBelongings(sql, rows, most, findings));
  await checkTicks(sql, await now(), findings);
  const time = await now();
  const fleet = { now: time, hasIdleWorker: await isSomeWorkerIdle(sql, time) };
  all.push(await checkBatches(sql, { most, fleet, findings, revived: runs.revived }));
  return { violations: findings.violations, runs: runs.read, complete: all.every(Boolean) };
}

/** `revived`: finished batches of which a member is unfinished again. */
async function checkRuns(
  sql: SqlContext,
  { most, now, findings }: { most: number; now: () => Promise<number>; findings: Findings },
): Promise<{ read: number; complete: boolean; revived: Set<number> }> {
  const { db, t } = sql;
  const revived = new Set<number>();
  for (let after = 0, read = 0; ; ) {
    if (read === most) {
      const more = await sql.all(`select id from ${t.runs} where id > ? limit 1`, after);
      return { read, complete: more.length === 0, revived };
    }
    const time = await now();
    const hasIdleWorker = await isSomeWorkerIdle(sql, time);
    // A window that has ended frees the key.
    const holder = `select min(k.id) from ${t.history} k${db.using(t.history, "unique")}
       where k.unique_key = r.unique_key and k.unique_until > ? and k.id <> r.id
         and (r.unique_scope <> ${UNIQUE_SCOPE.window} or r.unique_until > ?)`;
    const rows = await sql.all<RunFacts>(
      `select r.id, r.name, r.state, r.run_at, r.lease_token as token, r.locked_by as worker, r.locked_until as until, r.batch_id,
              case when h.id is null then 0 else 1 end as finished,
              case when r.unique_key is not null then (${holder}) end as holder
         from ${t.runs} r left join ${t.history} h on h.id = r.id
        where r.id > ? order by r.id limit ?`,
      time,
      time,
      after,
      Math.min(SLICE, most - read),
    );
    for (const row of rows) findings.add(violationsOf(row, { now: time, hasIdleWorker }));
    for (const batch of await checkMemberRuns(sql, rows, findings)) revived.add(batch);
    read += rows.length;
    if (rows.length === 0) return { read, complete: true, revived };
    after = rows.at(-1)!.id;
    await yieldToEventLoop();
  }
}

/** Whether a live worker has a free slot. */
async function isSomeWorkerIdle(sql: SqlContext, now: number): Promise<boolean> {
  const { db, t } = sql;
  for (const { id, parallel } of (await liveWorkers(sql, now)).filter(isClaiming)) {
    const runs = await sql.all(
      `select id from ${t.runs}${db.using(t.runs, "leased")} where state = ${stateCodes.running} and locked_by = ? limit ?`,
      id,
      parallel,
    );
    if (runs.length < parallel) return true;
  }
  return false;
}

async function checkLimits(sql: SqlContext, findings: Findings): Promise<boolean> {
  const { db, t } = sql;
  const running = await sql.all<RunningRun>(
    `select id, name, lane, queue, lease_token as token, started_at from ${t.runs}${db.using(t.runs, "leased")}
      where state = ${stateCodes.running} and locked_by > '' and owner is null order by id limit ${MOST_RUNNING}`,
  );
  const jobs = await sql.all<{
    name: string;
    lim: number;
    key_lim: number;
    rate: string | null;
    defined_at: number;
  }>(`select name, lim, key_lim, rate, defined_at from ${t.jobs} where lim <> 0 or key_lim > 0`);
  const queues = await sql.all<{ name: string; lim: number; defined_at: number | null }>(
    `select name, lim, defined_at from ${t.queues} where lim > 0`,
  );
  const named = await sql.all<{ name: string; lim: number; defined_at: number | null }>(
    `select name, lim, defined_at from ${t.limits} where lim > 0`,
  );
  const under = Map.groupBy(jobs.filter(hasRates), ({ rate }) => readRates(rate)?.under?.limit);
  const limits = [
    ...named.map(({ name, lim, defined_at: definedAt }): Limit => {
      const members = under.get(name) ?? [];
      // A job that was put under the limit later may have had more runs.
      const since = Math.max(definedAt ?? 0, ...members.map((job) => job.defined_at));
      return {
        kind: "limit",
        name,
        most: lim,
        definedAt: since,
        jobs: new Set(members.map((job) => job.name)),
      };
    }),
    ...jobs.flatMap(({ name, defined_at: definedAt, rate: _, ...columns }): Limit[] => [
      { kind: "job", name, most: jobLimitOf(columns), definedAt },
      { kind: "key", name, most: keyLimitOf(columns), definedAt },
    ]),
    ...queues.map(
      ({ name, lim, defined_at: definedAt }): Limit => ({
        kind: "queue",
        name,
        most: queueLimitOf(lim),
        definedAt: definedAt ?? 0,
      }),
    ),
  ];
  findings.add(
    exceededLimits(
      running,
      limits.filter(({ most }) => most > 0),
    ),
  );
  return running.length < MOST_RUNNING;
}

async function checkTicks(sql: SqlContext, now: number, findings: Findings): Promise<void> {
  const { t } = sql;
  const ticking = (await liveWorkers(sql, now)).some(
    (worker) => isClaiming(worker) && worker.schedules && worker.startedAt < now - TICKED_WITHIN,
  );
  if (!ticking || !(await isSomeWorkerIdle(sql, now))) return;
  const late = await sql.all<{ id: number; job: string; next: number }>(
    `select s.id, s.job, s.next_tick as next from ${t.schedules} s join ${t.jobs} j on j.name = s.job ${joinDefiner(t)}
      where s.next_tick < ? and s.paused_at is null and j.paused_at is null and ${SEEN_AT} > ?
      order by s.next_tick limit ${MOST_REPORTED}`,
    now - TICKED_WITHIN,
    now - DEFINED_WITHIN,
  );
  findings.add(
    late.map(({ id, job, next }) => ({
      invariant: "ticked",
      subject: `schedule ${id}, tick ${next}`,
      message: `Schedule ${id} of "${job}" is ${seconds(now - next)} late.`,
    })),
  );
}
