import { describe, expect, test } from "vitest";
import type {
  Problem,
  RunSummary,
  RunsChanges,
  RunsResponse,
  StateCounts,
} from "../../../src/dashboard/api/contract.ts";
import { open } from "../../api/support/instance.ts";
import { serve } from "../support/api.ts";

function scene() {
  const one = open();
  one.jobs
    .define("mail", (args: { fail?: boolean }) => {
      if (args.fail) throw new TypeError("cannot reach smtp://ana:geheim@host");
    })
    .attempts(3, 60)
    .concurrency(0);
  one.jobs.define("post/office", () => {}).queue("slow queue");
  return { ...one, ...serve(one.jobs) };
}

describe("GET /runs", () => {
  test("lists runs with everything that a row shows", async () => {
    const { jobs, clock, viewer } = scene();
    const { id } = await jobs.dispatch("mail", { to: "a", password: "x" }).tags("t").key("k").priority(5);
    await clock.advance(3);
    await jobs.run();
    const { status, body } = await viewer.get<RunsResponse>("/runs");
    expect(status).toBe(200);
    expect(body).toMatchObject({ next: null, bounded: true, count: { value: 1, capped: false } });
    const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
    expect(body.items).toEqual([
      {
        id,
        job: "mail",
        queue: "default",
        key: "k",
        priority: 5,
        state: "completed",
        retrying: false,
        late: false,
        cancelRequested: false,
        attempt: 1,
        maxAttempts: 3,
        preview: '{"to":"a","password":"[hidden]"}',
        progress: null,
        tags: ["t"],
        createdAt: at(0),
        runAt: at(0),
        startedAt: at(3),
        finishedAt: at(3),
        waited: 3000,
        took: 0,
        error: null,
        fingerprint: null,
      } satisfies RunSummary,
    ]);
  });

  test("pages through a query, and counts for the first page only", async () => {
    const { jobs, viewer } = scene();
    await jobs.dispatch("post/office");
    for (let n = 0; n < 5; n++) await jobs.dispatch("mail", { n });
    const first = (await viewer.get<RunsResponse>("/runs?q=job:mail&limit=3")).body;
    expect(first.items).toHaveLength(3);
    expect(first.count).toEqual({ value: 5, capped: false });
    const second = (await viewer.get<RunsResponse>(`/runs?q=job:mail&limit=3&before=${first.next}`)).body;
    expect(second.items.map(({ preview }) => preview)).toEqual(['{"n":1}', '{"n":0}']);
    expect(second.count).toBeNull();
  });

  test("shows waiting, late and retried runs, and the error without its password", async () => {
    const { jobs, clock, viewer } = scene();
    await jobs.dispatch("mail", { fail: true });
    await jobs.run();
    await jobs.dispatch("mail", {}).delay(3600);
    await clock.advance(300);
    const { items } = (await viewer.get<RunsResponse>("/runs")).body;
    expect(items).toMatchObject([
      { state: "scheduled", retrying: false, late: false, waited: null, took: null },
      { retrying: true, late: true, attempt: 1, took: null },
    ]);
    for (let pass = 0; pass < 2; pass++) {
      await jobs.run();
      await clock.advance(600);
    }
    const [failed] = (await viewer.get<RunsResponse>("/runs?q=state:failed")).body.items;
    expect(failed!.error).toEqual({ name: "TypeError", message: "cannot reach smtp://ana:[hidden]@host" });
    expect(failed!.fingerprint).toMatch(/^[0-9a-f]{16}$/);
  });

  test.each([
    ["/runs?limit=0", "limit as a whole number from 1 to 200"],
    ["/runs?limit=201", "limit as a whole number from 1 to 200"],
    ["/runs?limit=1e2", "limit as a whole number"],
    ["/runs?before=x", "before as a whole number"],
    ["/runs?where=a", 'got the unknown parameter "where"'],
    ["/runs?q=a&q=b", 'the parameter "q" once'],
    ["/runs/changes?ids=1,x", "ids as a whole number"],
    [`/runs/changes?ids=${Array(201).fill(1)}`, "at most 200 ids in ids, got 201"],
  ])("refuses %s", async (path, expected) => {
    const { status, body, headers } = await scene().viewer.get<Problem>(path);
    expect(status).toBe(422);
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(body).toMatchObject({ status: 422, code: "INVALID_REQUEST" });
    expect(body.detail).toContain(expected);
  });

  test("refuses a wrong query with the code of the library", async () => {
    const { status, body } = await scene().viewer.get<Problem>("/runs?q=stat:failed");
    expect(status).toBe(422);
    expect(body).toMatchObject({ code: "INVALID_QUERY" });
    expect(body.detail).toContain('Did you mean "state"?');
  });
});

describe("GET /runs/changes", () => {
  test("returns the rows as they are now, and counts the newer ones", async () => {
    const { jobs, viewer } = scene();
    const kept = await jobs.dispatch("mail", {});
    const gone = await jobs.dispatch("mail", {});
    const newer = await jobs.dispatch("mail", {});
    await jobs.dispatch("post/office");
    await jobs.remove(gone.id);
    const query = `q=job:mail&ids=${kept.id},${gone.id}&newest=${gone.id}`;
    const { body } = await viewer.get<RunsChanges>(`/runs/changes?${query}`);
    expect(body.runs).toMatchObject([{ id: kept.id, state: "ready" }]);
    expect(body.added).toEqual({ value: 1, capped: false });
    const none = await viewer.get<RunsChanges>(`/runs/changes?q=job:mail&newest=${newer.id}`);
    expect(none.body).toEqual({ runs: [], added: { value: 0, capped: false } });
  });
});

describe("GET /runs/states", () => {
  test("counts what matches in each state", async () => {
    const { jobs, clock, viewer } = scene();
    await jobs.dispatch("mail", { fail: true });
    await jobs.dispatch("mail", {});
    await jobs.run();
    await clock.advance(3600);
    await jobs.dispatch("mail", {}).delay(60);
    await jobs.dispatch("post/office");
    const { body } = await viewer.get<StateCounts>("/runs/states?q=job:mail");
    const counts = Object.fromEntries(Object.entries(body).map(([state, { value }]) => [state, value]));
    expect(counts).toEqual({
      scheduled: 2,
      ready: 0,
      running: 0,
      completed: 1,
      failed: 0,
      cancelled: 0,
      skipped: 0,
      retrying: 1,
      late: 1,
    });
  });
});
