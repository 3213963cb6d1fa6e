import { describe, expect, test } from "vitest";
import type { BulkOperation, Overview, Problem } from "../../../src/dashboard/api/contract.ts";
import type { Punctual } from "../../../src/index.ts";
import { PunctualError } from "../../../src/index.ts";
import { open } from "../../api/support/instance.ts";
import { eventually } from "../../support/eventually.ts";
import { serve } from "../support/api.ts";
import { listen } from "../support/stream.ts";

/** Counts the statuses that the instance reads. */
function countReads(jobs: Punctual): { count: number } {
  const reads = { count: 0 };
  const status = jobs.status.bind(jobs);
  jobs.status = () => {
    reads.count++;
    return status();
  };
  return reads;
}

function scene() {
  const one = open();
  one.jobs.define("mail", () => {}).concurrency(0);
  // The tests count and replace the reads of the instance itself.
  one.jobs.reading = () => one.jobs as never;
  return { ...one, ...serve(one.jobs) };
}

describe("GET /events", () => {
  test("sends the overview at once, and again only when it has changed", async () => {
    const { jobs, clock, viewer } = scene();
    const stream = await listen(viewer);
    expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
    expect(stream.response.headers.get("x-accel-buffering")).toBe("no");
    expect(stream.response.headers.get("cache-control")).toContain("no-store");
    const first = (await stream.next("overview")).data as Overview;
    await clock.advance(10);
    expect(stream.events).toHaveLength(1);
    await jobs.dispatch("mail");
    await clock.advance(2);
    const second = (await stream.next("overview", 1)).data as Overview;
    expect(second.tiles.waiting.ready.value).toBe(1);
    expect(second.version).not.toBe(first.version);
  });

  test("any number of clients and requests cost one read every two seconds", async () => {
    const { jobs, clock, viewer } = scene();
    const reads = countReads(jobs);
    const streams = await Promise.all(Array.from({ length: 20 }, () => listen(viewer)));
    for (const stream of streams) await stream.next("overview");
    expect(reads.count).toBe(1);
    await clock.advance(20);
    expect(reads.count).toBe(11);
    await Promise.all(Array.from({ length: 20 }, () => viewer.get("/overview")));
    expect(reads.count).toBe(11);
  });

  test("the sampler stops ten seconds after the last client has left, and starts with the next", async () => {
    const { jobs, clock, viewer } = scene();
    const reads = countReads(jobs);
    const stream = await listen(viewer);
    await stream.next("overview");
    await stream.close();
    await clock.advance(9);
    const later = reads.count;
    expect(later).toBeGreaterThan(1);
    await clock.advance(60);
    expect(reads.count).toBeLessThanOrEqual(later + 1);
    const again = await listen(viewer);
    await again.next("overview");
  });

  test("a sign of life every five seconds keeps the connection open", async () => {
    const { clock, viewer } = scene();
    const stream = await listen(viewer);
    await stream.next("overview");
    await clock.advance(11);
    await eventually("two pings", () => stream.pings() === 2);
  });

  test("a client that connects again gets only what it missed", async () => {
    const { jobs, clock, viewer, operator } = scene();
    const stream = await listen(viewer);
    const { id } = await stream.next("overview");
    const run = await jobs.dispatch("mail");
    const { body } = await operator.post<BulkOperation>("/runs/bulk", { action: "cancel", ids: [run.id] });
    const ended = await eventually("the end", () =>
      stream.events.findLast(({ data }) => (data as BulkOperation).state === "finished"),
    );
    const missed = await listen(viewer, { "last-event-id": id });
    expect((await missed.next("bulk")).data).toMatchObject({ id: body.id, state: "finished", done: 1 });
    const none = await listen(viewer, { "last-event-id": ended.id });
    const fresh = await listen(viewer);
    await fresh.next("overview");
    await clock.advance(0);
    expect(none.events.filter(({ event }) => event === "bulk")).toEqual([]);
    expect(fresh.events.filter(({ event }) => event === "bulk")).toEqual([]);
  });

  test("says when the database is away, and when it is back", async () => {
    const { jobs, clock, viewer } = scene();
    const stream = await listen(viewer);
    await stream.next("overview");
    const status = jobs.status.bind(jobs);
    jobs.status = () =>
      Promise.reject(new PunctualError("DATABASE_UNAVAILABLE", "no answer from postgres://ana:geheim@db"));
    await clock.advance(6);
    expect((await stream.next("database")).data).toMatchObject({
      available: false,
      detail: "no answer from postgres://ana:[hidden]@db",
    });
    const refused = await viewer.get<Problem>("/overview");
    expect([refused.status, refused.body.code]).toEqual([503, "DATABASE_UNAVAILABLE"]);
    jobs.status = status;
    await clock.advance(2);
    expect((await stream.next("database", 1)).data).toMatchObject({ available: true, detail: null });
    expect(stream.events.filter(({ event }) => event === "database")).toHaveLength(2);
  });

  test("refuses the client after the hundredth", async () => {
    const { viewer } = scene();
    for (let n = 0; n < 100; n++) await viewer.request("/events");
    const { status, body, headers } = await viewer.get<Problem>("/events");
    expect([status, body.code, headers.get("retry-after")]).toEqual([503, "TOO_MANY_STREAMS", "30"]);
  });

  test("drops a client that does not read", async () => {
    const { jobs, clock, viewer } = scene();
    for (let n = 0; n < 300; n++) jobs.define(`job ${n}`, () => {}).queue(`queue ${n} ${"x".repeat(150)}`);
    const response = await viewer.request("/events");
    const reading = await listen(viewer);
    await reading.next("overview");
    for (let n = 0; n < 60; n++) {
      for (let index = 0; index < 5; index++) await jobs.dispatch(`job ${(n * 5 + index) % 300}`);
      await clock.advance(2);
    }
    const reader = response.body!.getReader();
    const drain = async () => {
      for (;;) if ((await reader.read()).done) return;
    };
    await expect(drain()).rejects.toThrow("reads too slowly");
    expect(reading.ended()).toBe(false);
  });
});

