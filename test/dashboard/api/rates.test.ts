import { describe, expect, test } from "vitest";
import type { JobDetail, QueueDetail, RatesResponse } from "../../../src/dashboard/api/contract.ts";
import { open } from "../../api/support/instance.ts";
import { type Refusal, serve } from "../support/api.ts";

function scene() {
  const { jobs, clock } = open();
  const sync = jobs
    .define("sync", async (_args: { shop: string }) => {})
    .queue("api")
    .concurrency(0)
    .rate(500, "1m", { burst: 300, perKey: 2, by: (args) => args.shop });
  jobs.queue("api", { rate: { limit: 1000, per: "1h" } });
  jobs.queue("other", { rate: { limit: 5, per: "1s" } });
  jobs.define("free", () => {}).concurrency(0);
  const { viewer } = serve(jobs);
  const rates = async (query = "") => (await viewer.get<RatesResponse>(`/rates${query}`)).body;
  return { jobs, clock, sync, viewer, rates };
}

test("a job under a named limit shows its slots and its rate, which all its jobs share", async () => {
  const { jobs, viewer, rates } = scene();
  jobs.limit("openai", { concurrency: 20, rate: { limit: 600, per: "1m" } });
  const ask = jobs
    .define("ask", (_args: { tokens: number }) => {})
    .under("openai", { cost: ({ tokens }) => tokens });
  jobs.define("lost", () => {}).under("unknown");
  await ask.dispatch({ tokens: 250 });
  await jobs.run();
  expect((await viewer.get<JobDetail>("/jobs/ask")).body.under).toEqual({
    name: "openai",
    running: 0,
    limit: 20,
    words: "0 of 20 at once",
  });
  expect((await viewer.get<JobDetail>("/jobs/lost")).body.under).toMatchObject({
    name: "unknown",
    limit: null,
    words: "no process has defined it",
  });
  expect((await viewer.get<JobDetail>("/jobs/free")).body.under).toBeNull();
  const shared = { subject: "limit openai", words: "600 in 1 min", spent: 250, job: null, queue: null };
  expect((await rates("?job=ask")).items).toMatchObject([shared]);
  expect((await rates("?kind=limit")).items).toMatchObject([shared]);
  expect((await rates("?job=free")).items).toEqual([]);
});

describe("rates", () => {
  test("have their limit, what is spent, and when they open; closed keys come first", async () => {
    const { jobs, clock, sync, rates, viewer } = scene();
    await sync.dispatchMany(["a", "b", "b", "b", "c"].map((shop) => ({ shop })));
    await jobs.run();
    const opensAt = new Date(clock.now() + 60_000).toISOString();
    const ofJob = { job: "sync", key: null, queue: null, subject: "job sync" };
    const ofKeys = { job: "sync", queue: null, words: "2 in 1 min", limit: 2, per: 60_000, burst: null };
    const { items, capped } = await rates("?job=sync&queue=api");
    expect(capped).toBe(false);
    expect(items).toEqual([
      {
        ...ofJob,
        words: "500 in 1 min, burst 300",
        limit: 500,
        per: 60_000,
        burst: 300,
        spent: 4,
        opensAt: null,
        slowedUntil: null,
      },
      { ...ofKeys, key: "b", subject: "job sync, key b", spent: 2, opensAt, slowedUntil: null },
      { ...ofKeys, key: "a", subject: "job sync, key a", spent: 1, opensAt: null, slowedUntil: null },
      { ...ofKeys, key: "c", subject: "job sync, key c", spent: 1, opensAt: null, slowedUntil: null },
      {
        job: null,
        key: null,
        queue: "api",
        subject: "queue api",
        words: "1000 in 1 h",
        limit: 1000,
        per: 3_600_000,
        burst: null,
        spent: 4,
        opensAt: null,
        slowedUntil: null,
      },
    ]);
    const subjects = async (query: string) => (await rates(query)).items.map(({ subject }) => subject);
    expect(await subjects("?job=free")).toEqual([]);
    expect(await subjects("?kind=queue")).toEqual(["queue api", "queue other"]);
    expect(await subjects("?queue=other")).toEqual(["queue other"]);
    expect(await subjects("?kind=job")).toEqual(["job sync"]);
    expect((await viewer.get<JobDetail>("/jobs/sync")).body).toMatchObject({
      rate: "500 in 1 min, burst 300",
      keyRate: "2 in 1 min",
    });
    expect((await viewer.get<JobDetail>("/jobs/free")).body).toMatchObject({ rate: null, keyRate: null });
    expect((await viewer.get<QueueDetail>("/queues/api")).body.rate).toBe("1000 in 1 h");
    await clock.advance(61);
    expect((await rates("?job=sync")).items).toMatchObject([{ ...ofJob, spent: 0 }]);
  });

  test("of very many keys: the answer is bounded, and says so", async () => {
    const { jobs, sync, rates } = scene();
    await sync.dispatchMany(Array.from({ length: 250 }, (_, n) => ({ shop: `shop ${n}` })));
    await jobs.run({ batch: 250 });
    const { items, capped } = await rates("?job=sync");
    expect(items).toHaveLength(101);
    expect(capped).toBe(true);
    expect((await rates("?kind=queue")).capped).toBe(false);
  });

  test("of an unknown kind are refused", async () => {
    const { viewer } = scene();
    const { status, body }: Refusal = await viewer.get("/rates?kind=tenant");
    expect([status, body.detail]).toEqual([
      422,
      'Expected kind as one of job, key, queue, limit, got "tenant".',
    ]);
  });
});
