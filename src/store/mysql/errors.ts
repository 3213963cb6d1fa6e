import { type ErrorCode, PunctualError } from "../../errors.ts";
import { describeFailure, LOST_SOCKET_CODES } from "../server/connections.ts";
import { refuseUnsafe } from "../server/database-products.ts";

/** Deadlock, lock wait timeout, row or table changed since it was read, refused by the cluster: nothing was written. */
const CONFLICTS = [1213, 1205, 1020, 1412, 1615, 3101];

/**
 * The server has no connection free, shuts down, has become a replica or has closed this connection: a new connection
 * may succeed.
 */
const LOST_NUMBERS = [
  1040, 1203, 1226, 1047, 1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1243, 1317, 1792, 1836, 1927,
  2006, 2013, 4031,
];

/** The time limit of the statement was over: MariaDB's number, MySQL's number. */
const CANCELLED = [1969, 3024];

const READ_ONLY = [1290, 1792, 1836];

/**
 * Values that do not fit their column, its type, its character set or a constraint; invalid JSON; rows, packets and
 * texts that are too long. 4025 and 4038 are MariaDB's, 3140 to 3158 and 3819 MySQL's.
 */
const DATA_FAULTS = [
  1048, 1062, 1118, 1153, 1216, 1217, 1264, 1265, 1292, 1300, 1301, 1366, 1367, 1406, 1451, 1452, 1690, 3140,
  3141, 3143, 3144, 3146, 3150, 3156, 3157, 3158, 3819, 4025, 4038,
];

/**
 * The disk or a table is full, memory or another resource is used up, the storage engine or the binary log reports an
 * error, a statement exceeded a time limit. Numbers below 1000 are those of the server's file layer.
 */
const FAILING = [
  1021, 1026, 1030, 1037, 1038, 1041, 1105, 1114, 1135, 1180, 1181, 1194, 1195, 1197, 1206, 1296, 1461, 1595,
  1598, 1637, 1705, 1969, 3024, 3168, 3572,
];

const LOST_CODES = [
  ...LOST_SOCKET_CODES,
  "PROTOCOL_CONNECTION_LOST",
  "PROTOCOL_SEQUENCE_TIMEOUT",
  "PROTOCOL_PACKETS_OUT_OF_ORDER",
  // A Unix socket that does not exist.
  "ENOENT",
];

/** Errors that mysql2 itself throws may have no code. */
const LOST_MESSAGE = /in closed state|^Connection lost|^Connection closed|^This socket has been ended/;
const ENDED_POOL = /^Pool is closed/;

const CALLER_TRANSACTION_OPEN = "the caller has a transaction open on the connection";

/** An error handled like a lock wait timeout: a write of ours would be rolled back with the caller's transaction. */
export function callerTransactionOpen(): Error {
  return Object.assign(new Error(CALLER_TRANSACTION_OPEN), { errno: 1205 });
}

/** An error handled like a deadlock: nothing of the transaction was written. */
export function rolledBack(why: string): Error {
  return Object.assign(new Error(why), { errno: 1213 });
}

interface DriverError {
  errno?: unknown;
  code?: unknown;
  message?: unknown;
  sqlMessage?: unknown;
  meta?: { code?: unknown };
  cause?: unknown;
}

/** Returns the driver's error: the error itself, or one in its chain of causes. */
function driverErrorOf(error: unknown): DriverError | null {
  let own = error as DriverError | null | undefined;
  for (let depth = 0; depth < 5 && typeof own === "object" && own !== null; depth++) {
    if (typeof own.errno === "number" || own.meta?.code !== undefined) return own;
    if (typeof own.cause !== "object" || own.cause === null) return own;
    own = own.cause;
  }
  return null;
}

/** The server's error number; 0: none. Prisma passes it on as text; negative numbers are those of the socket. */
function numberOf(error: unknown): number {
  const own = driverErrorOf(error);
  const number = Number(own?.errno ?? own?.meta?.code);
  return number >= 1 ? number : 0;
}

/** Node tries every address of a host name. If all fail, the code may be only in the list of their errors. */
export function codeOf(error: unknown): string {
  const own = driverErrorOf(error) as (DriverError & { errors?: { code?: unknown }[] }) | null;
  const code = own?.code ?? own?.errors?.[0]?.code;
  return typeof code === "string" ? code : "";
}

