import { describe, expect, test } from "vitest";
import { createApi } from "../../../src/dashboard/api/api.ts";
import { dashboard } from "../../../src/dashboard/index.ts";
import { toSettings } from "../../../src/dashboard/server/options.ts";
import type { Role, Route } from "../../../src/dashboard/server/route.ts";
import { byHeader, problemOf, request, type Sent, serverWith, unopened } from "../support/server.ts";

/** Routes of a test, one for each role, so that the table of the checks is full whatever the API has. */
const ROLES: Role[] = ["viewer", "operator", "admin"];
const ownRoutes: Route[] = ROLES.flatMap((role) =>
  (["POST", "DELETE"] as const).map((method) => ({
    method,
    path: `/api/v1/test/:id/${role}` as const,
    role,
    handler: () => ({ body: { done: true } }),
  })),
);

const refused = {
  unknownUser: [401, "UNAUTHENTICATED"],
  role: [403, "ROLE_TOO_LOW"],
  crossSite: [403, "CROSS_SITE"],
  host: [421, "HOST_NOT_ALLOWED"],
  notJson: [415, "NOT_JSON"],
  tooLarge: [413, "BODY_TOO_LARGE"],
} as const;

/** The refusal of a write; null: it reaches its route. */
type Expected = readonly [number, string] | null;

function atLeast(needed: Role, role: Role): Expected {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed) ? null : refused.role;
}

const WITHOUT_SEC_FETCH = { "sec-fetch-site": "" };
const plainHttp = (headers: Record<string, string>): Sent => ({
  headers: { ...WITHOUT_SEC_FETCH, ...headers },
});

const cases: [name: string, sent: Sent, expected: (route: Route) => Expected][] = [
  ["nobody", { role: null }, () => refused.unknownUser],
  ["a viewer", { role: "viewer" }, ({ role }) => atLeast(role, "viewer")],
  ["an operator", { role: "operator" }, ({ role }) => atLeast(role, "operator")],
  ["an admin", {}, () => null],
  ["another site", { headers: { "sec-fetch-site": "cross-site" } }, () => refused.crossSite],
  ["another port of the host", { headers: { "sec-fetch-site": "same-site" } }, () => refused.crossSite],
  ["a typed address", { headers: { "sec-fetch-site": "none" } }, () => refused.crossSite],
  ["its own page on plain http", plainHttp({ origin: "http://localhost:4480" }), () => null],
  ["another page on plain http", plainHttp({ origin: "http://evil.example" }), () => refused.crossSite],
  ["another port on plain http", plainHttp({ origin: "http://localhost:3000" }), () => refused.crossSite],
  ["a sandboxed frame on plain http", plainHttp({ origin: "null" }), () => refused.crossSite],
  ["a program without a token", plainHttp({}), () => refused.crossSite],
  ["a program with a password", plainHttp({ authorization: "Basic YTpi" }), () => refused.crossSite],
  ["a program with a token", plainHttp({ authorization: "Bearer abc" }), () => null],
  [
    "a page of another site with a token",
    { headers: { "sec-fetch-site": "cross-site", authorization: "Bearer abc" } },
    () => refused.crossSite,
  ],
  ["another host name", { host: "evil.example" }, () => refused.host],
  ["a host name that begins like ours", { host: "localhost.evil.example" }, () => refused.host],
  ["a form", { headers: { "content-type": "application/x-www-form-urlencoded" } }, () => refused.notJson],
  ["a text", { headers: { "content-type": "text/plain" } }, () => refused.notJson],
  [
    "a type that begins like JSON",
    { headers: { "content-type": "application/jsonx" } },
    () => refused.notJson,
  ],
  ["JSON with its encoding", { headers: { "content-type": "application/json; charset=utf-8" } }, () => null],
];

/** A request of the case; a header that the case empties is not sent. */
function write(route: Route, sent: Sent): Request {
  const made = request(route.path.replaceAll(/:\w+/g, "1"), { ...sent, method: route.method, body: "{}" });
  for (const [name, value] of [...made.headers]) if (value === "") made.headers.delete(name);
  return made;
}

const api = createApi(unopened(), toSettings({}));
const apiWrites = api.routes.filter(({ method }) => method !== "GET");

const served = [
  { what: "a test", routes: ownRoutes, handle: (one: Request) => serverWith(ownRoutes).handle(one) },
  {
    what: "the API",
    routes: apiWrites,
    handle: dashboard(unopened(), { auth: byHeader, logger: false }),
  },
];

