import { type ErrorCode, PunctualError } from "../../errors.ts";
import { GONE_SOCKET } from "../server/sockets.ts";

/** Deadlock, lock wait timeout, record or table changed since it was read, refused by the cluster: nothing was written. */
const CONFLICTS = [1213, 1205, 1020, 1412, 1615, 3101];

/** The server is full, ends, has become a replica, or has ended this connection: another one may find it well. */
const GONE = [
  1040, 1203, 1226, 1047, 1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1243, 1317, 1792, 1836, 1927,
  2006, 2013, 4031,
];

const READ_ONLY = [1290, 1792, 1836];

/**
 * Values that do not fit their column, its type, its character set or a constraint; JSON that is none; rows, packets and
 * texts that are too long. 4025 and 4038 are MariaDB's, 3140 to 3158 and 3819 MySQL's.
 */
const DATA_FAULTS = [
  1048, 1062, 1118, 1153, 1216, 1217, 1264, 1265, 1292, 1300, 1301, 1366, 1367, 1406, 1451, 1452, 1690, 3140,
  3141, 3143, 3144, 3146, 3150, 3156, 3157, 3158, 3819, 4025, 4038,
];

/**
 * The disk or a table is full, memory or another resource is used up, the storage engine or the binary log reports an
 * error, a statement ran into a time limit. Numbers below 1000 are those of the server's file layer.
 */
const FAILING = [
  1021, 1026, 1030, 1037, 1038, 1041, 1105, 1114, 1135, 1180, 1181, 1194, 1195, 1197, 1206, 1296, 1461, 1595,
  1598, 1637, 1705, 1969, 3024, 3168, 3572,
];

const GONE_CONNECTION = [
  ...GONE_SOCKET,
  "PROTOCOL_CONNECTION_LOST",
  "PROTOCOL_SEQUENCE_TIMEOUT",
  "PROTOCOL_PACKETS_OUT_OF_ORDER",
  // Of a socket in the file system.
  "ENOENT",
];

/** What mysql2 throws of its own accord may have no code. */
const GONE_MESSAGE = /in closed state|^Connection lost|^Connection closed|^This socket has been ended/;
const ENDED_POOL = /^Pool is closed/;

const OWNERS = "a transaction of the connection's owner is open on it";

/** As good as a lock: what we wrote would go with it. */
export function ownersTransaction(): Error {
  return Object.assign(new Error(OWNERS), { errno: 1205 });
}

interface DriverError {
  errno?: unknown;
  code?: unknown;
  message?: unknown;
  sqlMessage?: unknown;
  meta?: { code?: unknown };
  cause?: unknown;
}

/** What the driver threw, where somebody has put it into an error of their own. */
function driversOwn(error: unknown): DriverError | null {
  let own = error as DriverError | null | undefined;
  for (let depth = 0; depth < 5 && typeof own === "object" && own !== null; depth++) {
    if (typeof own.errno === "number" || own.meta?.code !== undefined) return own;
    if (typeof own.cause !== "object" || own.cause === null) return own;
    own = own.cause;
  }
  return null;
}

/** The server's number; Prisma tells it as text, the socket has negative ones. */
function numberOf(error: unknown): number {
  const own = driversOwn(error);
  const number = Number(own?.errno ?? own?.meta?.code);
  return number >= 1 ? number : 0;
}

/** Node tries each address of a host; what it says of them all may stand in the list only. */
function codeOf(error: unknown): string {
  const own = driversOwn(error) as (DriverError & { errors?: { code?: unknown }[] }) | null;
  const code = own?.code ?? own?.errors?.[0]?.code;
  return typeof code === "string" ? code : "";
}

function messageOf(error: unknown): string {
  const own = driversOwn(error);
  const message = own?.sqlMessage ?? own?.message;
  return typeof message === "string" ? message : "";
}

export function isConflict(error: unknown): boolean {
  return CONFLICTS.includes(numberOf(error));
}

export function isLockTimeout(error: unknown): boolean {
  return numberOf(error) === 1205;
}

export function isDuplicate(error: unknown): boolean {
  return numberOf(error) === 1062;
}

/** Of a duplicate, the index that refused it: MySQL puts the table's name before it. */
const REFUSED_BY = /for key '([^']*)'[^']*$/;

export function isIdTaken(error: unknown): boolean {
  return isDuplicate(error) && (REFUSED_BY.exec(messageOf(error))?.[1] ?? "").endsWith("PRIMARY");
}

export function isKeyHeld(error: unknown): boolean {
  return isDuplicate(error) && !isIdTaken(error);
}

export function isMissingTable(error: unknown): boolean {
  return numberOf(error) === 1146;
}

/** Whether the server, or the connection to it, has said this. */
export function isServerError(error: unknown): boolean {
  return numberOf(error) > 0 || isLost(error);
}

function isReadOnly(error: unknown): boolean {
  const number = numberOf(error);
  return READ_ONLY.includes(number) && (number !== 1290 || /read.?only/i.test(messageOf(error)));
}

/** Whether the connection is of no more use. The work may or may not have been done. */
export function isLost(error: unknown): boolean {
  return (
    GONE.includes(numberOf(error)) ||
    isReadOnly(error) ||
    GONE_CONNECTION.includes(codeOf(error)) ||
    GONE_MESSAGE.test(messageOf(error))
  );
}

/** A name that does not exist, a port where nobody listens: on the first connection a mistake, later a passing trouble. */
export function isMistake(error: unknown): boolean {
  return ["ENOTFOUND", "ENOENT"].includes(codeOf(error));
}

