import type { SqlContext } from "./context.ts";
import type { ColumnType } from "./database.ts";
import { spread } from "./row-source.ts";

/** What history takes over from the run as it is. */
const COPIED = [
  "name",
  "queue",
  "lane",
  "limited",
  "priority",
  "run_at",
  "args",
  "attempts",
  "crashes",
  "timeout",
  "retries",
  "schedule",
  "tick_at",
  "unique_key",
  "unique_until",
  "owner",
  "progress",
  "tags",
  "parent_id",
  "batch_id",
  "traceparent",
  "created_at",
];

/** What history says besides. */
const ENDING: Record<string, ColumnType> = {
  id: "integer",
  state: "integer",
  started_at: "integer",
  finished_at: "integer",
  keep_until: "integer",
  error: "text",
  fingerprint: "text",
  result: "text",
  child: "text",
};

/** How a run ends. */
export interface Ending {
  id: number;
  state: number;
  startedAt: number | null;
  error: string | null;
  fingerprint: string | null;
  result: string | null;
  keep: number | null;
  /** A run that holds a unique key for a while stays that long, whatever its retention. */
  uniqueUntil: number | null;
  attempts: number;
  /** Lines logged under the attempt's number. */
  logged: number;
  child?: string | null;
}

/** How a run ends of which only the lease is known. */
export interface HeldEnding extends Omit<Ending, "uniqueUntil" | "attempts"> {
  token: string;
}

const HELD_ENDING: Record<string, ColumnType> = {
  id: "integer",
  token: "text",
  state: "integer",
  started_at: "integer",
  now: "integer",
  keep: "integer",
  error: "text",
  fingerprint: "text",
  result: "text",
  child: "text",
};

const KEPT =
  "case when v.keep is null or v.keep <> 0 or coalesce(r.unique_until, 0) > v.now then 1 else 0 end";

/** A run that has left, as it was. */
export interface Ended {
  id: number;
  token: string;
  name: string;
  lane: string;
  queue: string;
  limited: number;
  attempts: number;
  logged: number;
  /** 1: it is in history. */
  kept: number;
}

/** Moves runs into history, or deletes them with their tries and lines where they are not kept. */
export async function moveToHistory(tx: SqlContext, endings: Ending[], now: number): Promise<void> {
  const { db, t } = tx;
  if (endings.length === 0) return;
  const isKept = ({ keep, uniqueUntil }: Ending) => keep !== 0 || (uniqueUntil ?? 0) > now;
  const kept = endings.filter(isKept);
  if (kept.length > 0) {
    const { values, rows, params } = spread(
      db,
      ENDING,
      kept.map(({ id, state, startedAt, keep, uniqueUntil, error, fingerprint, result, child = null }) => {
        const keepUntil = keep === null ? null : Math.max(now + keep, uniqueUntil ?? 0);
        return [id, state, startedAt, now, keepUntil, error, fingerprint, result, child];
      }),
    );
    const copied = COPIED.map((column) => `r.${column}`).join(", ");
    // The one who ends it may be another than the one who had it.
    const child = `coalesce(${values.pop()}, r.child)`;
    await tx.run(
      `insert into ${t.history} (${COPIED.join(", ")}, worker, ${Object.keys(ENDING).join(", ")})
       select ${copied}, r.locked_by, ${values.join(", ")}, ${child}
         from ${db.lookUp(rows, t.runs)}`,
      ...params,
    );
  }
  await forget(
    tx,
    endings.filter((ending) => !isKept(ending)),
  );
  await deleteAll(tx, t.runs, "id", endings);
}

/** What cannot have left anything behind costs no statement. */
async function forget(
  tx: SqlContext,
  forgotten: { id: number; attempts: number; logged: number }[],
): Promise<void> {
  const { t } = tx;
  const tried = forgotten.filter(({ attempts }) => attempts > 1);
  await deleteAll(tx, t.attempts, "run_id", tried);
  const spoke = forgotten.filter(({ attempts, logged }) => attempts > 1 || logged > 0);
  await deleteAll(tx, t.logs, "run_id", spoke);
}

/**
 * The same for runs of which only the lease is known, in one statement, where the database has one for it; gives those
 * whose leases were held.
 */
export async function moveHeldToHistory(
  tx: SqlContext,
  endings: HeldEnding[],
  now: number,
): Promise<Ended[]> {
  const { db, t } = tx;
  if (endings.length === 0) return [];
  const { values, rows, params } = spread(
    db,
    HELD_ENDING,
    endings
      .sort((a, b) => a.id - b.id)
      .map(({ id, token, state, startedAt, keep, error, fingerprint, result, child = null }) => [
        id,
        token,
        state,
        startedAt,
        now,
        keep,
        error,
        fingerprint,
        result,
        child,
      ]),
  );
  const text = db.move!({
    from: t.runs,
    to: t.history,
    rows,
    given: Object.entries(HELD_ENDING).map(([name, type], index) => ({
      name,
      type,
      value: values[index]!,
    })),
    // Only what runs has a token. Asked for the state too, PostgreSQL goes through all that runs.
    where: "r.lease_token = v.token",
    columns: {
      ...Object.fromEntries(COPIED.map((column) => [column, `r.${column}`])),
      worker: "r.locked_by",
      id: "r.id",
      state: "v.state",
      started_at: "v.started_at",
      finished_at: "v.now",
      keep_until:
        "case when v.keep is not null then greatest(v.now + v.keep, coalesce(r.unique_until, 0)) end",
      error: "v.error",
      fingerprint: "v.fingerprint",
      result: "v.result",
      child: "coalesce(v.child, r.child)",
    },
    besides: { token: "v.token", logged: "r.logged", kept: KEPT },
    when: "kept = 1",
    told: ["id", "token", "name", "lane", "queue", "limited", "attempts", "logged", "kept"],
  });
  const ended = await tx.all<Ended>(text, ...params);
  const before = new Map(endings.map(({ id, logged }) => [id, logged]));
  await forget(
    tx,
    ended
      .filter(({ kept }) => kept === 0)
      .map((one) => ({ ...one, logged: one.logged + before.get(one.id)! })),
  );
  return ended;
}

async function deleteAll(
  tx: SqlContext,
  table: string,
  column: string,
  runs: { id: number }[],
): Promise<void> {
  const { db } = tx;
  if (runs.length === 0) return;
  await tx.run(
    db.deleteFrom(table, column, db.rows({ id: "integer" })),
    JSON.stringify(runs.map(({ id }) => [id])),
  );
}
