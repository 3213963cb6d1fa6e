import "reflect-metadata";
import { createServer } from "node:http";
import { connect } from "node:net";
import { Controller, Get, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import express from "express";
import fastify from "fastify";
import helmet from "helmet";
import { Hono } from "hono";
import Koa from "koa";
import { beforeAll, describe, expect, test } from "vitest";
import { ensurePage } from "../../../scripts/build-page.ts";
import { type Dashboard, toNodeHandler } from "../../../src/dashboard/index.ts";
import { closed, listening, type Probe, probeDashboard, serve } from "../support/served.ts";
import { byHeader, serverWith } from "../support/server.ts";

beforeAll(ensurePage);

interface Mounted {
  origin: string;
  stop(): Promise<void>;
}

const BASE = "/admin/jobs";

/** A Fetch handler on a server, as the servers of Hono, Bun and Deno call it. */
function serveFetch(fetch: (request: Request) => Response | Promise<Response>): Promise<Mounted> {
  const handler = async (request: Request) => fetch(request);
  return serve(toNodeHandler(Object.assign(handler, { basePath: "", close: async () => {} })));
}

/** Each framework, with the mount that its documentation shows. */
const frameworks: Record<string, (dashboard: Dashboard) => Promise<Mounted>> = {
  "node:http": (dashboard) => serve(toNodeHandler(dashboard)),

  Express: (dashboard) => {
    const app = express();
    app.use(BASE, toNodeHandler(dashboard));
    return serve(app);
  },

  "Express behind helmet and a body parser": (dashboard) => {
    const app = express();
    app.use(helmet(), express.json(), express.urlencoded({ extended: true }));
    app.use(BASE, toNodeHandler(dashboard));
    return serve(app);
  },

  "Express in a router": (dashboard) => {
    const router = express.Router();
    router.use("/jobs", toNodeHandler(dashboard));
    const app = express();
    app.use("/admin", router);
    return serve(app);
  },

  "Express without a path": (dashboard) => {
    const app = express();
    app.use(toNodeHandler(dashboard));
    app.get("/other", (_, response) => void response.send("of the app"));
    return serve(app);
  },

  Fastify: async (dashboard) => {
    const app = fastify();
    const handle = toNodeHandler(dashboard);
    const onRequest = (request: fastify.FastifyRequest, reply: fastify.FastifyReply) => {
      reply.hijack();
      return handle(request.raw, reply.raw);
    };
    for (const path of [BASE, `${BASE}/*`]) app.all(path, { onRequest }, async () => {});
    app.get("/other", () => "of the app");
    const origin = await app.listen({ port: 0, host: "127.0.0.1" });
    return { origin, stop: () => app.close() };
  },

  Koa: (dashboard) => {
    const app = new Koa();
    const handle = toNodeHandler(dashboard);
    app.use((context, next) => {
      if (!context.path.startsWith(BASE)) return next();
      context.respond = false;
      return handle(context.req, context.res);
    });
    app.use((context) => {
      context.body = "of the app";
    });
    return serve(app.callback());
  },

  Nest: async (dashboard) => {
    // Decorators as calls, because Node strips types only.
    class Other {
      get() {
        return "of the app";
      }
    }
    Get()(Other.prototype, "get", Object.getOwnPropertyDescriptor(Other.prototype, "get")!);
    Controller("other")(Other);
    class App {}
    Module({ controllers: [Other] })(App);
    const app = await NestFactory.create(App, { logger: false });
    app.use(BASE, toNodeHandler(dashboard));
    await app.listen(0, "127.0.0.1");
    return { origin: (await app.getUrl()).replace("[::1]", "127.0.0.1"), stop: () => app.close() };
  },

  "Hono with mount()": (dashboard) => {
    const app = new Hono();
    app.mount(BASE, dashboard, { replaceRequest: false });
    app.get("/other", (context) => context.text("of the app"));
    return serveFetch(app.fetch);
  },

  "Hono with all()": (dashboard) => {
    const app = new Hono();
    app.all(`${BASE}/*`, (context) => dashboard(context.req.raw));
    app.get("/other", (context) => context.text("of the app"));
    return serveFetch(app.fetch);
  },

  "route handlers of Next": (dashboard) => {
    // app/admin/jobs/[[...path]]/route.ts exports the handler under the name of each method, and Next passes
    // parameters.
    const routes: Record<string, Dashboard> = { GET: dashboard, POST: dashboard, DELETE: dashboard };
    return serveFetch((request) => {
      const context = { params: Promise.resolve({ path: ["runs"] }) };
      return routes[request.method]!(request, context);
    });
  },
};

/** Frameworks that report the path of the mount; the others get it as an option. */
const KNOWS_MOUNT = ["Express", "Express behind helmet and a body parser", "Express in a router", "Nest"];

describe.each(Object.entries(frameworks))("%s", (name, mount) => {
  async function mounted(use: (at: Mounted & Probe & { base: string }) => Promise<void>): Promise<void> {
    const probe = probeDashboard(KNOWS_MOUNT.includes(name) ? {} : { basePath: BASE });
    const at = await mount(probe.dashboard);
    try {
      await use({ ...at, ...probe, base: at.origin + BASE });
    } finally {
      await probe.dashboard.close();
      await at.stop();
    }
  }
  const admin = { "x-role": "admin" };

  test("serves the page and its files", () =>
    mounted(async ({ base }) => {
      for (const path of ["", "/", "/runs", "/runs/12?q=state:failed", "/jobs/a%2Fb%20c"]) {
        const page = await fetch(base + path, { headers: admin });
        expect([path, page.status]).toEqual([path, 200]);
        const html = await page.text();
        const urls = [...html.matchAll(/\s(?:src|href)="([^"]+)"/g)].map(
          ([, url]) => new URL(url!, page.url),
        );
        expect(urls.length).toBeGreaterThanOrEqual(3);
        for (const url of urls) {
          expect(url.pathname.startsWith(`${BASE}/assets/`)).toBe(true);
          expect((await fetch(url, { headers: admin })).status).toBe(200);
        }
        const { root } = JSON.parse(/id="bootstrap">([^<]*)</.exec(html)![1]!) as { root: string };
        expect(new URL(root, page.url).href).toBe(`${base}/`);
      }
    }));

  test("keeps the dashboard's security headers", () =>
    mounted(async ({ base }) => {
      const { headers } = await fetch(`${base}/`, { headers: admin });
      expect(headers.get("content-security-policy")).toMatch(
        /^default-src 'none'; .*require-trusted-types-for/,
      );
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
    }));

  test("passes body, name and user to the route", () =>
    mounted(async ({ base, origin }) => {
      const response = await fetch(`${base}/api/v1/echo/${encodeURIComponent("a/b c.d")}`, {
        method: "POST",
        headers: { ...admin, "content-type": "application/json", origin },
        body: JSON.stringify({ text: "ä".repeat(50_000) }),
      });
      expect(response.status).toBe(201);
      expect(await response.json()).toEqual({
        name: "a/b c.d",
        body: { text: "ä".repeat(50_000) },
        user: { name: "the admin", role: "admin" },
      });
    }));

  test("refuses who is unknown, another site, and a form", () =>
    mounted(async ({ base, origin }) => {
      const post = async (headers: Record<string, string>, body = "{}") =>
        (await fetch(`${base}/api/v1/echo/x`, { method: "POST", headers, body })).status;
      const json = { "content-type": "application/json", origin };
      expect(await post(json)).toBe(401);
      expect(await post({ ...json, "x-role": "viewer" })).toBe(403);
      expect(await post({ ...json, ...admin, origin: "http://evil.example" })).toBe(403);
      const form = { ...json, "content-type": "application/x-www-form-urlencoded" };
      expect(await post({ ...form, ...admin }, "a=b")).toBe(415);
    }));

  test("streams, and tells the route when the client has gone", () =>
    mounted(async ({ base, aborted }) => {
      const client = new AbortController();
      const response = await fetch(`${base}/api/v1/stream`, { headers: admin, signal: client.signal });
      const { value } = await response.body!.getReader().read();
      expect(new TextDecoder().decode(value)).toBe("data: first\n\n");
      client.abort();
      await aborted;
    }));

  test("tells a route that has not answered yet when the client has gone", () =>
    mounted(async ({ base, aborted, reached }) => {
      const client = new AbortController();
      const answer = fetch(`${base}/api/v1/silent`, { headers: admin, signal: client.signal });
      await reached;
      client.abort();
      await expect(answer).rejects.toThrow();
      await aborted;
    }));

  test("ends its streams when it closes", () =>
    mounted(async ({ base, dashboard, aborted }) => {
      const response = await fetch(`${base}/api/v1/stream`, { headers: admin });
      const text = response.text();
      await dashboard.close();
      await aborted;
      expect(await text).toBe("data: first\n\n");
    }));
});

