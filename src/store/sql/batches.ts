import { randomText } from "../../random.ts";
import { type Clock, DAY } from "../../time.ts";
import type {
  BatchCancellation,
  BatchChange,
  BatchRecord,
  BatchRefusal,
  BatchStore,
  BatchWatch,
  NewBatch,
  NewMembers,
} from "../batches.ts";
import type { ClaimedRun, InsertResult, NewRun } from "../runs.ts";
import { advance } from "./batch-finish.ts";
import { BatchLooks } from "./batch-looks.ts";
import { hasRevivable, reviveMembers, withdraw } from "./batch-members.ts";
import { BatchRefused, type Membership } from "./batch-membership.ts";
import { listBatches, readBatches, unfinished, withoutUnfinished } from "./batch-rows.ts";
import { ClaimedMembers, membersOf } from "./claimed-members.ts";
import type { SqlContext } from "./context.ts";
import { first, type Sql } from "./database.ts";

/** Batches that one sweep looks at. */
const SWEPT_AT_ONCE = 1000;

/** How long history keeps members that were cancelled with their batch: the default of cancelled runs. */
const CANCELLED_KEPT = DAY;

/** Age of the seal from which a sweep checks whether members are left. Until then the workers that end them look. */
const SWEPT_AFTER = 30_000;

/** Age of the mark of a retry from which its process counts as dead: a live one renews the mark every few members. */
const RETRIER_DEAD_AFTER = 60_000;

const NONE: number[] = [];

export interface BatchParts {
  sql: SqlContext;
  clock: Clock;
  now(sql?: Sql): Promise<number>;
  /** Inserts runs as members of a batch, in one transaction. */
  insert(
    members: NewRun[],
    membership: Membership,
    tx: unknown,
  ): Promise<{ batch: number; inserted: InsertResult[] }>;
  /** Tells other processes of new runs. */
  announce(): Promise<void>;
}

/** The batches of a store on any database (note 56). */
export class SqlBatches implements BatchStore {
  readonly #parts: BatchParts;
  readonly #looks: BatchLooks;
  readonly #claimed: ClaimedMembers;
  /** The last batch of the last sweep; null: the oldest one. */
  #swept: number | null = null;
  /** The row in which this process counts the members that it adds. */
  readonly who: string = `+${randomText().slice(0, 12)}`;
  onChange: ((change: BatchChange) => void) | null = null;

  constructor(parts: BatchParts) {
    this.#parts = parts;
    this.#looks = new BatchLooks({ clock: parts.clock, look: (batches) => this.#lookAt(batches) });
    this.#claimed = new ClaimedMembers(parts.sql, () => parts.now());
  }

  async create(
    batch: NewBatch,
    members: NewRun[],
    { seal }: { seal: boolean },
    tx?: unknown,
  ): Promise<{ id: number; inserted: InsertResult[] }> {
    const { batch: id, inserted } = await this.#parts.insert(members, { create: batch, seal }, tx);
    if (seal && !inserted.some((one) => one.inserted)) await this.#lookAfterSeal(id, tx);
    return { id, inserted };
  }

  async add(
    id: number,
    members: NewRun[],
    options: NewMembers,
    tx?: unknown,
  ): Promise<InsertResult[] | BatchRefusal> {
    if (members.length === 0) {
      if (options.seal && (await this.seal(id)) === null) return null;
      return [];
    }
    try {
      const { inserted } = await this.#parts.insert(members, { batch: id, ...options }, tx);
      if (options.seal) await this.#lookAfterSeal(id, tx);
      return inserted;
    } catch (error) {
      if (error instanceof BatchRefused) return error.refusal;
      throw error;
    }
  }

  /** Looks at a sealed batch, which may have no unfinished member, after the commit. With `tx`, the caller commits. */
  async #lookAfterSeal(id: number, tx: unknown): Promise<void> {
    if (tx === undefined) return this.lookAfterCommit(new Set([id]));
    const isOver = async () =>
      (await readBatches(this.#parts.sql, [id])).some((one) => one.finishedAt !== null);
    this.#looks.lookRepeatedly(id, isOver);
  }

  async seal(id: number): Promise<boolean | null> {
    const { sql } = this.#parts;
    const now = await this.#parts.now();
    const wasOpen = await sql.transaction(async (tx) => {
      const { db, t } = tx;
      const row = await first(
        tx.all<{ sealed_at: number | null }>(
          `select sealed_at from ${t.batches} where id = ?${db.forUpdate}`,
          id,
        ),
      );
      if (!row) return null;
      await tx.run(`update ${t.batches} set sealed_at = ? where id = ? and sealed_at is null`, now, id);
      return row.sealed_at === null;
    });
    if (wasOpen !== null) await this.lookAfterCommit(new Set([id]));
    return wasOpen;
  }

  async cancel(id: number, watch: BatchWatch = {}): Promise<BatchCancellation | "finished" | null> {
    const { sql } = this.#parts;
    const now = await this.#parts.now();
    const state = await sql.transaction(async (tx) => {
      const { db, t } = tx;
      const row = await first(
        tx.all<{ finished_at: number | null }>(
          `select finished_at from ${t.batches} where id = ?${db.forUpdate}`,
          id,
        ),
      );
      if (!row) return null;
      if (row.finished_at !== null) return "finished";
      await tx.run(
        `update ${t.batches} set cancelled_at = coalesce(cancelled_at, ?), sealed_at = coalesce(sealed_at, ?) where id = ?`,
        now,
        now,
        id,
      );
      return "cancelled";
    });
    return state === "cancelled" ? this.#withdraw(id, now, watch) : state;
  }

  async #withdraw(id: number, now: number, watch: BatchWatch = {}): Promise<BatchCancellation> {
    const batches = new Set([id]);
    const end = { state: "cancelled", error: null, keep: CANCELLED_KEPT, now, batches } as const;
    const report = await withdraw(this.#parts.sql, id, end, watch);
    await this.lookAfterCommit(batches);
    if (report.requested.length > 0) await this.#parts.announce();
    return report;
  }

  /**
   * Marks the batch while it revives members, so that the first of them cannot finish it, and the failures of those
   * that are not revived yet are not reported again. If this process dies meanwhile, the sweep removes the mark.
   */
  async retry(id: number, watch: BatchWatch = {}): Promise<number | null> {
    const { sql } = this.#parts;
    const [batch] = await readBatches(sql, [id]);
    if (!batch) return null;
    if (!(await hasRevivable(sql, id))) return 0;
    await sql.run(
      `update ${sql.t.batches} set retried_at = ?, cancelled_at = null, finished_at = null, keep_until = null where id = ?`,
      await this.#parts.now(),
      id,
    );
    const renewMark = async () => {
      const now = await this.#parts.now();
      await sql.run(`update ${sql.t.batches} set retried_at = ? where id = ?`, now, id);
      return now;
    };
    const revived = await reviveMembers(sql, id, renewMark, watch);
    await this.#endRetry(id);
    await this.#parts.announce();
    return revived;
  }

  /** Lets a retried batch finish again. A failure of its members counts as the first one again. */
  async #endRetry(id: number): Promise<void> {
    const { sql } = this.#parts;
    await sql.run(`update ${sql.t.batches} set retried_at = null, failed_at = null where id = ?`, id);
    await this.lookAfterCommit(new Set([id]));
  }