describe.each(served.filter(({ routes }) => routes.length > 0))("writes of $what", ({ routes, handle }) => {
  describe.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s",
    (_, route) => {
      test.each(cases)("from %s", async (_name, sent, expected) => {
        const wanted = expected(route);
        const response = await handle(write(route, sent));
        if (wanted) expect(await problemOf(response)).toEqual(wanted);
        // The route may refuse its arguments, but no check has refused the request.
        else expect([401, 403, 405, 413, 415, 421]).not.toContain(response.status);
      });

      test("a read-only dashboard has viewers only", async () => {
        const readOnly = serverWith([route], { readOnly: true });
        const response = await readOnly.handle(write(route, {}));
        if (route.role === "viewer") expect(response.status).not.toBe(403);
        else expect(await problemOf(response)).toEqual(refused.role);
      });
    },
  );
});

test("every route of the API that changes something needs an operator", () => {
  expect(apiWrites.filter(({ role }) => role === "viewer").map(({ path }) => path)).toEqual([]);
});

test("every read of the API needs a user", async () => {
  const handle = dashboard(unopened(), { auth: byHeader, logger: false });
  for (const { path } of api.routes.filter(({ method }) => method === "GET")) {
    const response = await handle(request(path.replaceAll(/:\w+/g, "1"), { role: null }));
    expect([path, ...(await problemOf(response))]).toEqual([path, 401, "UNAUTHENTICATED"]);
  }
});

describe("the order of the checks", () => {
  const [route] = ownRoutes.filter(({ role, method }) => role === "admin" && method === "POST");
  const server = serverWith([route!]);
  // Each request has the faults of all that follow, so that the first check alone decides.
  test.each<[Sent, readonly [number, string]]>([
    [{ host: "evil.example", role: null }, refused.host],
    [{ role: null, headers: { "sec-fetch-site": "cross-site" } }, refused.unknownUser],
    [{ role: "viewer", headers: { "sec-fetch-site": "cross-site" } }, refused.role],
    [{ headers: { "sec-fetch-site": "cross-site", "content-type": "text/plain" } }, refused.crossSite],
    [{ headers: { "content-type": "text/plain", "content-length": "99999999" } }, refused.notJson],
    [{ headers: { "content-length": "99999999" } }, refused.tooLarge],
  ])("%j", async (sent, expected) => {
    expect(await problemOf(await server.handle(write(route!, sent)))).toEqual(expected);
  });

  test("an unknown user does not learn which paths exist", async () => {
    const response = await server.handle(request("/api/v1/none", { role: null }));
    expect(await problemOf(response)).toEqual(refused.unknownUser);
  });
});

describe("a body", () => {
  const echo: Route = {
    method: "POST",
    path: "/api/v1/echo",
    role: "viewer",
    handler: ({ body }) => ({ body: { got: body === undefined ? "none" : body } }),
  };
  const server = serverWith([echo]);
  const post = (body?: string) =>
    server.handle(request("/api/v1/echo", { method: "POST", ...(body !== undefined && { body }) }));

  test("is parsed, and may be missing", async () => {
    expect(await (await post('{"a":[1]}')).json()).toEqual({ got: { a: [1] } });
    expect(await (await post()).json()).toEqual({ got: "none" });
  });

  test("that is not JSON is refused", async () => {
    expect(await problemOf(await post("{"))).toEqual([400, "INVALID_JSON"]);
  });

  test("that is longer than it says is cut off", async () => {
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent++;
        controller.enqueue(new Uint8Array(1024 * 1024).fill(32));
      },
    });
    const made = new Request("http://localhost/api/v1/echo", {
      method: "POST",
      headers: { "x-role": "admin", "sec-fetch-site": "same-origin", "content-type": "application/json" },
      body: endless,
      duplex: "half",
    });
    expect(await problemOf(await server.handle(made))).toEqual(refused.tooLarge);
    expect(sent).toBeLessThan(8);
  });
});

describe("allowed hosts", () => {
  const answered = async (host: string, allowedHosts: string[] = []) =>
    (await serverWith([], { allowedHosts }).handle(request("/api/v1/x", { host }))).status !== 421;

  test.each(["localhost", "localhost:3000", "app.localhost", "127.0.0.1:80", "[::1]:4480", "LOCALHOST"])(
    "%s is always allowed",
    async (host) => expect(await answered(host)).toBe(true),
  );

  test("others must be named", async () => {
    expect(await answered("jobs.example.com")).toBe(false);
    expect(await answered("jobs.example.com:8443", ["jobs.example.com"])).toBe(true);
    expect(await answered("a.b.example.com", ["*.example.com"])).toBe(true);
    expect(await answered("example.com", ["*.example.com"])).toBe(false);
    expect(await answered("notexample.com", ["*.example.com"])).toBe(false);
    expect(await answered("anything", ["*"])).toBe(true);
  });

  test("the Host header decides, not the URL that a framework made of it", async () => {
    const made = request("/api/v1/x", { headers: { host: "evil.example" } });
    // Request forbids the header; a server's adapter sets it.
    const headers = new Headers(made.headers);
    headers.set("host", "evil.example");
    Object.defineProperty(made, "headers", { value: headers });
    expect((await serverWith([]).handle(made)).status).toBe(421);
  });
});
