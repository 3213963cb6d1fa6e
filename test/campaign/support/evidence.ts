import type { Journal } from "../../support/journal.ts";
import type { Access } from "./access.ts";
import type { Evidence, StoredBatch, StoredRun } from "./checker.ts";
import { LEDGER } from "./load.ts";
import type { Target } from "./target.ts";

/** Reads what the tables have at the end, beside the journal. */
export async function gather(
  target: Pick<Target, "connect">,
  journal: Journal,
): Promise<Omit<Evidence, "footprint">> {
  const access = await target.connect();
  try {
    const booked = await access.all<{ run: number }>(`select run from ${LEDGER}`);
    return {
      entries: journal.entries,
      finished: await readRuns(access, "history"),
      unfinished: await readRuns(access, "runs"),
      batches: await readBatches(access),
      booked: booked.map(({ run }) => Number(run)),
    };
  } finally {
    await access.close();
  }
}

async function readRuns(access: Access, table: "runs" | "history"): Promise<StoredRun[]> {
  const columns = "id, name, state, attempts, crashes, tick_at, args, batch_id";
  const rows = await access.all<StoredRun>(`select ${columns} from punctual_${table}`);
  // Some drivers return large integers as text.
  return rows.map((row) => ({
    ...row,
    id: Number(row.id),
    state: Number(row.state),
    attempts: Number(row.attempts),
    crashes: Number(row.crashes),
  }));
}

/** The counts of a finished batch are in its row; those of other batches are not compared. */
async function readBatches(access: Access): Promise<StoredBatch[]> {
  const counts = "added, completed, failed, cancelled, skipped";
  const rows = await access.all<StoredBatch>(
    `select id, cancels, sealed_at, cancelled_at, finished_at, ${counts} from punctual_batches`,
  );
  const toNumber = (value: unknown) => (value === null ? null : Number(value));
  return rows.map((row) => {
    const columns = Object.entries(row).map(([column, value]) => [column, toNumber(value)]);
    return Object.fromEntries(columns) as StoredBatch;
  });
}
