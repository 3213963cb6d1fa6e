import { expect, test } from "vitest";
import type {
  AuditEntry,
  BulkOperation,
  DispatchResult,
  FailuresResponse,
  JobDetail,
  Overview,
  Page,
  Problem,
  QueueDetail,
  RunDetail,
  RunsResponse,
} from "../../src/dashboard/api/contract.ts";
import { serve } from "../dashboard/support/api.ts";
import { listen } from "../dashboard/support/stream.ts";
import { eventually } from "../support/eventually.ts";
import { behindProxy } from "./support/behind-proxy.ts";
import { onEachServer } from "./support/kinds.ts";

onEachServer((kind) => {
  const at = behindProxy(kind);

  test("an outage is 503 in the dashboard's API, also if the process has never reached the server", {
    timeout: 120_000,
  }, async () => {
    const known = at.scene.punctual();
    const { viewer } = serve(known);
    expect((await viewer.get("/workers")).status).toBe(200);
    // A dashboard of its own: the samples of a stream are answers to other requests for a second.
    const stream = await listen(serve(known).viewer);
    await stream.next("overview");
    at.proxy.refuse();
    const late = serve(at.scene.punctual());
    const paths = ["/runs", "/overview", "/failures", "/queues"];
    const answers = await Promise.all(
      [viewer, late.viewer].flatMap((client) => paths.map((path) => client.get<Problem>(path))),
    );
    for (const { status, body, headers } of answers) {
      expect([status, body.code]).toEqual([503, "DATABASE_UNAVAILABLE"]);
      expect(headers.get("content-type")).toBe("application/problem+json");
    }
    expect((await stream.next("database")).data).toMatchObject({ available: false });
    at.proxy.resume();
    expect((await viewer.get("/runs")).status).toBe(200);
    expect((await late.viewer.get("/overview")).status).toBe(200);
    expect((await stream.next("database", 1)).data).toMatchObject({ available: true, detail: null });
    await stream.close();
  });

  test("lists and actions of the dashboard's API answer as on SQLite", { timeout: 120_000 }, async () => {
    const jobs = at.scene.punctual();
    jobs
      .define("mail", (args: { n: number }) => {
        if (args.n > 1) throw new TypeError(`no ${args.n}`);
      })
      .concurrency(0);
    const { viewer, operator, admin } = serve(jobs);
    for (const n of [1, 2, 3]) {
      const { status } = await operator.post<DispatchResult>("/jobs/mail/dispatch", {
        value: { n },
        tags: ["t"],
      });
      expect(status).toBe(201);
    }
    await jobs.run();
    const list = (await viewer.get<RunsResponse>("/runs?q=tag:t%20state:failed")).body;
    expect(list.count).toEqual({ value: 2, capped: false });
    const { id } = list.items[0]!;
    expect((await viewer.get<RunDetail>(`/runs/${id}`)).body).toMatchObject({
      state: "failed",
      failure: { name: "TypeError", message: "no 3" },
      args: { json: '{"n":3}' },
      actions: [],
    });
    const { tiles } = (await viewer.get<Overview>("/overview")).body;
    expect(tiles.failed).toMatchObject({ runs: { value: 2 }, attempts: 2, jobs: 1 });
    expect((await viewer.get<JobDetail>("/jobs/mail")).body.last24h).toMatchObject({ failed: 2 });
    expect((await viewer.get<FailuresResponse>("/failures")).body.items).toHaveLength(1);

    expect((await operator.post(`/runs/${id}/retry`)).status).toBe(200);
    expect((await operator.post<Problem>(`/runs/${id}/retry`)).body.code).toBe("RUN_CLAIMED");
    expect((await operator.post("/queues/default/pause", { reason: "later" })).status).toBe(200);
    expect((await viewer.get<QueueDetail>("/queues/default")).body.pause).toMatchObject({ reason: "later" });
    expect((await operator.post("/queues/default/resume")).status).toBe(200);
    const bulk = await operator.post<BulkOperation>("/runs/bulk", { action: "retry", q: "job:mail" });
    expect(bulk.status).toBe(202);
    const result = await eventually("the end of the operation", async () => {
      const { body } = await viewer.get<BulkOperation>(`/bulk/${bulk.body.id}`);
      return body.state !== "running" && body;
    });
    expect(result).toMatchObject({ state: "finished", done: 1, requested: 0, skipped: {} });
    expect((await operator.post(`/runs/${id}/cancel`)).status).toBe(200);
    expect((await admin.delete(`/runs/${id}`)).status).toBe(200);
    expect((await viewer.get<Problem>(`/runs/${id}`)).body.code).toBe("RUN_NOT_FOUND");
    const { items } = (await viewer.get<Page<AuditEntry>>("/audit")).body;
    expect(items.slice(0, 3).map(({ action, summary }) => [action, summary])).toEqual([
      ["run.delete", "job mail, state cancelled"],
      ["run.cancel", "effect cancelled"],
      ["runs.retry", "finished, 1 done"],
    ]);
  });
});
