import { type ErrorCode, PunctualError } from "../../errors.ts";
import { describeFailure, LOST_SOCKET_CODES } from "../server/connections.ts";

/** Serialization failure, deadlock, lock timeout: nothing was written, and a retry may succeed. */
const CONFLICTS = ["40001", "40P01", "55P03"];

/**
 * The server shuts down, starts up, has no connection slot free or has become a standby: a new connection may succeed.
 * 25P03, 25P04 and 57P05 are timeouts after which the server closes the connection.
 */
const LOST_CODES = ["57P01", "57P02", "57P03", "57P05", "53300", "25006", "25P03", "25P04"];

/** Data exceptions, integrity constraints, program limits such as the size of an index row. */
const DATA_FAULT = /^(22|23|54)/;

/** Insufficient resources (disk full, out of memory), operator intervention, system errors, internal errors. */
const FAILING = /^(53|57|58|F0|XX)/;

/** Errors that pg itself throws have no code. */
const LOST_MESSAGE =
  /^(Connection terminated|Connection ended|Client has encountered a connection error|Client was closed|timeout expired|timeout exceeded when trying to connect|Query read timeout|The server does not support SSL|There was an error establishing an SSL)/;
const POOL_FULL = /^timeout exceeded when trying to connect/;
const NO_TLS = /^The server does not support SSL|^There was an error establishing an SSL/;
const ENDED_POOL = /^Cannot use a pool after calling end/;

/** Returns the driver's error: the error itself, or the cause of one that was translated. */
function driverErrorOf(error: unknown): { code?: unknown; message?: unknown } | null {
  const own = error instanceof PunctualError ? error.cause : error;
  return typeof own === "object" && own !== null ? own : null;
}

/** Node tries every address of a host name. If all fail, the code may be only in the list of their errors. */
export function codeOf(error: unknown): string {
  const own = driverErrorOf(error) as { code?: unknown; errors?: { code?: unknown }[] } | null;
  const code = own?.code ?? own?.errors?.[0]?.code;
  return typeof code === "string" ? code : "";
}

export function messageOf(error: unknown): string {
  const message = driverErrorOf(error)?.message;
  return typeof message === "string" ? message : "";
}

export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === "55P03";
}

export function isQueryCancelled(error: unknown): boolean {
  return codeOf(error) === "57014";
}

export function isConflict(error: unknown): boolean {
  return CONFLICTS.includes(codeOf(error));
}

/** Whether a pooler swapped sessions: this one lacks the prepared statement, or has one of that name from elsewhere. */
export function isStatementUnknown(error: unknown): boolean {
  return ["26000", "42P05"].includes(codeOf(error));
}

/**
 * Whether a prepared statement would return other columns because its table was changed. Its code alone means any
 * unsupported feature.
 */
export function isStalePlan(error: unknown): boolean {
  const { routine } = (driverErrorOf(error) ?? {}) as { routine?: unknown };
  return codeOf(error) === "0A000" && routine === "RevalidateCachedQuery";
}

export function isDuplicate(error: unknown): boolean {
  return codeOf(error) === "23505";
}

/** Whether a primary key refused a row. Read from the message: not every library passes on the constraint's name. */
export function isIdTaken(error: unknown): boolean {
  return isDuplicate(error) && /_pkey"/.test(messageOf(error));
}

/** Whether history or the attempts have the id of a run that ends. */
export function isPastTaken(error: unknown): boolean {
  return isDuplicate(error) && /_(history|attempts)_pkey"/.test(messageOf(error));
}

/**
 * Whether the server could not read a message of ours, such as one with too many parameters: the connection is intact,
 * and the same statement would fail again. PgBouncer closes connections with the same code, and names no routine.
 */
function isProtocolViolation(error: unknown): boolean {
  const { routine } = (driverErrorOf(error) ?? {}) as { routine?: unknown };
  return codeOf(error) === "08P01" && typeof routine === "string";
}

/** Whether the connection can no longer be used. The statement may or may not have been executed. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return (
    LOST_CODES.includes(code) ||
    LOST_SOCKET_CODES.includes(code) ||
    (code.startsWith("08") && !isProtocolViolation(error)) ||
    LOST_MESSAGE.test(messageOf(error))
  );
}

/** Whether the server refuses writes: it is a standby, or has become one. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === "25006";
}

/**
 * Whether the host name is unknown or the server has no TLS. On the first connection that is a wrong URL; later, an
 * outage that passes.
 */
export function isMisconfiguration(error: unknown): boolean {
  return codeOf(error) === "ENOTFOUND" || NO_TLS.test(messageOf(error));
}

/**
 * Returns a PunctualError for an error of PostgreSQL, pg or the socket, and any other error unchanged. No message
 * contains the URL: it may have a password in it.
 */