  async sweep(): Promise<void> {
    const { sql } = this.#parts;
    const page = { limit: SWEPT_AT_ONCE, before: this.#swept, unfinished: true };
    const found = await listBatches(sql, page);
    this.#swept = found.length < SWEPT_AT_ONCE ? null : found.at(-1)!.id;
    if (found.length === 0) return;
    const now = await this.#parts.now();
    for (const { id, cancelledAt, retriedAt } of found) {
      if (cancelledAt !== null) await this.#withdraw(id, now);
      if (retriedAt !== null && retriedAt < now - RETRIER_DEAD_AFTER) await this.#endRetry(id);
    }
    const old = found.filter(({ sealedAt }) => sealedAt !== null && sealedAt < now - SWEPT_AFTER);
    const left = await withoutUnfinished(
      sql,
      old.map(({ id }) => id),
    );
    for (const batch of found) {
      const thorough = left.has(batch.id);
      if (thorough || isDue(batch)) await this.#advance(batch.id, thorough);
    }
  }

  /** Looks at batches whose members have ended, after the commit. Never rejects: the sweep repeats a failed look. */
  async lookAfterCommit(batches: ReadonlySet<number>): Promise<void> {
    if (batches.size > 0) await this.#looks.lookAfter(batches, true);
  }

  /** As `lookAfterCommit`, after an exchange. Returns whether a callback was dispatched that the worker can claim. */
  lookAfterExchange(batches: ReadonlySet<number>, isIdle: boolean): Promise<boolean> {
    return this.#looks.lookAfter(batches, isIdle);
  }

  /**
   * Called with the runs of a claim. Returns those that must not start, because they are members of a cancelled batch.
   * A batch of which this process does not know that it is cancelled is looked at beside the exchanges.
   */
  async withdrawClaimed(runs: readonly ClaimedRun[]): Promise<number[]> {
    const members = membersOf(runs);
    if (members.size === 0) return NONE;
    // If it fails, the members start, and the sweep cancels them: the claim is committed.
    const withdrawn = await this.#claimed.withdraw(members).catch(() => NONE);
    await this.#looks.lookAfter(new Set(members.keys()), false);
    return withdrawn;
  }

  /** Looks at the batches that wait for a look, and waits for the looks under way: the process may end after this. */
  async finishLooks(): Promise<void> {
    await this.#looks.finish();
  }

  async #lookAt(ids: number[]): Promise<boolean> {
    const { sql } = this.#parts;
    const claimed = this.#claimed.take(ids);
    // A node of a cluster may lag behind another one, on which the other last member has ended.
    const found = sql.db.isMultiWriter
      ? await sql.transaction((tx) => readBatches(tx, ids), { waitForNode: true })
      : await readBatches(sql, ids);
    await this.#claimed.looked(found, claimed);
    let dispatched = false;
    for (const batch of found.filter(isDue)) {
      dispatched = (await this.#advance(batch.id, false)) || dispatched;
    }
    return dispatched;
  }

  /** Returns whether anything was dispatched. */
  async #advance(id: number, thorough: boolean): Promise<boolean> {
    const { sql } = this.#parts;
    const change = await sql.transaction(async (tx) => advance(tx, id, await this.#parts.now(tx), thorough), {
      lockTimeout: true,
      waitForNode: sql.db.isMultiWriter,
    });
    if (!change) return false;
    const { batch, dispatched } = change;
    if (dispatched.length > 0) await this.#parts.announce();
    this.onChange?.(change);
    if (change.failed && batch.cancelledAt !== null && batch.finishedAt === null)
      await this.#withdraw(id, await this.#parts.now());
    return dispatched.length > 0;
  }
}

/** Whether the batch has a failure or an end to mark, by its counts. */
function isDue(batch: BatchRecord): boolean {
  const { sealedAt, failedAt, finishedAt, failed } = batch;
  if (finishedAt !== null) return false;
  return (failed > 0 && failedAt === null) || (sealedAt !== null && unfinished(batch) <= 0);
}
