import { existsSync, statSync } from "node:fs";
import { PunctualError } from "../../../errors.ts";
import type { Punctual } from "../../../punctual.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";

/** Longest wait for statements of other processes that lock the file. */
const LOCK_TIMEOUT = 10_000;

/**
 * Throws, before anything is deleted, unless the database is a SQLite file. Database servers reclaim space on their own
 * (autovacuum, purge) or when the operator asks.
 */
export async function checkVacuum(jobs: Punctual): Promise<void> {
  const { settings } = await jobs.inspect();
  if (settings.file !== undefined && settings.file !== ":memory:") return;
  throw new PunctualError(
    "INVALID_OPTION",
    "--vacuum is for a SQLite file: PostgreSQL, MySQL and MariaDB reuse the space of deleted rows on their own. Leave it out.",
  );
}

/** Rewrites the file without free pages; returns the bytes it saved. */
export async function vacuum(jobs: Punctual): Promise<number> {
  const { file = "" } = (await jobs.inspect()).settings;
  const { DatabaseSync } = await import("node:sqlite");
  const before = sizeOf(file);
  const db = new DatabaseSync(file, { timeout: LOCK_TIMEOUT });
  try {
    db.exec("vacuum");
    db.exec("pragma wal_checkpoint(truncate)");
  } catch (error) {
    throw new Exit(
      exitCodes.failed,
      `The runs are deleted, but the file did not shrink: ${(error as Error).message}. Try --vacuum again when no process uses the file.`,
    );
  } finally {
    db.close();
  }
  return before - sizeOf(file);
}

function sizeOf(file: string): number {
  return [file, `${file}-wal`].reduce((sum, one) => sum + (existsSync(one) ? statSync(one).size : 0), 0);
}
