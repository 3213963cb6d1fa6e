import { realpathSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { formatValue, PunctualError } from "../../errors.ts";
import type { Param, Tables } from "../sql/database.ts";

/** A SQLite handle of the caller's: a `DatabaseSync`, or an object of that shape. */
export interface CallerHandle {
  prepare(text: string): { all(...params: Param[]): unknown[]; get(...params: Param[]): unknown };
}

/**
 * Checks the handle that a caller passes to within(): it must have a transaction open on the instance's own database.
 */
export function checkHandle(tx: unknown, own: { db: unknown; path: string | null }, t: Tables): CallerHandle {
  if (typeof (tx as CallerHandle | null)?.prepare !== "function") {
    throw new PunctualError(
      "INVALID_OPTION",
      `within() expected the DatabaseSync on which your transaction is open, got ${formatValue(tx)}.`,
    );
  }
  const handle = tx as CallerHandle & { isTransaction?: boolean; inTransaction?: boolean };
  if (!(handle.isTransaction ?? handle.inTransaction ?? true)) {
    throw new PunctualError(
      "NOT_IN_TRANSACTION",
      'within() expected an open transaction on the handle, but none is open. Run "begin" first, or leave within() out.',
    );
  }
  const file = (handle.prepare("pragma database_list").get() as { file?: string } | undefined)?.file ?? "";
  const theirs = file === "" ? null : realpathSync(file);
  const ours = own.path === null ? null : realpathSync(own.path);
  // Two handles in memory are two databases.
  if (theirs !== ours || (ours === null && lentFrom(tx) !== own.db)) {
    throw new PunctualError(
      "WRONG_DATABASE",
      `within() expected a handle on ${ours ?? "the instance's own in-memory database"}, got one on ${theirs ?? "an in-memory database"}: workers would not find the runs there. Begin the transaction on the instance's database.`,
    );
  }
  const isInstalled = handle.prepare("select 1 from sqlite_schema where name = ?").get(t.runs);
  if (!isInstalled) {
    throw new PunctualError(
      "NOT_INSTALLED",
      `The database of the handle passed to within() has no table ${t.runs}. Call install() before you begin the transaction.`,
    );
  }
  return handle;
}

const ASYNC = ["[object AsyncFunction]", "[object AsyncGeneratorFunction]", "[object GeneratorFunction]"];

/** Throws if the function is declared async, before it is called. */
export function checkNotAsync(work: unknown): void {
  if (ASYNC.includes(Object.prototype.toString.call(work))) throw notSync();
}

interface Loan {
  hasEnded: boolean;
}

/** The handle behind each one that was lent. */
const lenders = new WeakMap<object, object>();

/** Returns the handle that this one was lent from; any other value unchanged. */
function lentFrom(handle: unknown): unknown {
  return (Object(handle) === handle && lenders.get(handle as object)) || handle;
}

/**
 * Calls `work` with a handle that works only until `work` returns, and throws if `work` returns a promise. An async
 * function would write after the transaction has ended, perhaps inside another one.
 */
export function lendHandle(db: DatabaseSync, work: (tx: unknown) => unknown): void {
  const loan = { hasEnded: false };
  let returned: unknown;
  try {
    returned = work(lend(db, loan));
  } finally {
    loan.hasEnded = true;
  }
  if (typeof (returned as PromiseLike<unknown> | null)?.then !== "function") return;
  // The error below is the one to report; a later rejection must not be an unhandled one.
  Promise.resolve(returned).catch(() => {});
  throw notSync();
}

/** Wraps a handle, and the statements, iterators and sessions that it returns. */
function lend<Handle extends object>(target: Handle, loan: Loan): Handle {
  const proxy = new Proxy(target, {
    get(_, name) {
      if (loan.hasEnded && name === "isTransaction") return false;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (loan.hasEnded) throw loanEnded();
        const result: unknown = Reflect.apply(value, target, args);
        return isHandle(result) ? lend(result, loan) : result;
      };
    },
  });
  lenders.set(proxy, target);
  return proxy;
}

/** Whether this is a statement, tag store or iterator: these have classes. Rows are plain objects and arrays. */
function isHandle(value: unknown): value is object {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== null && prototype !== Object.prototype && !Array.isArray(value);
}

function notSync(): PunctualError {
  return new PunctualError(
    "TRANSACTION_NOT_SYNC",
    "run.transaction(fn) on SQLite expected a function that is not async and returns no promise: nothing else may use the connection until the commit. Nothing was written. Do asynchronous work before run.transaction(), and only write inside it.",
  );
}

function loanEnded(): PunctualError {
  return new PunctualError(
    "NOT_IN_TRANSACTION",
    "The handle of run.transaction(fn) was used after fn had returned: on SQLite its transaction ends with fn. Do asynchronous work before run.transaction(), and only write inside it.",
  );
}
