import type { AttemptRecord } from "../records.ts";
import type { SqlContext } from "./context.ts";

/** An attempt to record in `attempts`. */
export interface AttemptEntry {
  id: number;
  outcome: AttemptRecord["outcome"];
  /** Null: not known. */
  startedAt: number | null;
  error: string | null;
  fingerprint: string | null;
}

const ATTEMPT_COLUMNS = "run_id attempt outcome worker started_at finished_at error fingerprint".split(" ");

/** Records attempts that failed, crashed or were interrupted. `runs` still has the runs, with the attempt's number. */
export async function recordAttempts(tx: SqlContext, entries: AttemptEntry[], now: number): Promise<void> {
  const { db, t } = tx;
  if (entries.length === 0) return;
  const rows = db.rows({
    id: "integer",
    outcome: "text",
    started_at: "integer",
    finished_at: "integer",
    error: "text",
    fingerprint: "text",
  });
  await tx.run(
    `insert into ${t.attempts} (${ATTEMPT_COLUMNS.join(", ")})
     select r.id, r.attempts, v.outcome, r.locked_by, v.started_at, v.finished_at, v.error, v.fingerprint
       from ${db.lookUp(rows, t.runs)}${db.orReplace(t.attempts, ["run_id", "attempt"], ATTEMPT_COLUMNS)}`,
    JSON.stringify(
      entries.map(({ id, outcome, startedAt, error, fingerprint }) => [
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
