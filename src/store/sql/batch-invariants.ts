import { yieldToEventLoop } from "../../time.ts";
import type { Findings, FleetFacts, Violation } from "../invariants.ts";
import { countMembers, listBatches, readBatches, readCalledBatches, unfinished } from "./batch-rows.ts";
import { batchOf } from "./batch-tally.ts";
import type { SqlContext } from "./context.ts";
import { inGroups } from "./database.ts";

/** Batches that one page has. */
const PAGE = 200;

/** A batch whose members have all ended is finished within a minute, and this is longer. */
const FINISHED_WITHIN = 120_000;

export interface BatchCheck {
  /** Most batches to read, and most members. */
  most: number;
  fleet: FleetFacts;
  findings: Findings;
  /** Finished batches of which a member is unfinished again. */
  revived: ReadonlySet<number>;
}

/**
 * Checks that unfinished runs belong to the batch that they name. Returns the finished batches of such runs: only a
 * retry of a single member leads to one, and the counts must know of it.
 */
export async function checkMemberRuns(
  sql: SqlContext,
  runs: readonly { id: number; name: string; batch_id: string | null }[],
  findings: Findings,
): Promise<number[]> {
  const { db, t } = sql;
  const members = runs.flatMap(({ id, batch_id: batchId }) => {
    const batch = batchOf(batchId);
    return batch === null ? [] : [[batch, id]];
  });
  if (members.length === 0) return [];
  const rows = await sql.all<{ id: number; batch: number; exists_too: number; member: number | null }>(
    `select v.id, v.batch, m.run_id as member, case when b.id is null then 0 else 1 end as exists_too
       from ${db.rows({ batch: "integer", id: "integer" })} v
       left join ${t.batches} b on b.id = v.batch left join ${t.batch_members} m on m.batch = v.batch and m.run_id = v.id
      where b.id is null or m.run_id is null or b.finished_at is not null`,
    JSON.stringify(members),
  );
  const broken = rows.filter((row) => row.exists_too === 0 || row.member === null);
  findings.add(
    broken.map(({ id, batch, exists_too: exists }) => ({
      invariant: "members",
      subject: `run ${id}`,
      message:
        exists === 0
          ? `Run ${id} is a member of batch ${batch}, which does not exist.`
          : `Run ${id} names batch ${batch}, and is not among its members.`,
    })),
  );
  return rows.filter((row) => !broken.includes(row)).map(({ batch }) => batch);
}

/** Checks batches and their counts, in pages. Returns false if it left some out. */
export async function checkBatches(sql: SqlContext, check: BatchCheck): Promise<boolean> {
  const counter = new MemberCounter(sql, check);
  const called = await checkCallbacks(sql, check, counter);
  for (const id of check.revived) counter.suspected.add(id);
  return [called, await checkUnfinished(sql, check, counter), await counter.countSuspected()].every(Boolean);
}

/** Checks that marks have their callbacks, and finds finished batches whose counts say that members are left. */
async function checkCallbacks(
  sql: SqlContext,
  { most, findings }: BatchCheck,
  { suspected }: MemberCounter,
): Promise<boolean> {
  for (let after = 0, left = most; ; ) {
    const found = await readCalledBatches(sql, after, Math.max(1, Math.min(PAGE, left)));
    if (found.length === 0) return true;
    if (left === 0) return false;
    for (const { batch, due } of found) {
      if (batch.finishedAt !== null && unfinished(batch) !== 0) suspected.add(batch.id);
      const silent = due.filter(({ dispatched = [] }) => dispatched.length === 0);
      findings.add(
        silent.map(({ on }) => ({
          invariant: "callbacks",
          subject: `batch ${batch.id}, ${on}`,
          message: `Batch ${batch.id} ${on === "failure" ? "has a failure" : "is finished"}, and its callback of ${on} was not dispatched.`,
        })),
      );
    }
    left -= found.length;
    after = found.at(-1)!.batch.id;
    await yieldToEventLoop();
  }
}

/** Checks the counts of unfinished batches, the newest first. */
async function checkUnfinished(
  sql: SqlContext,
  { most }: BatchCheck,
  counter: MemberCounter,
): Promise<boolean> {
  for (let before: number | null = null, read = 0; read < most; ) {
    const found = await listBatches(sql, { limit: PAGE, before, unfinished: true });
    if (found.length === 0) return true;
    if (!(await counter.count(found))) return false;
    read += found.length;
    before = found.at(-1)!.id;
    await yieldToEventLoop();
  }
  return false;
}

/** Compares the counts of batches with their members, as long as these are not too many in all. */
class MemberCounter {
  readonly #sql: SqlContext;
  readonly #check: BatchCheck;
  #members = 0;
  /** Finished batches to compare as well. */
  readonly suspected = new Set<number>();

  constructor(sql: SqlContext, check: BatchCheck) {
    this.#sql = sql;
    this.#check = check;
  }

  /** Returns false if it left a batch out. */
  async count(batches: { id: number; added: number }[]): Promise<boolean> {
    const { most, findings, fleet } = this.#check;
    const counted = batches.filter(({ added }) => {
      this.#members += added;
      return this.#members <= most;
    });
    const facts = await countMembers(
      this.#sql,
      counted.map(({ id }) => id),
    );
    for (const one of facts) findings.add(miscounted(one, fleet));
    return counted.length === batches.length;
  }

  async countSuspected(): Promise<boolean> {
    for (const ids of inGroups([...this.suspected], PAGE))
      if (!(await this.count(await readBatches(this.#sql, ids)))) return false;
    return true;
  }
}

function miscounted(
  { batch, members, inRuns }: Awaited<ReturnType<typeof countMembers>>[number],
  { now, hasIdleWorker }: FleetFacts,
): Violation[] {
  const open = unfinished(batch);
  const since = Math.max(batch.sealedAt ?? now, batch.retriedAt ?? 0);
  const isLate = batch.finishedAt === null && inRuns === 0 && since < now - FINISHED_WITHIN;
  let fault: string | null = null;
  if (members !== batch.added) fault = `counts ${batch.added} members, and has ${members}`;
  else if (open !== inRuns) fault = `counts ${open} members that have not ended, and ${inRuns} are in runs`;
  else if (isLate && hasIdleWorker) fault = "has no unfinished member, and is not finished";
  const message = `Batch ${batch.id} ${fault}.`;
  return fault === null ? [] : [{ invariant: "batches", subject: `batch ${batch.id}`, message }];
}
