import { type ErrorCode, PunctualError } from "../../errors.ts";
import { GONE_SOCKET } from "../server/sockets.ts";

/** Serialization failure, deadlock, lock timeout: nothing was written, and the next try may well succeed. */
const CONFLICTS = ["40001", "40P01", "55P03"];

/**
 * The server ends, restarts or is full, or this one is a standby by now: another connection may find it well.
 * 25P03, 25P04 and 57P05 are time limits that end the connection.
 */
const GONE = ["57P01", "57P02", "57P03", "57P05", "53300", "25006", "25P03", "25P04"];

/** Data exceptions, integrity constraints, program limits such as the longest index row. */
const DATA_FAULT = /^(22|23|54)/;

/** Insufficient resources (disk full, out of memory), operator intervention, system errors, internal errors. */
const FAILING = /^(53|57|58|F0|XX)/;

/** What pg throws of its own accord has no code. */
const GONE_MESSAGE =
  /^(Connection terminated|Connection ended|Client has encountered a connection error|Client was closed|timeout expired|timeout exceeded when trying to connect|Query read timeout|The server does not support SSL|There was an error establishing an SSL)/;
const POOL_FULL = /^timeout exceeded when trying to connect/;
const NO_TLS = /^The server does not support SSL|^There was an error establishing an SSL/;
const ENDED_POOL = /^Cannot use a pool after calling end/;

/** The driver's error, where ours has it as its cause. */
function driversOwn(error: unknown): { code?: unknown; message?: unknown } | null {
  const own = error instanceof PunctualError ? error.cause : error;
  return typeof own === "object" && own !== null ? own : null;
}

/** Node tries each address of a host; what it says of them all may stand in the list only. */
function codeOf(error: unknown): string {
  const own = driversOwn(error) as { code?: unknown; errors?: { code?: unknown }[] } | null;
  const code = own?.code ?? own?.errors?.[0]?.code;
  return typeof code === "string" ? code : "";
}

function messageOf(error: unknown): string {
  const message = driversOwn(error)?.message;
  return typeof message === "string" ? message : "";
}

export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === "55P03";
}

export function isConflict(error: unknown): boolean {
  return CONFLICTS.includes(codeOf(error));
}

/** No such prepared statement in this session, or it has one of that name that we did not make in it. */
export function isUnprepared(error: unknown): boolean {
  return ["26000", "42P05"].includes(codeOf(error));
}

/**
 * A statement that this session has prepared would give other columns since the table was changed. The code alone says
 * only that something is not supported.
 */
export function isStale(error: unknown): boolean {
  const { routine } = (driversOwn(error) ?? {}) as { routine?: unknown };
  return codeOf(error) === "0A000" && routine === "RevalidateCachedQuery";
}

export function isDuplicate(error: unknown): boolean {
  return codeOf(error) === "23505";
}

/** Whether a primary key refused a row. Libraries hand on the message, but not always the constraint's name by itself. */
export function isIdTaken(error: unknown): boolean {
  return isDuplicate(error) && /_pkey"/.test(messageOf(error));
}

/**
 * A message that the server itself could not read, such as one with too many parameters: the connection stands, and the
 * same statement would fail again. PgBouncer ends connections with the same code, and names no routine.
 */
function isProtocolMistake(error: unknown): boolean {
  const { routine } = (driversOwn(error) ?? {}) as { routine?: unknown };
  return codeOf(error) === "08P01" && typeof routine === "string";
}

/** Whether the connection is of no more use. The work may or may not have been done. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error);
  return (
    GONE.includes(code) ||
    GONE_SOCKET.includes(code) ||
    (code.startsWith("08") && !isProtocolMistake(error)) ||
    GONE_MESSAGE.test(messageOf(error))
  );
}

/** A name that does not exist, or a server without TLS: on the first connection a mistake, later a passing trouble. */
export function isMistake(error: unknown): boolean {
  return codeOf(error) === "ENOTFOUND" || NO_TLS.test(messageOf(error));
}