export function messageOf(error: unknown): string {
  const own = driverErrorOf(error);
  const message = own?.sqlMessage ?? own?.message;
  return typeof message === "string" ? message : "";
}

export function isQueryCancelled(error: unknown): boolean {
  return CANCELLED.includes(numberOf(error instanceof PunctualError ? error.cause : error));
}

/** A node of a group reports at the commit (1180) that another one's transaction came first (149). */
export function isConflict(error: unknown): boolean {
  const number = numberOf(error);
  return CONFLICTS.includes(number) || (number === 1180 && /\b149\b/.test(messageOf(error)));
}

export function isLockTimeout(error: unknown): boolean {
  return numberOf(error) === 1205;
}

export function isDuplicate(error: unknown): boolean {
  return numberOf(error) === 1062;
}

/** The index that refused a duplicate. MySQL puts the table's name before the index's name. */
const REFUSING_INDEX = /for key '([^']*)'[^']*$/;

export function isIdTaken(error: unknown): boolean {
  return isDuplicate(error) && (REFUSING_INDEX.exec(messageOf(error))?.[1] ?? "").endsWith("PRIMARY");
}

export function isKeyHeld(error: unknown): boolean {
  return isDuplicate(error) && !isIdTaken(error);
}

export function isMissingSavepoint(error: unknown): boolean {
  return numberOf(error) === 1305;
}

export function isMissingTable(error: unknown): boolean {
  return numberOf(error) === 1146;
}

/** Whether the error comes from the server or from the connection to it. */
export function isServerError(error: unknown): boolean {
  return numberOf(error) > 0 || isConnectionLost(error);
}

/** Whether the server refuses writes: it is a replica, or has become one. */
export function isReadOnly(error: unknown): boolean {
  const number = numberOf(error);
  return READ_ONLY.includes(number) && (number !== 1290 || /read.?only/i.test(messageOf(error)));
}

/** Whether the connection can no longer be used. The statement may or may not have been executed. */
export function isConnectionLost(error: unknown): boolean {
  return (
    LOST_NUMBERS.includes(numberOf(error)) ||
    isReadOnly(error) ||
    LOST_CODES.includes(codeOf(error)) ||
    LOST_MESSAGE.test(messageOf(error))
  );
}

/**
 * Whether the host name or the Unix socket does not exist. On the first connection that is a wrong URL; later, an
 * outage that passes.
 */
export function isMisconfiguration(error: unknown): boolean {
  return ["ENOTFOUND", "ENOENT"].includes(codeOf(error));
}

/**
 * Returns a PunctualError for an error of the server, mysql2 or the socket, and any other error unchanged. No message
 * contains the URL: it may have a password in it.
 */
export function translate(error: unknown): unknown {
  if (error instanceof PunctualError) return error;
  const number = numberOf(error);
  const code = codeOf(error);
  const message = messageOf(error);
  if (ENDED_POOL.test(message)) {
    return wrap(error, "CLOSED", "The MySQL pool is closed. Create the instance with an open pool.");
  }
  if (isReadOnly(error)) {
    return wrap(
      error,
      "DATABASE_READ_ONLY",
      "This database server is read-only: it is a replica, or read_only is on. Connect to the primary.",
    );
  }
  const known = knownServerError(number, message) ?? knownSocketError(code, message) ?? knownConflict(error);
  if (known) return wrap(error, ...known);
  if (isTls(code, message)) {
    return wrap(
      error,
      "DATABASE_UNAVAILABLE",
      `The TLS connection to the database server failed (${describeFailure(code, message)}). Set ssl in the URL to JSON: {"ca":"…"} with the certificate of its authority, or {"rejectUnauthorized":false} to skip the check.`,
    );
  }
  if (isConnectionLost(error)) {
    return wrap(
      error,
      "DATABASE_UNAVAILABLE",
      `The connection to the database server was lost (${describeFailure(code, message)}). Check that the server is running and that no firewall or proxy closes idle connections.`,
    );
  }
  if (number === 0) return error;
  if (DATA_FAULTS.includes(number)) {
    return wrap(
      error,
      "DATA_REJECTED",
      `The database server rejected a value: ${message} (${number}). Change the value, or the constraint or limit that rejects it.`,
    );
  }
  if (FAILING.includes(number) || number < 1000) {
    return wrap(
      error,
      "DATABASE_FAILING",
      `The database server cannot execute statements now: ${message} (${number}). Check its error log, disk space and memory.`,
    );
  }
  return wrap(
    error,
    "DATABASE",
    `The database server rejected a statement: ${message} (${number}). If the tables were changed by hand, "punctual doctor" shows what is missing.`,
  );
}

