import { realpathSync } from "node:fs";
import { PunctualError, show } from "../../errors.ts";
import type { Param, Tables } from "../sql/database.ts";
import { unlent } from "./lent.ts";

/** A SQLite handle of the caller's: `DatabaseSync`, or anything of that shape. */
export interface CallersHandle {
  prepare(text: string): { all(...params: Param[]): unknown[]; get(...params: Param[]): unknown };
}

/** Refuses a handle that would put the runs somewhere else than into the caller's open transaction on this database. */
export function checkHandle(
  tx: unknown,
  own: { db: unknown; path: string | null },
  t: Tables,
): CallersHandle {
  if (typeof (tx as CallersHandle | null)?.prepare !== "function") {
    throw new PunctualError(
      "INVALID_OPTION",
      `within() expected the DatabaseSync on which your transaction is open, got ${show(tx)}.`,
    );
  }
  const handle = tx as CallersHandle & { isTransaction?: boolean; inTransaction?: boolean };
  if (!(handle.isTransaction ?? handle.inTransaction ?? true)) {
    throw new PunctualError(
      "NOT_IN_TRANSACTION",
      'within() expected an open transaction on the handle, but there is none. Run "begin" first, or leave within() out.',
    );
  }
  const file = (handle.prepare("pragma database_list").get() as { file?: string } | undefined)?.file ?? "";
  const theirs = file === "" ? null : realpathSync(file);
  const ours = own.path === null ? null : realpathSync(own.path);
  // A database in memory has one handle.
  if (theirs !== ours || (ours === null && unlent(tx) !== own.db)) {
    throw new PunctualError(
      "WRONG_DATABASE",
      `within() expected a handle on ${ours ?? "the instance's own database in memory"}, got one on ${theirs ?? "a database in memory"}: the runs would not be found there.`,
    );
  }
  const known = handle.prepare("select 1 from sqlite_schema where name = ?").get(t.runs);
  if (!known) {
    throw new PunctualError(
      "NOT_INSTALLED",
      `The database of the handle given to within() has no table ${t.runs}. Call install() before you begin the transaction.`,
    );
  }
  return handle;
}
