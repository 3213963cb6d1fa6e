import { describe, expect, onTestFinished, test } from "vitest";
import { dashboard, startDashboard } from "../../../src/dashboard/index.ts";
import { Punctual } from "../../../src/index.ts";
import { open } from "../../api/support/instance.ts";
import { byHeader, request, unopened } from "../support/server.ts";

const TOKEN = "a token of a test 123";

async function answerOf(response: Promise<Response>) {
  const answer = await response;
  return { status: answer.status, type: answer.headers.get("content-type"), body: await answer.text() };
}

const TEXT = "text/plain; charset=utf-8";

describe("/healthz and /readyz", () => {
  test("answer without a user and under any host name, below the mount", async () => {
    const { jobs } = open();
    const host = dashboard(jobs, { basePath: "/admin/jobs", logger: false, auth: byHeader });
    const ok = { status: 200, type: TEXT, body: "ok\n" };
    for (const name of ["healthz", "readyz"]) {
      const sent = { role: null, host: "10.1.2.3:4480" };
      expect(await answerOf(host(request(`/admin/jobs/${name}`, sent)))).toEqual(ok);
      const head = await host(request(`/admin/jobs/${name}`, { ...sent, method: "HEAD" }));
      expect([head.status, await head.text()]).toEqual([200, ""]);
      expect(head.headers.get("cache-control")).toBe("no-store");
      const post = await host(request(`/admin/jobs/${name}`, { ...sent, method: "POST" }));
      expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    }
    await host.close();
    expect((await host(request("/admin/jobs/healthz"))).status).toBe(503);
  });

  test("a process whose database lacks the tables is healthy and not ready, and does not say why", async () => {
    const { jobs } = open({ install: false });
    const host = dashboard(jobs, { logger: false, auth: byHeader });
    expect((await host(request("/healthz", { role: null }))).status).toBe(200);
    expect(await answerOf(host(request("/readyz", { role: null })))).toEqual({
      status: 503,
      type: TEXT,
      body: "not ready: punctual doctor says why\n",
    });
  });

  test("neither opens the database for the health, nor names the host that does not answer", async () => {
    const jobs = new Punctual("postgres://user:geheim@127.0.0.1:1/none", { logger: false });
    onTestFinished(() => jobs.stop());
    const host = dashboard(jobs, { logger: false, auth: byHeader });
    expect((await host(request("/healthz", { role: null }))).status).toBe(200);
    const { status, body } = await answerOf(host(request("/readyz", { role: null })));
    expect([status, body]).toEqual([503, expect.not.stringMatching(/127|geheim|none/)]);
  });
});

describe("/metrics", () => {
  test("needs a user and an allowed host, and any role will do", async () => {
    const { jobs } = open();
    const host = dashboard(jobs, { logger: false, auth: byHeader });
    expect((await host(request("/metrics", { role: null }))).status).toBe(401);
    expect((await host(request("/metrics", { host: "evil.example" }))).status).toBe(421);
    expect((await host(request("/metrics", { method: "POST", body: "{}" }))).status).toBe(405);
    const { status, type } = await answerOf(host(request("/metrics", { role: "viewer" })));
    expect([status, type]).toEqual([200, expect.stringContaining("text/plain")]);
  });

  test("has the gauges of the database and of the process, and no counters of attempts", async () => {
    const { jobs } = open();
    jobs.schedule("report", () => {}).queue("slow");
    await jobs.dispatch("report");
    const host = dashboard(jobs, { logger: false, auth: byHeader });
    const { body } = await answerOf(host(request("/metrics", { role: "viewer" })));
    expect(body).toMatch(/^punctual_database_up 1$/m);
    expect(body).toMatch(/^punctual_queue_depth\{queue="slow",state="ready"\} 1$/m);
    expect(body).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect(body).not.toMatch(/punctual_attempts_total|punctual_event_loop_lag/);
    await jobs.run();
  });

  test("on a port of its own takes the token as a bearer", async () => {
    const served = await startDashboard(unopened(), { port: 0, logger: false, token: TOKEN });
    onTestFinished(() => served.stop());
    const get = (path: string, headers: Record<string, string> = {}) => fetch(served.url + path, { headers });
    expect((await get("healthz")).status).toBe(200);
    expect((await get("metrics")).status).toBe(401);
    expect((await get("metrics", { authorization: "Bearer wrong" })).status).toBe(401);
    const right = await get("metrics", { authorization: `Bearer ${TOKEN}` });
    expect([right.status, await right.text()]).toEqual([200, expect.stringContaining("punctual_build_info")]);
  });
});
