import { constants } from "node:os";
import { type ErrorCode, isA, isPunctualError } from "../../errors.ts";

/** Exit codes of the process. They are part of the interface: scripts and monitors match on them. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  unhealthy: 4,
  database: 5,
  notLoaded: 6,
  refused: 7,
  timedOut: 124,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

const byCode: Partial<Record<ErrorCode, ExitCode>> = {
  CHILDREN_CANNOT_BOOT: exitCodes.notLoaded,
  CONFIG_NOT_LOADED: exitCodes.notLoaded,
  DATABASE: exitCodes.database,
  DATABASE_ACCESS: exitCodes.database,
  DATABASE_BUSY: exitCodes.database,
  DATABASE_FAILING: exitCodes.database,
  DATABASE_MISSING: exitCodes.database,
  DATABASE_READ_ONLY: exitCodes.database,
  DATABASE_UNAVAILABLE: exitCodes.database,
  DATABASE_URL: exitCodes.usage,
  DATA_REJECTED: exitCodes.database,
  DRIVER_MISSING: exitCodes.database,
  DUPLICATE_JOB: exitCodes.notLoaded,
  ENGINE_UNSAFE: exitCodes.database,
  INVALID_ARGS: exitCodes.usage,
  INVALID_CRON: exitCodes.usage,
  INVALID_DURATION: exitCodes.usage,
  INVALID_INSTANT: exitCodes.usage,
  INVALID_NAME: exitCodes.usage,
  INVALID_OPTION: exitCodes.usage,
  INVALID_PAYLOAD: exitCodes.usage,
  INVALID_QUERY: exitCodes.usage,
  INVALID_ZONE: exitCodes.usage,
  NOT_A_DATABASE: exitCodes.database,
  NOT_INSTALLED: exitCodes.database,
  PAYLOAD_TOO_LARGE: exitCodes.usage,
  RUN_NOT_FOUND: exitCodes.notFound,
  SCHEMA_TOO_NEW: exitCodes.refused,
  UNKNOWN_FAILURE: exitCodes.notFound,
  UNKNOWN_JOB: exitCodes.notFound,
  UNKNOWN_SCHEDULE: exitCodes.notFound,
  UNKNOWN_WORKER: exitCodes.notFound,
  WAIT_TIMED_OUT: exitCodes.timedOut,
};

/** Ends a command with a message for people and an exit code for scripts. */
export class Exit extends Error {
  readonly exitCode: number;

  /** Nothing is printed for an empty message. */
  constructor(exitCode: number, message = "") {
    super(message);
    this.name = "Exit";
    this.exitCode = exitCode;
  }
}

export function exitCodeOf(error: unknown): number {
  if (isA(error, Exit)) return error.exitCode;
  return (isPunctualError(error) ? byCode[error.code] : undefined) ?? exitCodes.failed;
}

/** Returns the exit code of a process killed by a signal, as shells count it: 130 for SIGINT. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
