import { beforeAll, describe, expect, test } from "vitest";
import { ensurePage } from "../../../scripts/build-page.ts";
import { startDashboard, toNodeHandler } from "../../../src/dashboard/index.ts";
import { PREFIX, proxy } from "../support/proxy.ts";
import { probeDashboard, serve } from "../support/served.ts";
import { unopened } from "../support/server.ts";

beforeAll(ensurePage);

const kinds = [true, false].flatMap((strips) => [true, false].map((keepsHost) => ({ strips, keepsHost })));

describe.each(kinds)("behind a proxy with %j", (kind) => {
  test("the page finds its files, its API and its streams", async () => {
    // A proxy that strips the prefix hides it altogether.
    const { dashboard, aborted } = probeDashboard({ basePath: kind.strips ? "" : PREFIX });
    const upstream = await serve(toNodeHandler(dashboard));
    const { origin, stop } = await proxy(upstream.origin, kind);
    const headers = { "x-role": "admin" };
    try {
      for (const path of ["/", "/runs", "/runs/12", "/jobs/a%20b"]) {
        const page = await fetch(origin + PREFIX + path, { headers });
        expect([path, page.status]).toEqual([path, 200]);
        const html = await page.text();
        for (const [, url] of html.matchAll(/\s(?:src|href)="([^"]+)"/g)) {
          expect((await fetch(new URL(url!, page.url), { headers })).status).toBe(200);
        }
        const { root } = JSON.parse(/id="bootstrap">([^<]*)</.exec(html)![1]!) as { root: string };
        const api = new URL(`${root}api/v1/`, page.url);
        expect(api.pathname).toBe(`${PREFIX}/api/v1/`);
        const write = await fetch(new URL("echo/x", api), {
          method: "POST",
          headers: { ...headers, "content-type": "application/json", "sec-fetch-site": "same-origin" },
          body: "[1]",
        });
        expect(await write.json()).toMatchObject({ name: "x", body: [1] });
      }
      const client = new AbortController();
      const stream = await fetch(`${origin}${PREFIX}/api/v1/stream`, { headers, signal: client.signal });
      expect((await stream.body!.getReader().read()).done).toBe(false);
      client.abort();
      await aborted;
    } finally {
      await stop();
      await upstream.stop();
    }
  });

  test("a browser that sends no Sec-Fetch-Site needs a proxy that passes the host on", async () => {
    const { dashboard } = probeDashboard({ basePath: PREFIX });
    const upstream = await serve(toNodeHandler(dashboard));
    const { origin, stop } = await proxy(upstream.origin, kind);
    try {
      const { status } = await fetch(`${origin}${PREFIX}/api/v1/echo/x`, {
        method: "POST",
        headers: { "x-role": "admin", "content-type": "application/json", origin },
        body: "[1]",
      });
      expect(status).toBe(kind.keepsHost ? 201 : 403);
    } finally {
      await stop();
      await upstream.stop();
    }
  });

  test("the token of the command signs a browser in", async () => {
    const started = await startDashboard(unopened(), { port: 0, basePath: PREFIX, logger: false });
    const { origin, stop } = await proxy(new URL(started.url).origin, kind);
    try {
      const address = started.signInUrl.replace(new URL(started.url).origin, origin);
      const signedIn = await fetch(address, { redirect: "manual" });
      expect(signedIn.status).toBe(303);
      const [cookie, ...attributes] = signedIn.headers.getSetCookie()[0]!.split("; ");
      expect(attributes).toEqual(["HttpOnly", "SameSite=Strict", `Path=${PREFIX}`]);
      const next = new URL(signedIn.headers.get("location")!, address);
      expect(next.href).toBe(`${origin}${PREFIX}/`);
      expect((await fetch(next, { headers: { cookie: cookie! } })).status).toBe(200);
    } finally {
      await stop();
      await started.stop();
    }
  });
});

test("a dashboard without authentication does not take the clients of a proxy for this machine", async () => {
  const { dashboard } = probeDashboard({ auth: undefined });
  const upstream = await serve(toNodeHandler(dashboard));
  const { origin, stop } = await proxy(upstream.origin, { strips: true, keepsHost: false });
  try {
    expect((await fetch(`${origin}${PREFIX}/`)).status).toBe(403);
  } finally {
    await stop();
    await upstream.stop();
  }
});
