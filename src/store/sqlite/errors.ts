import { type ErrorCode, PunctualError } from "../../errors.ts";
import { PATIENCE } from "../sql/patience.ts";

const BUSY = 5;
const LOCKED = 6;
const READ_ONLY = 8;
const CANNOT_OPEN = 14;
const TOO_BIG = 18;
const CONSTRAINT = 19;
const MISMATCH = 20;
const NOT_A_DATABASE = 26;

/** `raise()` in somebody's trigger: nothing says that a value is at fault. */
const CONSTRAINT_TRIGGER: number = CONSTRAINT | (7 << 8);

/** Permissions, out of memory, interrupted, I/O error, damaged file, disk full, locking protocol, large files. */
const FAILING = [3, 7, 9, 10, 11, 13, 15, 22];

/** As good as a lock: what we wrote would go with it. */
export function ownersTransaction(): Error {
  return Object.assign(new Error("a transaction of the database's owner is open"), { errcode: BUSY });
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

/** SQLite's error in our words; anything else stays as it is. */
export function translate(error: unknown, path?: string): unknown {
  const at = path ? ` ${path}` : "";
  const wrap = (code: ErrorCode, message: string) => new PunctualError(code, message, { cause: error });
  const refused = () => wrap("DATABASE", `SQLite refused a statement: ${(error as Error).message}.`);
  switch (errcode(error)) {
    case undefined:
      return error;
    case BUSY:
    case LOCKED:
      return wrap(
        "DATABASE_BUSY",
        `The SQLite database${at} stayed locked by somebody else for ${PATIENCE / 1000} s. Close the transaction that holds it.`,
      );
    case READ_ONLY:
      return wrap(
        "DATABASE_READ_ONLY",
        `The SQLite database${at} cannot be written. Give this user write permission for the file and its folder.`,
      );
    case CANNOT_OPEN:
      return wrap(
        "DATABASE_MISSING",
        `The SQLite database${at} cannot be opened. Check that its folder exists and that this user may write there.`,
      );
    case NOT_A_DATABASE:
      return wrap(
        "NOT_A_DATABASE",
        `The file${at} is not a SQLite database. Point Punctual at another file; this one was not touched.`,
      );
    case TOO_BIG:
    case CONSTRAINT:
    case MISMATCH:
      if (extendedCode(error) === CONSTRAINT_TRIGGER) return refused();
      return wrap(
        "DATA_REJECTED",
        `SQLite rejected a value: ${(error as Error).message}. Store another value, or change what rejects it.`,
      );
    default:
      if (FAILING.includes(errcode(error)!)) {
        return wrap(
          "DATABASE_FAILING",
          `SQLite cannot use the database${at} now: ${(error as Error).message}. Check the disk's space, the file and its folder.`,
        );
      }
      return refused();
  }
}