function wrap(cause: unknown, code: ErrorCode, message: string): PunctualError {
  return new PunctualError(code, message, { cause });
}

function isTls(code: string, message: string): boolean {
  return /CERT|SSL|TLS|^UNABLE_TO_/.test(code) || /certificate|secure connection/i.test(message);
}

function knownServerError(number: number, message: string): [ErrorCode, string] | null {
  switch (number) {
    case 1044:
    case 1045:
    case 1698:
      return [
        "DATABASE_ACCESS",
        `The database server refused the login: ${message}. Check the user, password and database in the URL, and the user's grants.`,
      ];
    case 1142:
    case 1143:
    case 1227:
      return [
        "DATABASE_ACCESS",
        `The database user lacks a privilege: ${message}. Grant it, or call install() as a user that has it.`,
      ];
    case 1049:
      return [
        "DATABASE_MISSING",
        `The database cannot be opened: ${message}. Create it first, or correct the URL.`,
      ];
    case 1040:
    case 1203:
    case 1226:
      return [
        "DATABASE_UNAVAILABLE",
        `The database server has no free connection: ${message}. Raise max_connections, or open fewer connections (pool=<n> in the URL).`,
      ];
    case 1205:
      if (message === CALLER_TRANSACTION_OPEN) {
        return [
          "DATABASE_BUSY",
          "The only MySQL connection that Punctual was given was not free: a transaction of yours is open on it. Pass a pool instead of a connection.",
        ];
      }
      return [
        "DATABASE_BUSY",
        "Another transaction kept a lock for longer than the lock wait timeout. End that transaction: information_schema.innodb_trx lists the open ones.",
      ];
    case 1153:
      return [
        "DATA_REJECTED",
        "A statement was longer than the server's max_allowed_packet. Raise max_allowed_packet, or dispatch smaller arguments or fewer runs at once.",
      ];
    case 1461:
      return [
        "DATABASE_FAILING",
        "The database server has reached max_prepared_stmt_count. Raise it, or open fewer connections (pool=<n> in the URL).",
      ];
    default:
      return null;
  }
}

function knownConflict(error: unknown): [ErrorCode, string] | null {
  if (!isConflict(error)) return null;
  return [
    "DATABASE_BUSY",
    "A conflict with other transactions (deadlock or concurrent change) ended this one. Retry when there is less load.",
  ];
}

function knownSocketError(code: string, message: string): [ErrorCode, string] | null {
  switch (code) {
    case "HANDSHAKE_NO_SSL_SUPPORT":
      return [
        "DATABASE_UNAVAILABLE",
        "This database server has TLS turned off. Turn it on there, or remove ssl from the URL.",
      ];
    case "ECONNREFUSED":
    case "ENOENT":
      return [
        "DATABASE_UNAVAILABLE",
        `No MySQL or MariaDB server accepts connections at this address (${describeFailure(code, message)}). Start the server, or correct the host and port in the URL.`,
      ];
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return [
        "DATABASE_UNAVAILABLE",
        `The host of the database server was not found (${describeFailure(code, message)}). Check the host name in the URL, and DNS.`,
      ];
    case "ETIMEDOUT":
      return [
        "DATABASE_UNAVAILABLE",
        `The database server did not answer in time (${describeFailure(code, message)}). Check the host and port in the URL, and any firewall between the two machines.`,
      ];
    default:
      return null;
  }
}

/**
 * Returns the server that has this version. Throws if it is too old, without `skip locked` or `json_table`, or another
 * product that is known to be unsafe.
 */
export function flavourOf(version: string): "mysql" | "mariadb" {
  refuseUnsafe(version);
  const isMariadb = /mariadb/i.test(version);
  const [major = 0, minor = 0] = version.split(/[.-]/).map(Number);
  const isEnough = isMariadb ? major > 10 || (major === 10 && minor >= 6) : major >= 8;
  if (isEnough) return isMariadb ? "mariadb" : "mysql";
  throw new PunctualError(
    "DATABASE",
    `Expected MySQL 8.0 or newer, or MariaDB 10.6 or newer, got ${version}. Upgrade the server, or use another database.`,
  );
}
