import { DashboardServer } from "../../../src/dashboard/server/dashboard.ts";
import { type DashboardOptions, toSettings } from "../../../src/dashboard/server/options.ts";
import type { Role, Route } from "../../../src/dashboard/server/route.ts";
import { Punctual } from "../../../src/index.ts";

/** An instance whose database is never opened. */
export function unopened(): Punctual {
  return new Punctual("sqlite::memory:", { logger: false });
}

/** A dashboard with these routes in place of the API's. */
export function serverWith(routes: Route[], options: DashboardOptions = {}): DashboardServer {
  const settings = toSettings({ logger: false, auth: byHeader, ...options });
  return new DashboardServer(unopened(), settings, { routes, close: () => {} });
}

/** Authenticates by the header `x-role`, as a proxy with sign-on would. */
export function byHeader(request: Request): { user: string; role: Role } | null {
  const role = request.headers.get("x-role");
  return role === null ? null : { user: `the ${role}`, role: role as Role };
}

/** Headers of a write that the dashboard's own page sends. */
export const OWN_PAGE: Record<string, string> = {
  "sec-fetch-site": "same-origin",
  "content-type": "application/json",
};

export interface Sent {
  method?: string;
  role?: Role | null;
  headers?: Record<string, string>;
  body?: string;
  host?: string;
}

/** A request of an admin's browser to the dashboard at localhost, unless told otherwise. */
export function request(path: string, sent: Sent = {}): Request {
  const { method = "GET", role = "admin", body, host = "localhost:4480" } = sent;
  const own = method === "GET" || method === "HEAD" ? {} : OWN_PAGE;
  const headers = { ...own, ...(role !== null && { "x-role": role }), ...sent.headers };
  return new Request(`http://${host}${path}`, { method, headers, ...(body !== undefined && { body }) });
}

/** Status and code of a refusal. */
export async function problemOf(response: Response): Promise<[status: number, code: string]> {
  const { code } = (await response.json()) as { code: string };
  return [response.status, code];
}
