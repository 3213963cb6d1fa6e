import type { BatchRecord } from "../batches.ts";
import type { ClaimedRun } from "../runs.ts";
import { batchOf } from "./batch-tally.ts";
import type { SqlContext } from "./context.ts";
import { inGroups, placeholders } from "./database.ts";

/** Ids of runs by the batch that they are members of. */
export type MembersByBatch = Map<number, number[]>;

/** Returns the members of batches among claimed runs. */
export function membersOf(runs: readonly ClaimedRun[]): MembersByBatch {
  const members: MembersByBatch = new Map();
  for (const { id, batchId } of runs) {
    const batch = batchOf(batchId);
    if (batch !== null) addTo(members, batch, [id]);
  }
  return members;
}

function addTo(members: MembersByBatch, batch: number, ids: number[]): void {
  const known = members.get(batch);
  if (!known) members.set(batch, [...ids]);
  else for (const id of ids) known.push(id);
}

/**
 * Asks members to end that this process has claimed although their batch is cancelled: the process that cancels the
 * batch may have died, or still be at work. The first claim after the cancellation learns of it from the look at the
 * batch, when its members may have started. Later claims verify the mark before their members start.
 */
export class ClaimedMembers {
  readonly #sql: SqlContext;
  readonly #now: () => Promise<number>;
  /** Members whose batch has not been looked at since they were claimed. */
  readonly #unverified: MembersByBatch = new Map();
  /** Batches that were cancelled when this process last read them. A retry removes the mark. */
  readonly #cancelled = new Set<number>();

  constructor(sql: SqlContext, now: () => Promise<number>) {
    this.#sql = sql;
    this.#now = now;
  }

  /** Returns those of the members that must not start, after it has asked them to end. */
  async withdraw(members: MembersByBatch): Promise<number[]> {
    const suspected: number[] = [];
    for (const [batch, ids] of members) {
      if (this.#cancelled.has(batch)) suspected.push(batch);
      else addTo(this.#unverified, batch, ids);
    }
    if (suspected.length === 0) return [];
    const cancelled = await this.#verify(suspected);
    for (const batch of cancelled) await this.#requestEnd(batch, members.get(batch)!);
    return suspected.flatMap((batch) => (cancelled.has(batch) ? members.get(batch)! : []));
  }

  /** Called before a look at batches. Returns the members that the look verifies: none that is claimed meanwhile. */
  take(batches: readonly number[]): MembersByBatch {
    const taken = new Map(batches.map((batch) => [batch, this.#unverified.get(batch) ?? []]));
    for (const batch of batches) this.#unverified.delete(batch);
    return taken;
  }

  /** Called after the look. */
  async looked(found: readonly BatchRecord[], taken: MembersByBatch): Promise<void> {
    for (const { id, cancelledAt, finishedAt } of found) {
      const isCancelled = cancelledAt !== null && finishedAt === null;
      this.#cancelled[isCancelled ? "add" : "delete"](id);
      if (isCancelled) await this.#requestEnd(id, taken.get(id)!);
    }
  }

  /** Returns those of the batches that are still cancelled and unfinished. */
  async #verify(batches: number[]): Promise<Set<number>> {
    const { t } = this.#sql;
    for (const batch of batches) this.#cancelled.delete(batch);
    for (const group of inGroups(batches)) {
      const rows = await this.#sql.all<{ id: number }>(
        `select id from ${t.batches} where id in (${placeholders(group)}) and cancelled_at is not null and finished_at is null`,
        ...group,
      );
      for (const { id } of rows) this.#cancelled.add(id);
    }
    return new Set(batches.filter((batch) => this.#cancelled.has(batch)));
  }

  /** Asks members to end, unless a retry has removed the mark of their batch meanwhile. */
  async #requestEnd(batch: number, ids: number[]): Promise<void> {
    if (ids.length === 0) return;
    const { t } = this.#sql;
    const now = await this.#now();
    for (const group of inGroups(ids)) {
      await this.#sql.run(
        `update ${t.runs} set cancelled_at = ? where id in (${placeholders(group)}) and state = 2 and cancelled_at is null
            and exists (select 1 from ${t.batches} b where b.id = ? and b.cancelled_at is not null and b.finished_at is null)`,
        now,
        ...group,
        batch,
      );
    }
  }
}
