import { type ErrorCode, isPunctualError } from "../../errors.ts";
import type { Problem } from "../api/contract/values.ts";

/** Codes that the dashboard adds to those of the library, with their status. `docs/guide/http-api.md` explains each. */
export const REQUEST_STATUS = {
  AUTH_NOT_CONFIGURED: 403,
  BODY_TOO_LARGE: 413,
  CROSS_SITE: 403,
  HIDDEN_VALUE: 422,
  HOST_NOT_ALLOWED: 421,
  INTERNAL: 500,
  INVALID_JSON: 400,
  INVALID_PATH: 400,
  INVALID_REQUEST: 422,
  METHOD_NOT_ALLOWED: 405,
  NOT_JSON: 415,
  NO_FILE: 404,
  NO_ROUTE: 404,
  PAGE_MISSING: 503,
  ROLE_TOO_LOW: 403,
  TOO_MANY_LOGINS: 429,
  TOO_MANY_OPERATIONS: 429,
  TOO_MANY_STREAMS: 503,
  UNAUTHENTICATED: 401,
  UNKNOWN_OPERATION: 404,
  UNKNOWN_QUEUE: 404,
} as const;

export type ProblemCode = ErrorCode | keyof typeof REQUEST_STATUS;

/** Content of a problem+json response, without its status. */
export interface ProblemDetails {
  /** Stable: callers match on it, not on the text. The status follows from it. */
  code: ProblemCode;
  /** The fault with its value, and the expectation. */
  detail: string;
  /** The next step for the caller. */
  hint?: string | undefined;
  headers?: Record<string, string>;
}

/** Thrown by a route or a check to answer with the status of its code and a problem+json body. */
export class HttpProblem extends Error {
  readonly status: number;
  readonly code: ProblemCode;
  readonly hint: string | undefined;
  readonly headers: Record<string, string>;

  constructor({ code, detail, hint, headers = {} }: ProblemDetails) {
    super(detail);
    this.name = "HttpProblem";
    this.status = STATUS[code] ?? 500;
    this.code = code;
    this.hint = hint;
    this.headers = headers;
  }
}

/** Status of each code of the library that a request can cause. */
export const LIBRARY_STATUS: Partial<Record<ErrorCode, number>> = {
  BATCH_FINISHED: 409,
  BATCH_NOT_FOUND: 404,
  BATCH_SEALED: 409,
  CLOSED: 503,
  DATABASE: 503,
  DATABASE_ACCESS: 503,
  DATABASE_BUSY: 503,
  DATABASE_FAILING: 503,
  DATABASE_MISSING: 503,
  DATABASE_READ_ONLY: 503,
  DATABASE_UNAVAILABLE: 503,
  DATABASE_URL: 503,
  DATA_REJECTED: 422,
  DRIVER_MISSING: 503,
  ENGINE_UNSAFE: 503,
  INVALID_ARGS: 422,
  INVALID_CRON: 422,
  INVALID_DURATION: 422,
  INVALID_INSTANT: 422,
  INVALID_NAME: 422,
  INVALID_OPTION: 422,
  INVALID_PAYLOAD: 422,
  INVALID_QUERY: 422,
  INVALID_ZONE: 422,
  NOT_A_DATABASE: 503,
  NOT_INSTALLED: 503,
  PAYLOAD_TOO_LARGE: 413,
  QUERY_TIMED_OUT: 504,
  RUN_CLAIMED: 409,
  RUN_FINISHED: 409,
  RUN_NOT_FOUND: 404,
  SCHEMA_TOO_NEW: 503,
  SHUTDOWN: 503,
  UNKNOWN_FAILURE: 404,
  UNKNOWN_JOB: 404,
  UNKNOWN_SCHEDULE: 404,
  UNKNOWN_WORKER: 404,
  WAIT_TIMED_OUT: 504,
  WORKER_STOPPING: 409,
  WRONG_DATABASE: 503,
};

/** A code that is not listed is a fault of the server: 500. */
const STATUS: Partial<Record<ProblemCode, number>> = { ...LIBRARY_STATUS, ...REQUEST_STATUS };

/** Next steps for errors whose message names none, or one for callers of the library. */
const HINTS: Partial<Record<ErrorCode, string>> = {
  DATABASE_UNAVAILABLE: "The dashboard tries again with each request.",
  QUERY_TIMED_OUT: "Narrow the filter: last 24 h, one queue or one job.",
  NOT_INSTALLED: "Create the tables: punctual install",
};

/** Returns the problem that an error of a handler becomes. The text of an unknown error stays in this process. */
export function toProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (isPunctualError(error))
    return new HttpProblem({ code: error.code, detail: error.message, hint: HINTS[error.code] });
  return new HttpProblem({
    code: "INTERNAL",
    detail: "The dashboard failed to answer the request.",
    hint: "The log of the process that serves the dashboard has the error.",
  });
}

/** Returns a problem as `application/problem+json` (RFC 9457). */
export function problemResponse({ status, code, message, hint, headers }: HttpProblem): Response {
  const body: Problem = {
    type: "about:blank",
    title: titleOf(status),
    status,
    code,
    detail: message,
    hint: hint ?? null,
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...headers, "content-type": "application/problem+json" },
  });
}

/** Returns the name of a status. */
export function titleOf(status: number): string {
  return TITLES[status] ?? "Error";
}

const TITLES: Record<number, string> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  421: "Misdirected Request",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};
