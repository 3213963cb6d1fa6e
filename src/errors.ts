import { isAbsolute } from "node:path";

/** Every code an error of Punctual can have. Codes are stable: match on them, not on messages. */
export type ErrorCode =
  | "BATCH_FINISHED"
  | "BATCH_NOT_FOUND"
  | "BATCH_SEALED"
  | "CANNOT_LISTEN"
  | "CHAIN_SENT"
  | "CHILDREN_CANNOT_BOOT"
  | "CLOSED"
  | "CONFIG_NOT_LOADED"
  | "DATABASE"
  | "DATABASE_ACCESS"
  | "DATABASE_BUSY"
  | "DATABASE_FAILING"
  | "DATABASE_MISSING"
  | "DATABASE_READ_ONLY"
  | "DATABASE_UNAVAILABLE"
  | "DATABASE_URL"
  | "DATA_REJECTED"
  | "DRIVER_MISSING"
  | "DUPLICATE_JOB"
  | "ENGINE_UNSAFE"
  | "FUNCTION_IN_CHILD"
  | "HANDLER_GONE"
  | "HOOK_TIMED_OUT"
  | "INVALID_ARGS"
  | "INVALID_CRON"
  | "INVALID_DURATION"
  | "INVALID_INSTANT"
  | "INVALID_NAME"
  | "INVALID_OPTION"
  | "INVALID_PAYLOAD"
  | "INVALID_QUERY"
  | "INVALID_ZONE"
  | "JOB_SEALED"
  | "LEASE_LOST"
  | "NODE_TOO_OLD"
  | "NO_HANDLER"
  | "NOT_A_DATABASE"
  | "NOT_INSTALLED"
  | "NOT_IN_TRANSACTION"
  | "PAYLOAD_TOO_LARGE"
  | "QUERY_TIMED_OUT"
  | "RUN_CANCELLED"
  | "RUN_CLAIMED"
  | "RUN_CRASHED"
  | "RUN_FAILED"
  | "RUN_FINISHED"
  | "RUN_NOT_FOUND"
  | "RUN_SKIPPED"
  | "RUN_TIMED_OUT"
  | "SCHEMA_TOO_NEW"
  | "SHUTDOWN"
  | "TRANSACTION_NOT_SYNC"
  | "TRANSACTION_REPEATED"
  | "UNKNOWN_FAILURE"
  | "UNKNOWN_JOB"
  | "UNKNOWN_SCHEDULE"
  | "UNKNOWN_WORKER"
  | "WAIT_TIMED_OUT"
  | "WORKER_RUNNING"
  | "WORKER_STOPPING"
  | "WRONG_DATABASE";

/**
 * Makes `instanceof` accept instances of the same class from another copy of the package. A program can load several
 * copies: a loader such as tsx gives one to `require` and one to `import()`, a bundler one to each entry.
 */
export function brand(type: abstract new (...args: never[]) => object, name: string): void {
  const mark = Symbol.for(`punctual.${name}`);
  Object.defineProperty(type.prototype, mark, { value: true });
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      // A subclass inherits this method, but its own instanceof must not accept instances of the base class.
      if (this !== type) return Function.prototype[Symbol.hasInstance].call(this as never, value);
      return typeof value === "object" && value !== null && mark in value;
    },
  });
}

/** Base of every error that Punctual throws. `code` is stable; the message may change between versions. */
export class PunctualError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PunctualError";
    this.code = code;
  }
}

brand(PunctualError, "PunctualError");

/** Thrown by a handler to fail its run at once, without the retries that are left. */
export class PermanentError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PermanentError";
  }
}

brand(PermanentError, "PermanentError");

/** Returns `value instanceof type`, and false where that throws: a thrown value may be a proxy. */
export function isA<Type>(value: unknown, type: abstract new (...args: never[]) => Type): value is Type {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

/**
 * Whether the value is a PunctualError, also of another version of the package: the files that a command loads may have
 * their own.
 */
export function isPunctualError(value: unknown): value is PunctualError {
  return (
    isA(value, Error) && value.name === "PunctualError" && typeof (value as PunctualError).code === "string"
  );
}

/** Codes of errors that concern the whole database, not the statement. */
const OUTAGES: ErrorCode[] = [
  "DATABASE_ACCESS",
  "DATABASE_BUSY",
  "DATABASE_FAILING",
  "DATABASE_MISSING",
  "DATABASE_READ_ONLY",
  "DATABASE_UNAVAILABLE",
];

/** Whether the whole database is failing or away; the same statement may succeed later. */
export function isOutage(error: unknown): boolean {
  return isA(error, PunctualError) && OUTAGES.includes(error.code);
}

/** Whether the database refused this statement, for its data or for a reason we do not know. */
export function isRefusal(error: unknown): boolean {
  return isDataFault(error) || (isA(error, PunctualError) && error.code === "DATABASE");
}

/** Whether the database rejected a value: the same statement with the same values never succeeds. */
export function isDataFault(error: unknown): boolean {
  return isA(error, PunctualError) && error.code === "DATA_REJECTED";
}

/** Returns a value as text for an error message: one line of at most 80 characters. Never throws. */
export function formatValue(value: unknown): string {
  let text: string;
  try {
    if (typeof value === "string") text = JSON.stringify(value);
    else if (typeof value === "function") text = value.name ? `function ${value.name}` : "a function";
    else if (typeof value === "bigint") text = `${value}n`;
    else if (isThenable(value)) text = "a promise";
    else if (typeof value === "object" && value !== null) text = JSON.stringify(value) ?? "an object";
    else text = String(value);
  } catch {
    text = "an object";
  }
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

/** Whether a value is a promise, or can be awaited like one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  );
}

/** A path for a message: a relative one with the folder that it was looked for in. */
export function formatPath(path: string): string {
  return isAbsolute(path) ? path : `${path} in ${process.cwd()}`;
}