export function translate(error: unknown): unknown {
  if (error instanceof PunctualError) return error;
  const code = codeOf(error);
  const message = messageOf(error);
  if (ENDED_POOL.test(message)) {
    return wrap(error, "CLOSED", "The PostgreSQL pool is closed. Create the instance with an open pool.");
  }
  const known = knownError(code, message);
  if (known) return wrap(error, ...known);
  if (isConnectionLost(error)) {
    return wrap(
      error,
      "DATABASE_UNAVAILABLE",
      `The connection to PostgreSQL was lost (${describeFailure(code, message)}). Check that the server is running and that no firewall or proxy closes idle connections.`,
    );
  }
  if (isTls(code, message)) {
    return wrap(
      error,
      "DATABASE_UNAVAILABLE",
      `PostgreSQL's TLS certificate was rejected (${describeFailure(code, message)}). Set sslrootcert=<file> in the URL to the certificate of its authority, or sslmode=no-verify to skip the check.`,
    );
  }
  if (!isSqlState(code)) return error;
  if (DATA_FAULT.test(code)) {
    return wrap(
      error,
      "DATA_REJECTED",
      `PostgreSQL rejected a value: ${message} (${code}). Change the value, or the constraint or limit that rejects it.`,
    );
  }
  if (FAILING.test(code)) {
    return wrap(
      error,
      "DATABASE_FAILING",
      `PostgreSQL cannot execute statements now: ${message} (${code}). Check the server's log, disk space and memory.`,
    );
  }
  return wrap(
    error,
    "DATABASE",
    `PostgreSQL rejected a statement: ${message} (${code}). If the tables were changed by hand, "punctual doctor" shows what is missing.`,
  );
}

function wrap(cause: unknown, code: ErrorCode, message: string): PunctualError {
  return new PunctualError(code, message, { cause });
}

function isSqlState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code);
}

function isTls(code: string, message: string): boolean {
  return /CERT|SSL|TLS|^UNABLE_TO_/.test(code) || /certificate/i.test(message);
}

function knownError(code: string, message: string): [ErrorCode, string] | null {
  switch (code) {
    case "28P01":
    case "28000":
      return [
        "DATABASE_ACCESS",
        `PostgreSQL refused the login: ${message}. Check the user and password in the URL, and the server's pg_hba.conf.`,
      ];
    case "3D000":
      return [
        "DATABASE_MISSING",
        `The PostgreSQL database cannot be opened: ${message}. Create it first, or correct the URL.`,
      ];
    case "3F000":
      return [
        "DATABASE_MISSING",
        `The PostgreSQL schema cannot be used: ${message}. Create it first, or correct schema=<name> in the URL.`,
      ];
    case "42501":
      return [
        "DATABASE_ACCESS",
        `The PostgreSQL user lacks a privilege: ${message}. Grant it, or call install() as a user that has it.`,
      ];
    case "25006":
      return [
        "DATABASE_READ_ONLY",
        "This PostgreSQL server is read-only: it is a standby, or default_transaction_read_only is on. Connect to the primary.",
      ];
    case "53300":
      return [
        "DATABASE_UNAVAILABLE",
        "PostgreSQL has no free connection: all of its max_connections are in use. Raise max_connections, or open fewer connections (pool=<n> in the URL).",
      ];
    case "40001":
    case "40P01":
      return [
        "DATABASE_BUSY",
        "A conflict with other transactions (deadlock or serialization failure) ended this one. Retry when there is less load.",
      ];
    case "55P03":
      return [
        "DATABASE_BUSY",
        "Another transaction kept a lock for longer than lock_timeout. End that transaction: pg_stat_activity lists the open ones.",
      ];
    case "57014":
      return [
        "DATABASE_BUSY",
        `PostgreSQL cancelled a statement: ${message}. Raise statement_timeout for this user, or end the transaction it waited for.`,
      ];
    case "ECONNREFUSED":
      return [
        "DATABASE_UNAVAILABLE",
        `No PostgreSQL server accepts connections at this address (${describeFailure(code, message)}). Start the server, or correct the host and port in the URL.`,
      ];
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return [
        "DATABASE_UNAVAILABLE",
        `The PostgreSQL host was not found (${describeFailure(code, message)}). Check the host name in the URL, and DNS.`,
      ];
  }
  if (POOL_FULL.test(message)) {
    return [
      "DATABASE_BUSY",
      "No connection of the pool became free in time. Allow more (pool=<n> in the URL), or hold them for a shorter time.",
    ];
  }
  if (NO_TLS.test(message)) {
    return [
      "DATABASE_UNAVAILABLE",
      "This PostgreSQL server has TLS turned off. Turn it on there, or remove sslmode from the URL.",
    ];
  }
  return null;
}

/** Throws if the server is too old. `version` is its server_version_num: 150020 is 15.20. */
export function checkVersion(version: number): void {
  if (version >= 130_000) return;
  throw new PunctualError(
    "DATABASE",
    `Expected PostgreSQL 13 or newer, got ${Math.floor(version / 10_000)}. Upgrade the server, or use another database.`,
  );
}
