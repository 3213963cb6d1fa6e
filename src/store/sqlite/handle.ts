import { realpathSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { PunctualError, show } from "../../errors.ts";
import type { Param, Tables } from "../sql/database.ts";

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

const ASYNC = ["[object AsyncFunction]", "[object AsyncGeneratorFunction]", "[object GeneratorFunction]"];

const targets = new WeakMap<object, object>();

/** The database handle behind a lent one; any other value is returned unchanged. */
export function unlent(handle: unknown): unknown {
  return (Object(handle) === handle && targets.get(handle as object)) || handle;
}

/** Refuses a function that is async by its form, before it is called. */
export function refuseAsync(work: unknown): void {
  if (ASYNC.includes(Object.prototype.toString.call(work))) throw notSync();
}

/**
 * Calls `work` with a handle on the database that works until `work` returns. A function that returns a promise would
 * write on after the transaction has ended, perhaps inside another one: each later statement throws instead.
 */
export function callLent(db: DatabaseSync, work: (tx: unknown) => unknown): void {
  const loan = { ended: false };
  let returned: unknown;
  try {
    returned = work(lend(db, loan));
  } finally {
    loan.ended = true;
  }
  if (typeof (returned as PromiseLike<unknown> | null)?.then !== "function") return;
  // The error below is the one that counts; a later one must not become an unhandled rejection.
  Promise.resolve(returned).catch(() => {});
  throw notSync();
}

/** Wraps the handle and the statements, iterators and sessions it gives. */
function lend<Handle extends object>(target: Handle, loan: { ended: boolean }): Handle {
  const proxy = new Proxy(target, {
    get(_, name) {
      if (loan.ended && name === "isTransaction") return false;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (loan.ended) throw over();
        const result: unknown = Reflect.apply(value, target, args);
        return isHandle(result) ? lend(result, loan) : result;
      };
    },
  });
  targets.set(proxy, target);
  return proxy;
}

/** Rows are plain objects and arrays; statements, tag stores and iterators have methods of their own class. */
function isHandle(value: unknown): value is object {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== null && prototype !== Object.prototype && !Array.isArray(value);
}

function notSync(): PunctualError {
  return new PunctualError(
    "TRANSACTION_NOT_SYNC",
    "run.transaction(fn) on SQLite needs a function that is not async and returns no promise, for nothing else may use the connection meanwhile. Nothing was written. Await what is needed before run.transaction(), and write inside it.",
  );
}

function over(): PunctualError {
  return new PunctualError(
    "NOT_IN_TRANSACTION",
    "run.transaction(fn) is over, and its handle with it: on SQLite fn writes only until it returns. Await what is needed before run.transaction(), and write inside it.",
  );
}
