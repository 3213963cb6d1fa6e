import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../../scripts/openapi/document.ts";
import { createApi } from "../../../src/dashboard/api/api.ts";
import { Redaction } from "../../../src/run/redaction.ts";
import { heard, open, stopped } from "../../api/support/instance.ts";
import { eventually } from "../../support/eventually.ts";
import { serve } from "../support/api.ts";
import { document, faultsOf, operationOf, responseSchema } from "../support/schema.ts";

const settings = {
  redaction: new Redaction(),
  readOnly: false,
  allowedHosts: [],
  title: "",
  environment: null,
};

/** Routes that answer with something else than JSON of the contract. */
const OTHERS = ["GET /openapi.json", "GET /events"];

function routeKeys() {
  return createApi(open().jobs, settings).routes.map(({ method, path, role }) => ({
    key: `${method} ${path.slice("/api/v1".length)}`,
    role,
  }));
}

describe("the OpenAPI document", () => {
  test("is up to date: node scripts/bring.mjs scripts/openapi.ts", () => {
    expect(document).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
  });

  test("has every route with its role, and no other", () => {
    const routes = routeKeys().filter(({ key }) => key !== "GET /openapi.json");
    for (const { key, role } of routes) expect([key, operationOf(key)?.["x-role"]]).toEqual([key, role]);
    // Paths with a server of their own are beside the API: test/dashboard/server/probe.test.ts.
    const ofApi = Object.values(document.paths).filter((path) => !("servers" in path));
    const documented = ofApi.flatMap((path) => Object.keys(path));
    expect(documented).toHaveLength(routes.length);
  });

  test("is served", async () => {
    const { viewer } = serve(open().jobs);
    expect((await viewer.get("/openapi.json")).body).toEqual(document);
  });

  test("the validator of these tests finds faults", () => {
    const schema = responseSchema("GET /runs", 200)!;
    const empty = { items: [], next: null, bounded: true, count: { value: 1, capped: false } };
    expect(faultsOf(empty, schema)).toEqual([]);
    expect(faultsOf({ ...empty, next: "1" }, schema)).toHaveLength(1);
    expect(faultsOf({ ...empty, more: 1 }, schema)).toEqual(["$.more: unknown"]);
    expect(faultsOf({ ...empty, items: [{}] }, schema).length).toBeGreaterThan(10);
  });

  test("describes the responses of every route", async () => {
    const one = open();
    const { jobs, clock } = one;
    jobs
      .define("mail", async (args: { fail?: boolean }, run) => {
        run.progress(1, 3);
        run.log("line", { a: 1 });
        await jobs.dispatch("child");
        if (args.fail) throw new TypeError("no", { cause: new Error("deep") });
        return { ok: true };
      })
      .concurrency(0)
      .rate(1000, "1s")
      .daily();
    const child = jobs.define("child", () => {}).queue("other");
    const { admin } = serve(jobs);
    const failed = await jobs.dispatch("mail", { fail: true });
    await jobs.dispatch("mail", {});
    const work = jobs.forever();
    await heard(jobs, "worker.started");
    await eventually("the failure", async () => (await jobs.state(failed.id)) === "failed");
    await clock.advance(15);
    const schedule = (await jobs.schedules())[0]!.id;
    const batch = await jobs.batch("import").open().add(child).onFinish(child);
    const waiting = await jobs.dispatch("mail", {}).delay(3600);

    const seen = new Set<string>();
    const check = async (key: string, path: string, body?: unknown) => {
      const [method] = key.split(" ");
      const headers = { "content-type": "application/json" };
      const init = method === "GET" ? {} : { method, headers, body: JSON.stringify(body ?? {}) };
      const response = await admin.request(
        path,
        method === "DELETE" ? { method, headers } : (init as RequestInit),
      );
      const found = (await response.json()) as { id: string };
      const schema = responseSchema(key, response.status);
      expect([key, response.status, schema !== undefined, found]).toEqual([
        key,
        response.status,
        true,
        found,
      ]);
      expect([key, faultsOf(found, schema!)]).toEqual([key, []]);
      seen.add(key);
      return found;
    };
    const run = `/runs/${failed.id}`;
    await check("GET /meta", "/meta");
    await check("GET /overview", "/overview");
    await check("GET /trend", "/trend?over=6h&job=mail");
    await check("GET /runs", "/runs");
    await check("GET /runs/changes", `/runs/changes?ids=${failed.id}&newest=1`);
    await check("GET /runs/states", "/runs/states");
    await check("GET /runs/:id", run);
    await check("GET /runs/:id", `/runs/${waiting.id}`);
    await check("GET /runs/:id/logs", `${run}/logs`);
    await check("GET /runs/:id/payload", `${run}/payload?part=args`);
    await check("GET /runs/:id/children", `${run}/children`);
    await check("GET /batches", "/batches?show=unfinished");
    await check("GET /batches/changes", `/batches/changes?ids=${batch.id}&newest=${batch.id}`);
    await check("GET /batches/:id", `/batches/${batch.id}`);
    await check("POST /batches/:id/seal", `/batches/${batch.id}/seal`);
    await eventually("the end of the batch", async () => (await batch.status()).state === "finished");
    await check("POST /batches/:id/retry", `/batches/${batch.id}/retry`);
    const second = await jobs.batch("second").open();
    await check("POST /batches/:id/cancel", `/batches/${second.id}/cancel`);
    await check("GET /jobs", "/jobs");
    await check("GET /jobs/:name", "/jobs/mail");
    await check("GET /queues", "/queues");
    await check("GET /queues/:name", "/queues/other");
    await check("GET /rates", "/rates");
    await check("GET /schedules", "/schedules");
    await check("GET /schedules/:id", `/schedules/${schedule}`);
    await check("GET /failures", "/failures");
    await check("GET /workers", "/workers");
    await check("GET /values", "/values?field=job&prefix=m");
    await check("POST /runs/:id/retry", `${run}/retry`);
    await check("POST /runs/:id/cancel", `/runs/${waiting.id}/cancel`);
    await check("POST /runs/:id/rerun", `${run}/rerun`, { args: '{"a":1}' });
    await check("DELETE /runs/:id", `/runs/${waiting.id}`);
    await check("POST /jobs/:name/dispatch", "/jobs/child/dispatch", { value: 1 });
    await check("POST /jobs/:name/pause", "/jobs/child/pause", { reason: "x" });
    await check("GET /jobs/:name", "/jobs/child");
    await check("POST /jobs/:name/resume", "/jobs/child/resume");
    await check("POST /queues/:name/pause", "/queues/other/pause", { for: 60 });
    await check("GET /overview", "/overview");
    await check("POST /queues/:name/resume", "/queues/other/resume");
    await check("POST /schedules/:id/run", `/schedules/${schedule}/run`);
    await check("POST /schedules/:id/pause", `/schedules/${schedule}/pause`);
    await check("POST /schedules/:id/resume", `/schedules/${schedule}/resume`);
    const group = `/failures/${(await jobs.failures()).groups[0]!.fingerprint}`;
    await check("POST /failures/:fingerprint/mute", `${group}/mute`, { for: "1d", reason: "known" });
    await check("GET /failures", "/failures");
    await check("POST /failures/:fingerprint/unmute", `${group}/unmute`);
    const worker = `/workers/${(await jobs.workers())[0]!.id}`;
    await check("POST /workers/:worker/pause", `${worker}/pause`, { reason: "deployment" });
    await check("GET /workers", "/workers");
    await check("POST /workers/:worker/resume", `${worker}/resume`);
    await check("POST /workers/:worker/stop", `${worker}/stop`);
    await check("GET /audit", "/audit");
    const { id } = await check("POST /runs/bulk", "/runs/bulk", { action: "cancel", q: "job:child" });
    await check("GET /bulk/:id", `/bulk/${id}`);
    await check("POST /bulk/:id/stop", `/bulk/${id}/stop`);
    const all = routeKeys().map(({ key }) => key);
    expect(all.filter((key) => !seen.has(key) && !OTHERS.includes(key))).toEqual([]);
    await stopped(one);
    await work;
  });
});
