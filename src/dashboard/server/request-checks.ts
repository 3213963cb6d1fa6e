import { isFromElsewhere } from "./connection.ts";
import type { DashboardSettings } from "./options.ts";
import { HttpProblem } from "./problem.ts";
import type { Role, User } from "./route.ts";

/** Names of this machine, which no DNS entry of another domain can take. */
const LOCAL_NAMES = ["localhost", "*.localhost", "127.0.0.1", "[::1]"];

/** From the least to the most powerful. */
const ROLES: readonly Role[] = ["viewer", "operator", "admin"];

/** Throws 421 for a host that is not allowed: the page of a foreign site may have pointed its name here. */
export function checkHost(request: Request, { allowedHosts }: DashboardSettings): void {
  const host = hostOf(request);
  if (isAllowedHost(host, allowedHosts)) return;
  throw new HttpProblem({
    code: "HOST_NOT_ALLOWED",
    detail: `The dashboard does not answer for the host ${JSON.stringify(host)}.`,
    hint: "Add its name to allowedHosts, or to --allow-host of punctual dashboard.",
  });
}

/** Returns the user, or the response with which `auth` refuses the request. */
export async function authenticate(request: Request, settings: DashboardSettings): Promise<User | Response> {
  const { auth, readOnly } = settings;
  const found = auth === null ? developer(request, settings) : await auth(request);
  if (found instanceof Response) return found;
  if (found === null || found === undefined) {
    throw new HttpProblem({
      code: "UNAUTHENTICATED",
      detail: "The dashboard does not know who you are.",
      hint: "Sign in, then open the dashboard again.",
    });
  }
  const { user, role } = found;
  if (typeof user !== "string" || !ROLES.includes(role)) {
    throw new TypeError(
      `auth of dashboard() must return { user: string, role: "viewer" | "operator" | "admin" } or null, got ${JSON.stringify(found)}.`,
    );
  }
  return { name: user, role: readOnly ? "viewer" : role };
}

/** Returns the user of a dashboard without authentication. */
function developer(request: Request, { production }: DashboardSettings): { user: string; role: Role } {
  if (production) {
    throw new HttpProblem({
      code: "AUTH_NOT_CONFIGURED",
      detail: "The dashboard has no authentication, and NODE_ENV is production.",
      hint: 'Pass a function that returns the user: dashboard(jobs, { auth: (request) => ({ user: "ana", role: "operator" }) }).',
    });
  }
  if (isFromElsewhere(request)) {
    throw new HttpProblem({
      code: "AUTH_NOT_CONFIGURED",
      detail: "The dashboard has no authentication, and answers requests from its own machine only.",
      hint: 'Pass a function that returns the user: dashboard(jobs, { auth: (request) => ({ user: "ana", role: "operator" }) }).',
    });
  }
  return { user: "developer", role: "admin" };
}

export function checkRole(user: User, needed: Role): void {
  if (ROLES.indexOf(user.role) >= ROLES.indexOf(needed)) return;
  throw new HttpProblem({
    code: "ROLE_TOO_LOW",
    detail: `${user.name} is ${user.role} here; this needs ${needed}.`,
  });
}

/**
 * Throws 403 unless the request comes from the dashboard's own page or from a program. Browsers send `Sec-Fetch-Site`
 * to https and to localhost, and `Origin` with every write. A program sends neither, and proves with a bearer token
 * that no browser attached a cookie or a password on its own.
 */
export function checkOrigin(request: Request): void {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  const isOwn =
    site !== null
      ? site === "same-origin"
      : origin !== null
        ? hostOfOrigin(origin) === hostOf(request)
        : /^bearer\s/i.test(request.headers.get("authorization") ?? "");
  if (isOwn) return;
  throw new HttpProblem({
    code: "CROSS_SITE",
    detail: "The request does not come from the page of this dashboard.",
    hint: "A proxy must pass on the Host header. A program must send an authorization header with a bearer token.",
  });
}

function hostOfOrigin(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

/** Throws 415 for any other type than JSON: forms of foreign sites can send the others without asking. */
export function checkContentType(request: Request): void {
  const type = request.headers.get("content-type");
  if (type !== null && /^application\/json\s*(;|$)/i.test(type)) return;
  throw new HttpProblem({
    code: "NOT_JSON",
    detail: `Expected content-type application/json, got ${type === null ? "none" : JSON.stringify(type)}.`,
  });
}

/**
 * Most bytes of a body. A payload has at most 1 MiB by default, and doubles where all its characters are escaped as
 * text in JSON.
 */
const LARGEST_BODY = 4 * 1024 * 1024;

/** Returns the body as text. Throws 413 if it is too large. */
export async function readText(request: Request, most: number): Promise<string> {
  const tooLarge = () =>
    new HttpProblem({
      code: "BODY_TOO_LARGE",
      detail: `The body is larger than ${most} bytes.`,
      headers: { connection: "close" },
    });
  if (Number(request.headers.get("content-length") ?? 0) > most) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > most) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Reads and parses the body; undefined if it is empty. */
export async function readJson(request: Request): Promise<unknown> {
  const text = await readText(request, LARGEST_BODY);
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HttpProblem({
      code: "INVALID_JSON",
      detail: `The body is not JSON: ${(error as Error).message}.`,
    });
  }
}

/** Returns host and port that a request was sent to, as in its `Host` header. */
function hostOf(request: Request): string {
  return (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
}

/** Whether the name of a host, which may have a port, is local or in the list. */
function isAllowedHost(host: string, allowed: readonly string[]): boolean {
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "");
  return [...LOCAL_NAMES, ...allowed].some((pattern) => {
    if (pattern === "*" || pattern === name || pattern === host) return true;
    return pattern.startsWith("*.") && name.endsWith(pattern.slice(1)) && name.length > pattern.length - 1;
  });
}
