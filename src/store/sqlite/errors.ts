import { type ErrorCode, PunctualError } from "../../errors.ts";
import { RETRY_FOR } from "../sql/retry.ts";

const BUSY = 5;
const LOCKED = 6;
const READ_ONLY = 8;
const CANNOT_OPEN = 14;
const TOO_BIG = 18;
const CONSTRAINT = 19;
const MISMATCH = 20;
const NOT_A_DATABASE = 26;

/** The code of `raise()` in a trigger: it need not mean that a value is wrong. */
const CONSTRAINT_TRIGGER: number = CONSTRAINT | (7 << 8);

/** Permissions, out of memory, interrupted, I/O error, damaged file, disk full, locking protocol, large files. */
const FAILING = [3, 7, 9, 10, 11, 13, 15, 22];

/** An error that is handled like a lock: a write of ours would be rolled back with the caller's transaction. */
export function callerTransactionOpen(): Error {
  return Object.assign(new Error("the caller has a transaction open on the handle"), { errcode: BUSY });
}

function extendedCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code : undefined;
}

function errcode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
}

export function isBusy(error: unknown): boolean {
  const code = errcode(error);
  return code === BUSY || code === LOCKED;
}

/** Returns a PunctualError for an error of SQLite, and any other error unchanged. `path`: the file, for the message. */
export function translate(error: unknown, path?: string): unknown {
  const at = path ? ` ${path}` : "";
  const wrap = (code: ErrorCode, message: string) => new PunctualError(code, message, { cause: error });
  const rejected = () =>
    wrap(
      "DATABASE",
      `SQLite rejected a statement: ${(error as Error).message}. If the tables were changed by hand, "punctual doctor" shows what is missing.`,
    );
  switch (errcode(error)) {
    case undefined:
      return error;
    case BUSY:
    case LOCKED:
      return wrap(
        "DATABASE_BUSY",
        `Another connection kept the SQLite database${at} locked for ${RETRY_FOR / 1000} s. End the transaction that holds the lock.`,
      );
    case READ_ONLY:
      return wrap(
        "DATABASE_READ_ONLY",
        `The SQLite database${at} is read-only. Give this user write permission for the file and its folder.`,
      );
    case CANNOT_OPEN:
      return wrap(
        "DATABASE_MISSING",
        `The SQLite database${at} cannot be opened. Check that its folder exists and that this user has write permission there.`,
      );
    case NOT_A_DATABASE:
      return wrap(
        "NOT_A_DATABASE",
        `The file${at} is not a SQLite database; it was not changed. Name another file in the database URL.`,
      );
    case TOO_BIG:
    case CONSTRAINT:
    case MISMATCH:
      if (extendedCode(error) === CONSTRAINT_TRIGGER) return rejected();
      return wrap(
        "DATA_REJECTED",
        `SQLite rejected a value: ${(error as Error).message}. Change the value, or the constraint or limit that rejects it.`,
      );
    default:
      if (FAILING.includes(errcode(error)!)) {
        return wrap(
          "DATABASE_FAILING",
          `SQLite cannot use the database${at} now: ${(error as Error).message}. Check the disk space, the file and its folder.`,
        );
      }
      return rejected();
  }
}