/** The server's or the socket's error in our words; what is neither stays as it is. Never a URL: it may have a password. */
export function translate(error: unknown): unknown {
  if (error instanceof PunctualError) return error;
  const number = numberOf(error);
  const code = codeOf(error);
  const message = messageOf(error);
  if (ENDED_POOL.test(message)) {
    return wrap(error, "CLOSED", "The pool of MySQL connections was ended. Open a new one.");
  }
  if (isReadOnly(error)) {
    return wrap(
      error,
      "DATABASE_READ_ONLY",
      "The server takes no writes here: it is a replica, or set to read only. Connect to the primary.",
    );
  }
  const known = ofServer(number, message) ?? ofSocket(code, message);
  if (known) return wrap(error, ...known);
  if (isTls(code, message)) {
    return wrap(
      error,
      "DATABASE_UNAVAILABLE",
      `The TLS connection to the server was not accepted (${reason(code, message)}). Set ssl in the URL, as JSON: {"ca":"…"} for its authority, {"rejectUnauthorized":false} to go without the check.`,
    );
  }
  if (isLost(error)) {
    return wrap(
      error,
      "DATABASE_UNAVAILABLE",
      `The connection to the server was lost (${reason(code, message)}). Check that the server runs and that the network lets connections stand.`,
    );
  }
  if (number === 0) return error;
  if (DATA_FAULTS.includes(number)) {
    return wrap(
      error,
      "DATA_REJECTED",
      `The server rejected a value: ${message} (${number}). Store another value, or change what rejects it.`,
    );
  }
  if (FAILING.includes(number) || number < 1000) {
    return wrap(
      error,
      "DATABASE_FAILING",
      `The server cannot work now: ${message} (${number}). Look into its error log, its disk space and its memory.`,
    );
  }
  return wrap(error, "DATABASE", `The server refused a statement: ${message} (${number}).`);
}

function wrap(cause: unknown, code: ErrorCode, message: string): PunctualError {
  return new PunctualError(code, message, { cause });
}

function isTls(code: string, message: string): boolean {
  return /CERT|SSL|TLS|^UNABLE_TO_/.test(code) || /certificate|secure connection/i.test(message);
}

function reason(code: string, message: string): string {
  if (message === "") return code || "no reason given";
  return code === "" || message.includes(code) ? message : `${message}, ${code}`;
}

function ofServer(number: number, message: string): [ErrorCode, string] | null {
  switch (number) {
    case 1044:
    case 1045:
    case 1698:
      return [
        "DATABASE_ACCESS",
        `The server did not let this user in: ${message}. Check user, password and database in the URL, and the user's grants.`,
      ];
    case 1142:
    case 1143:
    case 1227:
      return [
        "DATABASE_ACCESS",
        `The server says: ${message}. Grant this user what it needs, or call install() as one who may.`,
      ];
    case 1049:
      return ["DATABASE_MISSING", `The server says: ${message}. Create it first, or correct the URL.`];
    case 1040:
    case 1203:
    case 1226:
      return [
        "DATABASE_UNAVAILABLE",
        `The server has no connection free: ${message}. Raise max_connections, or open fewer (pool=<n> in the URL).`,
      ];
    case 1205:
      if (message === OWNERS) {
        return [
          "DATABASE_BUSY",
          "The one MySQL connection that Punctual was given stayed in use: a transaction of your own is open on it. Give Punctual a pool instead of a connection.",
        ];
      }
      return [
        "DATABASE_BUSY",
        "Rows stayed locked by somebody else for too long. Close the transaction that holds them: information_schema.innodb_trx lists those that are open.",
      ];
    case 1213:
    case 1020:
    case 1412:
    case 1615:
    case 3101:
      return [
        "DATABASE_BUSY",
        "The server kept ending the transaction in favour of others it met. Try again when there is less going on.",
      ];
    case 1153:
      return [
        "DATA_REJECTED",
        "The server refused a statement that is longer than its max_allowed_packet. Raise it there, or dispatch less at once.",
      ];
    case 1461:
      return [
        "DATABASE_FAILING",
        "The server refused to prepare one more statement. Raise its max_prepared_stmt_count, or open fewer connections (pool=<n> in the URL).",
      ];
    default:
      return null;
  }
}

function ofSocket(code: string, message: string): [ErrorCode, string] | null {
  switch (code) {
    case "HANDSHAKE_NO_SSL_SUPPORT":
      return [
        "DATABASE_UNAVAILABLE",
        "This MySQL server takes no TLS connections. Turn TLS on there, or leave ssl out of the URL.",
      ];
    case "ECONNREFUSED":
    case "ENOENT":
      return [
        "DATABASE_UNAVAILABLE",
        `Nothing answers where MySQL was expected (${reason(code, message)}). Start the server, or correct host and port in the URL.`,
      ];
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return [
        "DATABASE_UNAVAILABLE",
        `MySQL's host was not found (${reason(code, message)}). Correct the host in the URL, or mend the name service.`,
      ];
    case "ETIMEDOUT":
      return [
        "DATABASE_UNAVAILABLE",
        `MySQL did not answer in time (${reason(code, message)}). Correct host and port in the URL, or let this host through to it.`,
      ];
    default:
      return null;
  }
}

/** What is older lacks `skip locked` or `json_table`. */
export function nameOfVersion(version: string): "mysql" | "mariadb" {
  const isMariadb = /mariadb/i.test(version);
  const [major = 0, minor = 0] = version.split(/[.-]/).map(Number);
  const isEnough = isMariadb ? major > 10 || (major === 10 && minor >= 6) : major >= 8;
  if (isEnough) return isMariadb ? "mariadb" : "mysql";
  throw new PunctualError(
    "DATABASE",
    `Expected MySQL 8.0 or MariaDB 10.6, or newer, but the server says that it is ${version}. Update it, or use another database.`,
  );
}
