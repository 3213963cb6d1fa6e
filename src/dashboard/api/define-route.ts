import { PunctualError } from "../../errors.ts";
import type { JsonValue } from "../../run/payload.ts";
import type { Inspection } from "../../store/maintenance.ts";
import { HttpProblem } from "../server/problem.ts";
import type { Role, Route, RouteContext, User } from "../server/route.ts";
import type { Api } from "./contract.ts";
import { type Reader, type ReadValues, readBody, readQuery } from "./request-values.ts";
import type { Services } from "./services.ts";

export type ReadKey = Extract<keyof Api, `GET ${string}`>;
export type ActionKey = Exclude<keyof Api, ReadKey>;

type ReadersOf<Values> = { [Name in keyof Values]-?: Reader<unknown> };
type QueryReaders<Key extends ReadKey> = Api[Key] extends { query: infer Query } ? ReadersOf<Query> : object;
type BodyReaders<Key extends ActionKey> = Api[Key] extends { body: infer Body }
  ? Body extends Record<string, never>
    ? object
    : ReadersOf<Body>
  : object;

/** A request whose values have been read. */
export interface ReadRequest<Query> {
  params: Readonly<Record<string, string>>;
  query: Query;
  user: User;
}

export interface ActionRequest<Body> {
  params: Readonly<Record<string, string>>;
  body: Body;
  user: User;
}

/**
 * Defines a route that reads. `readers` has one reader for each parameter of the query. Equal requests of one role
 * share one read. A later time in `now` alone does not change the tag of a response.
 */
export function defineRead<Key extends ReadKey, Readers extends QueryReaders<Key>>(
  { reads }: Services,
  key: Key,
  readers: Readers,
  read: (request: ReadRequest<ReadValues<Readers>>) => Promise<Api[Key]["response"]>,
): Route {
  const path = key.slice("GET /".length);
  const handler = async ({ params, query: given, user, request }: RouteContext) => {
    const query = readQuery(given, readers);
    const shared = JSON.stringify([path, params, [...given].sort(), user.role]);
    const { json, etag } = await reads.get(shared, async () => {
      const response = await read({ params, query, user });
      return {
        json: JSON.stringify(response),
        etag: `"${digest(JSON.stringify({ ...response, now: null }))}"`,
      };
    });
    const headers = { etag, "cache-control": "no-store" };
    const isKnown = matchesTag(request.headers.get("if-none-match"), etag);
    return isKnown ? { status: 304, headers } : { json, headers };
  };
  return { method: "GET", path: `/api/v1/${path}`, role: "viewer", handler };
}

function matchesTag(given: string | null, etag: string): boolean {
  return (given ?? "").split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
}

function digest(text: string): string {
  return process.getBuiltinModule("node:crypto").hash("sha1", text, "base64url");
}

/** The effect of an action, for the caller and for the audit trail. */
export interface Effect<Response> {
  response: Response;
  status?: number;
  /** Null: nothing was changed, so that nothing is recorded. */
  audit: { action: string; target: string; details?: JsonValue } | null;
}

/** Defines a route that changes something, and records it in the audit trail. */
export function defineAction<Key extends ActionKey, Readers extends BodyReaders<Key>>(
  { jobs, reads, inspection }: Services,
  key: Key,
  { role, body: readers }: { role: Role; body: Readers },
  act: (request: ActionRequest<ReadValues<Readers>>) => Promise<Effect<Api[Key]["response"]>>,
): Route {
  const [method, path] = key.split(" /") as ["POST" | "DELETE", string];
  const handler = async ({ params, body, user }: RouteContext) => {
    const given = readBody(body, readers);
    checkSchema((await inspection.get()).schema);
    const { response, status = 200, audit } = await act({ params, body: given, user });
    reads.forget();
    if (audit !== null)
      await jobs.recordAction({ ...audit, user: user.name, role: user.role, source: "dashboard" });
    return { status, body: response };
  };
  return { method, path: `/api/v1/${path}`, role, handler };
}

/**
 * Refuses actions if another process has migrated the database beyond this code (note 27). A store checks the schema
 * when it opens, which may have been days ago.
 */
function checkSchema({ found, needed, usable }: Inspection["schema"]): void {
  if (usable) return;
  throw new PunctualError(
    "SCHEMA_TOO_NEW",
    `The database is at schema ${found}, which needs newer code; this dashboard knows schemas up to ${needed}. Nothing was changed. Update punctual in the process that serves the dashboard.`,
  );
}

const RANKS: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

export function hasRole(user: User, role: Role): boolean {
  return RANKS[user.role] >= RANKS[role];
}

/** Throws 403 unless the user has a role that a part of a request needs beyond the role of its route. */
export function requireRole(user: User, role: Role, what: string): void {
  if (hasRole(user, role)) return;
  throw new HttpProblem({
    code: "ROLE_TOO_LOW",
    detail: `${user.name} is ${user.role} here; to ${what} needs ${role}.`,
  });
}
