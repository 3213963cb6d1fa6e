import type { Overview } from "./overview.ts";

/**
 * Permission of a user. A viewer reads; an operator also retries, cancels, pauses and dispatches; an admin also
 * deletes and edits payloads. Each role includes the ones before it.
 */
export type Role = "viewer" | "operator" | "admin";

/** An error response (RFC 9457, `application/problem+json`). */
export interface Problem {
  type: "about:blank";
  title: string;
  status: number;
  /** The fault with its value, and the expectation. */
  detail: string;
  /** Stable; a code of PunctualError where there is one. */
  code: string;
  /** The next step for the caller; null if the detail names it. */
  hint: string | null;
}

/** A number of rows; with `capped`, a lower bound: counting stopped there. */
export interface Count {
  value: number;
  capped: boolean;
}

/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  /** Value of `before` for the next page; null on the last one. */
  next: number | null;
}

/**
 * JSON as it is stored, with secrets hidden. It stays text so that integers above 2^53 arrive unchanged. `json` is null
 * if there is no value.
 */
export interface JsonText {
  json: string | null;
  /** Bytes of the whole text. */
  size: number;
  /** Whether the text was cut; `GET /runs/:id/payload` has the whole. */
  truncated: boolean;
}

/** How the page and the server were set up. The page gets it with its HTML, and `GET /meta` returns it. */
export interface Meta {
  title: string;
  /** Shown as a badge, such as "production"; null: no badge. */
  environment: string | null;
  version: string;
  database: {
    kind: "sqlite" | "postgres" | "mysql" | "mariadb";
    version: string | null;
    schema: number | null;
  };
  user: { name: string | null; role: Role };
  readOnly: boolean;
  /** The database's time when the response was made, and how far this process's clock is ahead of it. */
  now: string;
  clockSkew: number;
  /** Resolved settings of this process, for the page "Settings": names and texts, without secrets. */
  settings: Record<string, string>;
}

export interface PauseView {
  since: string;
  by: string | null;
  reason: string | null;
  until: string | null;
}

/** JSON of the element `<script type="application/json" id="bootstrap">` in the page. */
export interface Bootstrap {
  /** Relative URL of the mount, with a slash at the end: `./`, `../`, `../../`… The API is at `${root}api/v1/`. */
  root: string;
  title: string;
  environment: string | null;
  version: string;
  user: { name: string | null; role: Role };
  readOnly: boolean;
  /** Answer of `GET /meta`; null if the database did not answer in time. */
  meta: Meta | null;
  /** Answer of `GET /overview`, on the page that shows it; null if the database did not answer in time. */
  overview: Overview | null;
}
