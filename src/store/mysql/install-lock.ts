import { createHash } from "node:crypto";
import { PunctualError } from "../../errors.ts";
import { sleepReal, systemClock } from "../../time.ts";
import type { Sql, Transaction } from "../sql/database.ts";
import type { MysqlConnection } from "./driver.ts";
import { isConflict, isDuplicate } from "./errors.ts";
import { sqlOn } from "./query.ts";
import { WAIT_TIMEOUT } from "./transaction.ts";

/** Longest a process waits for another one to finish installing, in seconds. */
const INSTALL_LOCK_TIMEOUT = 60;

/**
 * Longest a migration waits for a lock on a table, in seconds. While it waits it blocks every later statement on that
 * table; then it gives up its place in the lock queue and is retried.
 */
const TABLE_LOCK_TIMEOUT = 1;

/** Runs migrations while no other process does. `table` is the table of migrations on a cluster, null elsewhere. */
export async function installAlone<Result>(
  connection: MysqlConnection,
  { prefix, table }: { prefix: string; table: string | null },
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const tx = sqlOn(connection);
  const [before] = await tx.all<{ tables: number; silence: number }>(
    "select @@lock_wait_timeout as tables, @@wait_timeout as silence",
  );
  const setTimeouts = (tables: number, silence: number) =>
    tx.run(`set session lock_wait_timeout = ${tables}, session wait_timeout = ${silence}`);
  await setTimeouts(TABLE_LOCK_TIMEOUT, WAIT_TIMEOUT);
  try {
    const lock = await acquireInstallLock(tx, prefix);
    try {
      return await (table === null ? work(tx) : aloneOnCluster(tx, table, work));
    } finally {
      await tx.all("select release_lock(?) as released", lock);
    }
  } finally {
    await setTimeouts(before!.tables, before!.silence);
  }
}

/**
 * A lock that was taken longer ago, in milliseconds, is that of a process that died. No migration takes this long: they
 * add columns to large tables, which copies nothing.
 */
const DEAD_AFTER = 5 * 60_000;

/** Milliseconds between two tries to get the lock. */
const RETRY_AFTER = 200;

/**
 * Excludes the installers of all nodes: named locks hold on one node only, and two nodes that change tables at the same
 * time can block the whole cluster (seen on MariaDB 10.11). The lock is a row that only one of them can insert.
 */
async function aloneOnCluster<Result>(
  tx: Transaction,
  table: string,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const since = systemClock.monotonic();
  while (!(await hasInserted(tx, table))) {
    if (systemClock.monotonic() - since > INSTALL_LOCK_TIMEOUT * 1000) throw installing();
    await sleepReal(RETRY_AFTER);
  }
  try {
    return await work(tx);
  } finally {
    await tx.run(`delete from ${table} where number = 0`);
  }
}

async function hasInserted(tx: Transaction, table: string): Promise<boolean> {
  const now = "unix_timestamp() * 1000";
  await tx.run(`delete from ${table} where number = 0 and applied_at < ${now} - ?`, DEAD_AFTER);
  try {
    await tx.run(`insert into ${table} (number, applied_at) values (0, ${now})`);
    return true;
  } catch (error) {
    if (isDuplicate(error) || isConflict(error)) return false;
    throw error;
  }
}

/**
 * Returns the name of the lock. The server has one namespace of locks for all databases; names are limited to 64
 * characters.
 */
async function acquireInstallLock(sql: Sql, prefix: string): Promise<string> {
  const [database] = await sql.all<{ name: string }>("select database() as name");
  const hash = createHash("sha256").update(`${database?.name}.${prefix}`).digest("hex");
  const lock = `punctual.${hash.slice(0, 40)}`;
  const [row] = await sql.all<{ got: number | null }>(
    "select get_lock(?, ?) as got",
    lock,
    INSTALL_LOCK_TIMEOUT,
  );
  if (row?.got === 1) return lock;
  throw installing();
}

function installing(): PunctualError {
  return new PunctualError(
    "DATABASE_BUSY",
    `Another process has been installing for ${INSTALL_LOCK_TIMEOUT} s. Wait until it has finished or end it, then call install() again.`,
  );
}