/** PostgreSQL's or the socket's error in our words; what is neither stays as it is. Never a URL: it may have a password. */
export function translate(error: unknown): unknown {
  if (error instanceof PunctualError) return error;
  const code = codeOf(error);
  const message = messageOf(error);
  if (ENDED_POOL.test(message)) {
    return wrap(error, "CLOSED", "The pool of PostgreSQL connections was ended. Open a new one.");
  }
  const known = words(code, message);
  if (known) return wrap(error, ...known);
  if (isLost(error)) {
    return wrap(
      error,
      "DATABASE_UNAVAILABLE",
      `The connection to PostgreSQL was lost (${reason(code, message)}). Check that the server runs and that the network lets connections stand.`,
    );
  }
  if (isTls(code, message)) {
    return wrap(
      error,
      "DATABASE_UNAVAILABLE",
      `PostgreSQL's certificate was not accepted (${reason(code, message)}). Name its authority with sslrootcert=<file> in the URL; sslmode=no-verify goes without the check.`,
    );
  }
  if (!isSqlState(code)) return error;
  if (DATA_FAULT.test(code)) {
    return wrap(
      error,
      "DATA_REJECTED",
      `PostgreSQL rejected a value: ${message} (${code}). Store another value, or change what rejects it.`,
    );
  }
  if (FAILING.test(code)) {
    return wrap(
      error,
      "DATABASE_FAILING",
      `PostgreSQL cannot work now: ${message} (${code}). Look into the server's log, its disk space and its memory.`,
    );
  }
  return wrap(error, "DATABASE", `PostgreSQL refused a statement: ${message} (${code}).`);
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

function reason(code: string, message: string): string {
  if (message === "") return code || "no reason given";
  return code === "" || message.includes(code) ? message : `${message}, ${code}`;
}

function words(code: string, message: string): [ErrorCode, string] | null {
  switch (code) {
    case "28P01":
    case "28000":
      return [
        "DATABASE_ACCESS",
        `PostgreSQL did not let this user in: ${message}. Check user and password in the URL, and the server's pg_hba.conf.`,
      ];
    case "3D000":
      return ["DATABASE_MISSING", `PostgreSQL says: ${message}. Create it first, or correct the URL.`];
    case "3F000":
      return [
        "DATABASE_MISSING",
        `PostgreSQL says: ${message}. Create the schema first, or correct the URL.`,
      ];
    case "42501":
      return [
        "DATABASE_ACCESS",
        `PostgreSQL says: ${message}. Grant this user what it needs, or call install() as one who may.`,
      ];
    case "25006":
      return [
        "DATABASE_READ_ONLY",
        "PostgreSQL takes no writes here: it is a standby, or set to read only. Connect to the primary.",
      ];
    case "53300":
      return [
        "DATABASE_UNAVAILABLE",
        "PostgreSQL has no connection free: all of its max_connections are in use. Raise them, or open fewer (pool=<n> in the URL).",
      ];
    case "40001":
    case "40P01":
      return [
        "DATABASE_BUSY",
        "PostgreSQL kept ending the transaction in favour of others it met. Try again when there is less going on.",
      ];
    case "55P03":
      return [
        "DATABASE_BUSY",
        "Rows stayed locked by somebody else for longer than lock_timeout. Close the transaction that holds them.",
      ];
    case "57014":
      return [
        "DATABASE_BUSY",
        `PostgreSQL ended a statement: ${message}. Raise statement_timeout for this user, or close the transaction it waited for.`,
      ];
    case "ECONNREFUSED":
      return [
        "DATABASE_UNAVAILABLE",
        `Nothing answers where PostgreSQL was expected (${reason(code, message)}). Start the server, or correct host and port in the URL.`,
      ];
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return [
        "DATABASE_UNAVAILABLE",
        `PostgreSQL's host was not found (${reason(code, message)}). Correct the host in the URL, or mend the name service.`,
      ];
  }
  if (POOL_FULL.test(message)) {
    return [
      "DATABASE_BUSY",
      "All connections of the pool stayed in use. Allow more (pool=<n> in the URL), or hold them for a shorter time.",
    ];
  }
  if (NO_TLS.test(message)) {
    return [
      "DATABASE_UNAVAILABLE",
      "This PostgreSQL server takes no TLS connections. Turn TLS on there, or leave sslmode out of the URL.",
    ];
  }
  return null;
}

/** As the server numbers itself: 150020 is 15.20. */
export function refuseOlder(version: number): void {
  if (version >= 130_000) return;
  throw new PunctualError(
    "DATABASE",
    `Expected PostgreSQL 13 or newer, but the server says that it is ${Math.floor(version / 10_000)}. Update it, or use another database.`,
  );
}
