import type { Punctual } from "../../punctual.ts";
import type { Redaction } from "../../run/redaction.ts";
import type { Role } from "../api/contract/values.ts";

export type { Role } from "../api/contract/values.ts";

/** The user of a request. */
export interface User {
  /** Shown on the page, and written to the audit log. */
  name: string;
  role: Role;
}

/** Argument of a route's handler. Every check of the request has passed before. */
export interface RouteContext {
  jobs: Punctual;
  /** Values of the `:name` segments of the path, percent-decoded: they may contain `/`, `.` and spaces. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** The parsed JSON body; undefined if the request has none. The handler validates its shape. */
  body: unknown;
  user: User;
  /** Aborts when the client disconnects or the dashboard closes. */
  signal: AbortSignal;
  request: Request;
}

/** An answer in JSON. A handler that streams, or sends another type, returns a Response instead. */
export interface JsonResult {
  /** Default: 200. */
  status?: number;
  /** The JSON document; undefined: an empty body. */
  body?: unknown;
  /** The JSON document as text, if several requests share it; replaces `body`. */
  json?: string;
  headers?: Record<string, string>;
}

/** One route of the API. The router checks host, user, role, origin, content type and size before the handler. */
export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Pattern below the mount, such as `/api/v1/runs/:id`. A segment `:name` matches one percent-encoded segment. */
  path: `/api/v1/${string}`;
  /** Least role that may call the route. */
  role: Role;
  /**
   * Errors become `application/problem+json`: a PunctualError with the status of its code, an `HttpProblem` with its
   * own.
   */
  handler(context: RouteContext): Promise<JsonResult | Response> | JsonResult | Response;
}

/** The API of one dashboard: its routes, and what they share, such as the sampler behind the event streams. */
export interface MountedApi {
  readonly routes: readonly Route[];
  /** Stops what the routes share. Open streams have been aborted before. */
  close(): void | Promise<void>;
}

/** Settings of a dashboard that its routes need. */
export interface ApiSettings {
  /** Hides secrets of payloads, results, logs and errors before they are serialised. */
  redaction: Redaction;
  readOnly: boolean;
  /** Names in lower case, beside local ones. */
  allowedHosts: readonly string[];
  title: string;
  environment: string | null;
}
