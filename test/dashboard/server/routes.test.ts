import { describe, expect, test } from "vitest";
import { dashboard } from "../../../src/dashboard/index.ts";
import { HttpProblem } from "../../../src/dashboard/server/problem.ts";
import type { Route, RouteContext } from "../../../src/dashboard/server/route.ts";
import { PunctualError } from "../../../src/index.ts";
import { byHeader, problemOf, request, serverWith, unopened } from "../support/server.ts";

const route = (path: string, handler: Route["handler"], method: Route["method"] = "GET"): Route => ({
  method,
  path: `/api/v1/${path}`,
  role: "viewer",
  handler,
});

describe("a path", () => {
  const show = ({ params, query }: RouteContext) => ({ body: { params, query: [...query] } });
  const server = serverWith([
    route("jobs/:name", show),
    route("jobs/:name/pause", show, "POST"),
    route("runs/:id", show),
    route("runs/changes", () => ({ body: "fixed" })),
    route("runs/:id/logs", show),
  ]);
  const get = async (path: string) => (await server.handle(request(`/api/v1/${path}`))).json();

  test.each(["a/b", "a.b", "a b", "ä & ö", "a%2Fb", "..a", ":name", "50%", "a?b#c"])(
    "may contain the name %j",
    async (name) => {
      expect(await get(`jobs/${encodeURIComponent(name)}?x=1`)).toEqual({
        params: { name },
        query: [["x", "1"]],
      });
    },
  );

  test("with a fixed segment wins over one with a parameter", async () => {
    expect(await get("runs/changes")).toBe("fixed");
    expect(await get("runs/12")).toMatchObject({ params: { id: "12" } });
  });

  test.each([
    ["nothing", 404, "NO_ROUTE"],
    ["runs/", 404, "NO_ROUTE"],
    ["runs/1/logs/2", 404, "NO_ROUTE"],
    ["jobs/%E0%A4%A", 400, "INVALID_PATH"],
  ])("%s is refused", async (path, status, code) => {
    expect(await problemOf(await server.handle(request(`/api/v1/${path}`)))).toEqual([status, code]);
  });

  test("has its methods in Allow", async () => {
    const response = await server.handle(request("/api/v1/jobs/a/pause"));
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    const other = await server.handle(request("/api/v1/jobs/a", { method: "POST" }));
    expect([other.status, other.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    const options = await server.handle(request("/api/v1/jobs/a", { method: "OPTIONS" }));
    expect([options.status, options.headers.get("access-control-allow-origin")]).toEqual([405, null]);
  });

  test("answers HEAD without a body", async () => {
    const response = await server.handle(request("/api/v1/runs/12", { method: "HEAD" }));
    expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([
      200,
      "33",
      "",
    ]);
  });
});

describe("an error of a route", () => {
  const failing = (error: unknown) =>
    serverWith([
      route("fail", () => {
        throw error;
      }),
    ]).handle(request("/api/v1/fail"));

  test.each([
    ["NOT_INSTALLED", 503],
    ["DATABASE_UNAVAILABLE", 503],
    ["RUN_NOT_FOUND", 404],
    ["UNKNOWN_JOB", 404],
    ["INVALID_QUERY", 422],
    ["RUN_FINISHED", 409],
    ["LEASE_LOST", 500],
  ] as const)("%s has the status %i", async (code, status) => {
    const response = await failing(new PunctualError(code, "It did not work."));
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({
      type: "about:blank",
      status,
      code,
      detail: "It did not work.",
    });
  });

  test("has a hint, or null", async () => {
    expect(await (await failing(new PunctualError("NOT_INSTALLED", "No tables."))).json()).toMatchObject({
      title: "Service Unavailable",
      hint: "Create the tables: punctual install",
    });
    expect(await (await failing(new HttpProblem({ code: "CROSS_SITE", detail: "No." }))).json()).toEqual({
      type: "about:blank",
      title: "Forbidden",
      status: 403,
      code: "CROSS_SITE",
      detail: "No.",
      hint: null,
    });
  });

  test("that is not known is logged and not sent", async () => {
    const logged: string[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (line: string) => void logged.push(line) };
    const server = serverWith(
      [
        route("fail", () => {
          throw new Error("password hunter2");
        }),
      ],
      { logger },
    );
    const response = await server.handle(request("/api/v1/fail"));
    const text = await response.text();
    expect([response.status, text.includes("hunter2")]).toEqual([500, false]);
    expect(logged.join()).toContain("hunter2");
  });
});

describe("authentication", () => {
  const path = "/api/v1/none";

  test.each([
    ["throws", () => Promise.reject(new Error("no session store"))],
    ["returns an unknown role", () => ({ user: "eve", role: "root" })],
    ["returns no name", () => ({ role: "admin" })],
  ])("that %s lets nobody in", async (_, auth) => {
    const response = await serverWith([], { auth: auth as never }).handle(request(path));
    expect(await problemOf(response)).toEqual([500, "INTERNAL"]);
  });

  test("that returns undefined lets nobody in", async () => {
    const response = await serverWith([], { auth: (() => undefined) as never }).handle(request(path));
    expect(response.status).toBe(401);
  });

  test("may send a response of its own", async () => {
    const auth = () => Response.redirect("http://localhost/login", 302);
    const response = await serverWith([], { auth }).handle(request("/"));
    expect([response.status, response.headers.get("location")]).toEqual([302, "http://localhost/login"]);
  });

  test("is needed for the page and its files too", async () => {
    for (const page of ["/", "/runs", "/assets/index.js", "/index.html"]) {
      const response = await serverWith([]).handle(request(page, { role: null }));
      expect([page, response.status]).toEqual([page, 401]);
    }
  });
});

describe("without authentication", () => {
  const { NODE_ENV } = process.env;
  const answer = async (env: string, headers: Record<string, string> = {}, path = "/api/v1/none") => {
    process.env.NODE_ENV = env;
    try {
      return await dashboard(unopened(), { logger: false })(request(path, { role: null, headers }));
    } finally {
      process.env.NODE_ENV = NODE_ENV;
    }
  };

  test("in production every request is refused with what to do", async () => {
    for (const path of ["/", "/runs", "/assets/index.js", "/api/v1/none", "/api/v1/runs"]) {
      const response = await answer("production", {}, path);
      expect([path, response.status]).toEqual([path, 403]);
      expect(await response.text()).toContain("dashboard(jobs, { auth:");
    }
  });

  test("in development requests of this machine are answered", async () => {
    expect(await problemOf(await answer("development"))).toEqual([404, "NO_ROUTE"]);
    const loopback = { "x-forwarded-for": "::1, 127.0.0.1, ::ffff:127.0.0.1" };
    expect(await problemOf(await answer("development", loopback))).toEqual([404, "NO_ROUTE"]);
  });

  test.each([
    { "x-forwarded-for": "10.0.0.7" },
    { "x-forwarded-for": "10.0.0.7, 127.0.0.1" },
    { "x-forwarded-for": "unknown" },
    { forwarded: "for=127.0.0.1" },
  ])("in development %j comes from elsewhere", async (headers) => {
    expect(await problemOf(await answer("development", headers))).toEqual([403, "AUTH_NOT_CONFIGURED"]);
  });
});

test("every response has the security headers", async () => {
  const server = serverWith([
    route("json", () => ({ body: 1 })),
    route("stream", () => new Response("data", { headers: { "content-security-policy": "default-src *" } })),
    route("fail", () => {
      throw new Error("broken");
    }),
  ]);
  const paths = ["json", "stream", "fail", "none"].map((path) => `/api/v1/${path}`);
  for (const path of [...paths, "/", "/assets/none.js"]) {
    for (const role of ["admin", null] as const) {
      const { headers } = await server.handle(request(path, { role }));
      expect([path, Object.fromEntries(headers)]).toEqual([
        path,
        expect.objectContaining({
          "content-security-policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
          "cross-origin-opener-policy": "same-origin",
          "cross-origin-resource-policy": "same-origin",
          "x-robots-tag": "noindex",
          "cache-control": "no-store",
        }),
      ]);
    }
  }
});

test("options are checked", () => {
  const jobs = unopened();
  expect(() => dashboard(jobs, { basepath: "/x" } as never)).toThrow('Did you mean "basePath"?');
  expect(() => dashboard(jobs, { basePath: "jobs" })).toThrow("such as");
  expect(() => dashboard(jobs, { basePath: "/a//b" })).toThrow("such as");
  expect(() => dashboard(jobs, { auth: "yes" as never })).toThrow("expected a function");
  expect(() => dashboard(jobs, { allowedHosts: "x" as never })).toThrow("list of texts");
  expect(dashboard(jobs, { basePath: "/a/b/" }).basePath).toBe("/a/b");
});

test("a closed dashboard answers 503", async () => {
  const closed = dashboard(unopened(), { auth: byHeader });
  await closed.close();
  expect(await problemOf(await closed(request("/api/v1/none")))).toEqual([503, "CLOSED"]);
});
