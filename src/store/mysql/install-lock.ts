import { createHash } from "node:crypto";
import { PunctualError } from "../../errors.ts";
import type { Sql } from "../sql/database.ts";

/** Longest a process waits for another one to finish installing, in seconds. */
const INSTALL_LOCK_TIMEOUT = 60;

/**
 * Returns the name of the lock. The server has one namespace of locks for all databases; names are limited to 64
 * characters.
 */
export async function acquireInstallLock(sql: Sql, prefix: string): Promise<string> {
  const [database] = await sql.all<{ name: string }>("select database() as name");
  const hash = createHash("sha256").update(`${database?.name}.${prefix}`).digest("hex");
  const lock = `punctual.${hash.slice(0, 40)}`;
  const [row] = await sql.all<{ got: number | null }>(
    "select get_lock(?, ?) as got",
    lock,
    INSTALL_LOCK_TIMEOUT,
  );
  if (row?.got === 1) return lock;
  throw new PunctualError(
    "DATABASE_BUSY",
    `Another process has been installing for ${INSTALL_LOCK_TIMEOUT} s. Wait until it has finished or end it, then call install() again.`,
  );
}