describe("shared reads", () => {
  test("equal requests within a second share one read; roles and queries do not", async () => {
    const { jobs, clock, viewer, operator } = scene();
    let reads = 0;
    const stored = jobs.storedRuns.bind(jobs);
    jobs.storedRuns = (filter) => {
      reads++;
      return stored(filter);
    };
    await Promise.all(Array.from({ length: 20 }, () => viewer.get("/runs?q=job:mail&limit=5")));
    await viewer.get("/runs?limit=5&q=job:mail");
    expect(reads).toBe(1);
    await viewer.get("/runs?q=job:mail&limit=6");
    await operator.get("/runs?q=job:mail&limit=5");
    expect(reads).toBe(3);
    await clock.advance(2);
    await viewer.get("/runs?q=job:mail&limit=5");
    expect(reads).toBe(4);
  });

  test("an action is visible to its caller at once", async () => {
    const { jobs, viewer, operator } = scene();
    const { id } = await jobs.dispatch("mail");
    expect((await viewer.get(`/runs/${id}`)).body).toMatchObject({ state: "ready" });
    await operator.post(`/runs/${id}/cancel`);
    expect((await viewer.get(`/runs/${id}`)).body).toMatchObject({ state: "cancelled" });
  });

  test("a change is visible to every client that was notified of it, although an equal request came just before", async () => {
    const { jobs, clock, viewer } = scene();
    const stream = await listen(viewer);
    await stream.next("overview");
    await clock.advance(1.5);
    const before = await viewer.get("/runs");
    const { id } = await jobs.dispatch("mail");
    await clock.advance(0.5);
    await stream.next("overview", 1);
    const after = await viewer.get("/runs");
    expect(before.body).toMatchObject({ items: [] });
    expect(after.body).toMatchObject({ items: [{ id }] });
  });

  test("a client that has the response gets 304", async () => {
    const { jobs, clock, viewer } = scene();
    const etag = (await viewer.get("/overview")).headers.get("etag")!;
    await clock.advance(5);
    const same = await viewer.get("/overview", { "if-none-match": etag });
    expect([same.status, same.body]).toEqual([304, undefined]);
    await jobs.dispatch("mail");
    await clock.advance(5);
    expect((await viewer.get("/overview", { "if-none-match": `"x", W/${etag}` })).status).toBe(200);
  });

  test("a read that takes too long is 504 with a hint, and is not started again meanwhile", async () => {
    const { jobs, clock, viewer } = scene();
    let reads = 0;
    const { promise, resolve } = Promise.withResolvers<never>();
    jobs.storedRuns = () => {
      reads++;
      return promise;
    };
    const slow = viewer.get<Problem>("/runs");
    await clock.advance(13);
    const { status, body } = await slow;
    expect([status, body.code]).toEqual([504, "QUERY_TIMED_OUT"]);
    expect(body.hint).toContain("last 24 h");
    const again = viewer.get<Problem>("/runs");
    await clock.advance(0);
    expect((await again).status).toBe(504);
    expect(reads).toBe(1);
    resolve(undefined as never);
  });
});