test.each(["Express without a path", "Fastify", "Koa", "Nest", "Hono with mount()", "Hono with all()"])(
  "%s leaves other paths to the app",
  async (name) => {
    const { dashboard } = probeDashboard({ basePath: BASE });
    const { origin, stop } = await frameworks[name]!(dashboard);
    try {
      expect(await (await fetch(`${origin}/other`)).text()).toBe("of the app");
    } finally {
      await stop();
    }
  },
);

test("Hono's mount() may also remove the path, if the address ends with a slash", async () => {
  const { dashboard } = probeDashboard({ basePath: BASE, auth: byHeader });
  const app = new Hono();
  app.mount(BASE, dashboard);
  const page = await app.request(`${BASE}/runs/12`, { headers: { "x-role": "admin", host: "localhost" } });
  expect(await page.text()).toContain('src="../assets/');
});

describe("without authentication", () => {
  test("a socket from another machine is refused, whatever host it names", async () => {
    const { dashboard } = probeDashboard({ auth: undefined });
    const handle = toNodeHandler(dashboard);
    const { origin, stop } = await serve((request, response) => {
      // A client of another machine, as its socket would show it.
      Object.defineProperty(request.socket, "remoteAddress", { value: "192.0.2.7" });
      void handle(request, response);
    });
    try {
      const response = await fetch(`${origin}/api/v1/stream`);
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
        403,
        "AUTH_NOT_CONFIGURED",
      ]);
    } finally {
      await stop();
    }
  });
});

describe("a request that is not well-formed", () => {
  test.each([
    ["//evil.example/runs", 200],
    ["/%", 200],
    ["/api/v1/echo/%", 400],
  ])("%s is answered", async (path, status) => {
    const { dashboard } = probeDashboard();
    const { origin, stop } = await serve(toNodeHandler(dashboard));
    try {
      const method = status === 400 ? "POST" : "GET";
      expect((await rawRequest(new URL(origin).port, `${method} ${path} HTTP/1.1`)).status).toBe(status);
    } finally {
      await stop();
    }
  });

  test("a wrong host is answered with 400 or refused", async () => {
    const { dashboard } = probeDashboard();
    const { origin, stop } = await serve(toNodeHandler(dashboard));
    try {
      const answer = await rawRequest(new URL(origin).port, "GET / HTTP/1.1", "a b");
      expect(answer.status).toBe(400);
    } finally {
      await stop();
    }
  });
});

/** Sends a request byte by byte as given: fetch() would correct it. */
async function rawRequest(port: string, line: string, host = "localhost"): Promise<{ status: number }> {
  const socket = connect(Number(port), "127.0.0.1");
  const headers = "x-role: admin\r\nsec-fetch-site: same-origin\r\ncontent-type: application/json";
  socket.write(`${line}\r\nHost: ${host}\r\n${headers}\r\nConnection: close\r\n\r\n`);
  let text = "";
  for await (const chunk of socket) text += chunk;
  return { status: Number(text.split(" ")[1]) };
}

test("a slow reader slows the source of a stream down", async () => {
  let pulled = 0;
  const routed = serverWith([
    {
      method: "GET",
      path: "/api/v1/endless",
      role: "viewer",
      handler: () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              pulled++;
              controller.enqueue(new Uint8Array(64 * 1024));
            },
          }),
        ),
    },
  ]);
  const dashboard = Object.assign((request: Request) => routed.handle(request), {
    basePath: "",
    close: () => routed.close(),
  });
  const server = createServer(toNodeHandler(dashboard));
  const origin = await listening(server);
  try {
    const socket = connect(Number(new URL(origin).port), "127.0.0.1");
    socket.write("GET /api/v1/endless HTTP/1.1\r\nHost: localhost\r\nx-role: admin\r\n\r\n");
    await new Promise((resolve) => socket.once("readable", resolve));
    // Nobody reads on: the buffers of both sockets fill, and then nothing more is pulled.
    let before = -1;
    while (pulled !== before) {
      before = pulled;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(pulled).toBeLessThan(1000);
    socket.destroy();
  } finally {
    await server.close();
    await closed(server);
  }
});
