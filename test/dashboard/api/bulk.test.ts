import { describe, expect, test } from "vitest";
import type { AuditEntry, BulkOperation, Page, Problem } from "../../../src/dashboard/api/contract.ts";
import { heard, open } from "../../api/support/instance.ts";
import { eventually } from "../../support/eventually.ts";
import { type Client, serve } from "../support/api.ts";

function scene() {
  const one = open();
  one.jobs
    .define("mail", (args: { fail?: boolean }) => {
      if (args.fail) throw new Error("no");
    })
    .concurrency(0);
  return { ...one, ...serve(one.jobs) };
}

async function ended(client: Client, id: string): Promise<BulkOperation> {
  return eventually("the end of the operation", async () => {
    const { body } = await client.get<BulkOperation>(`/bulk/${id}`);
    return body.state === "running" ? null : body;
  });
}

describe("POST /runs/bulk", () => {
  test("retries the failed runs that match, and reports exactly", async () => {
    const { jobs, operator, admin } = scene();
    for (let n = 0; n < 30; n++) await jobs.dispatch("mail", { fail: n < 20 });
    await jobs.run();
    const { status, body } = await operator.post<BulkOperation>("/runs/bulk", {
      action: "retry",
      q: "job:mail",
    });
    expect(status).toBe(202);
    expect(body).toMatchObject({
      state: "running",
      q: "job:mail state:failed",
      total: { value: 20, capped: false },
    });
    expect(body.command).toBe("punctual retry --where 'job:mail state:failed'");
    const result = await ended(operator, body.id);
    let limit = 1;
    expect(result).toMatchObject({ state: "finished", done: 20, skipped: {}, by: "ana", error: null });
    expect((await jobs.count("state:ready")).count).toBe(20);
    const { items } = await eventually("the entry", async () => {
      const { body } = await admin.get<Page<AuditEntry>>(`/audit?limit=${limit++}`);
      return body.items.length > 1 && body;
    });
    const entry = { action: "runs.retry", target: "job:mail state:failed", user: "ana" };
    expect(items).toMatchObject([entry, entry]);
    expect(JSON.parse(items[0]!.details!)).toMatchObject({ done: 20, state: "finished" });
    expect(JSON.parse(items[1]!.details!)).toMatchObject({ total: 20, state: "running" });
  });

  test("counts what it skipped by state, and runs that are gone", async () => {
    const { jobs, operator } = scene();
    const ids: number[] = [];
    for (let n = 0; n < 250; n++) ids.push((await jobs.dispatch("mail", { fail: n % 2 === 0 })).id);
    await jobs.run({ batch: 1000 });
    await jobs.retry(ids[0]!);
    await jobs.remove(ids[1]!);
    const { body } = await operator.post<BulkOperation>("/runs/bulk", { action: "retry", ids });
    expect(await ended(operator, body.id)).toMatchObject({ done: 248, skipped: { ready: 1, gone: 1 } });
  });

  test("deletes finished runs only unless a state is named, and only for an admin", async () => {
    const { jobs, operator, admin } = scene();
    await jobs.dispatch("mail", {});
    await jobs.run();
    await jobs.dispatch("mail", {});
    const request = { action: "delete", q: "job:mail" };
    const refused = await operator.post<Problem>("/runs/bulk", request);
    expect([refused.status, refused.body.code]).toEqual([403, "ROLE_TOO_LOW"]);
    const { body } = await admin.post<BulkOperation>("/runs/bulk", request);
    expect(await ended(admin, body.id)).toMatchObject({ done: 1, q: "job:mail is:finished" });
    expect((await jobs.count("job:mail")).count).toBe(1);
  });

  test("counts runs that it cancelled apart from running ones that it asked to stop", async () => {
    const { jobs, operator, admin } = scene();
    const { promise, resolve } = Promise.withResolvers<void>();
    jobs.define("long", () => promise);
    const running = await jobs.dispatch("long");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await jobs.dispatch("mail", {}).delay(60);
    await jobs.cancel((await jobs.dispatch("mail", {}).delay(60)).id);
    const q = `id:${running.id},${running.id + 1},${running.id + 2}`;
    const { body } = await operator.post<BulkOperation>("/runs/bulk", { action: "cancel", q });
    expect(body.q).toBe(`${q} state:scheduled,ready,running`);
    expect(await ended(operator, body.id)).toMatchObject({ done: 1, requested: 1, skipped: {} });
    const ids = [running.id, running.id + 1, running.id + 2];
    const again = await operator.post<BulkOperation>("/runs/bulk", { action: "cancel", ids });
    expect(await ended(operator, again.body.id)).toMatchObject({
      done: 0,
      requested: 1,
      skipped: { cancelled: 2 },
    });
    const { items } = (await admin.get<Page<AuditEntry>>("/audit?limit=4")).body;
    expect(items.map(({ details }) => JSON.parse(details!))).toMatchObject([
      { done: 0, requested: 1, skipped: { cancelled: 2 } },
      { total: 3 },
      { done: 1, requested: 1 },
      { total: 2 },
    ]);
    resolve();
    await pass;
  });

  test("stops before the next runs", async () => {
    const { jobs, operator } = scene();
    for (let n = 0; n < 40; n++) await jobs.dispatch("mail", {});
    const { body } = await operator.post<BulkOperation>("/runs/bulk", { action: "cancel", q: "job:mail" });
    await operator.post(`/bulk/${body.id}/stop`);
    const result = await ended(operator, body.id);
    expect(result.state).toBe("stopped");
    expect(result.done).toBeLessThan(40);
    expect((await jobs.count("state:cancelled")).count).toBe(result.done);
  });

  test("is known for an hour after its end", async () => {
    const { jobs, clock, operator } = scene();
    const { id } = await jobs.dispatch("mail", {});
    const { body } = await operator.post<BulkOperation>("/runs/bulk", { action: "cancel", ids: [id, id] });
    expect(await ended(operator, body.id)).toMatchObject({ done: 1, total: { value: 1 } });
    await clock.advance("59m");
    expect((await operator.get(`/bulk/${body.id}`)).status).toBe(200);
    await clock.advance("2m");
    const gone = await operator.get<Problem>(`/bulk/${body.id}`);
    expect([gone.status, gone.body.code]).toEqual([404, "UNKNOWN_OPERATION"]);
  });

  test.each([
    [{ action: "retry", q: "" }, "matches all"],
    [{ action: "retry", q: "   " }, "matches all"],
    [{ action: "delete", q: "job:*" }, "matches all runs to delete"],
    [{ action: "delete", q: "is:finished" }, "matches all runs to delete"],
    [{ action: "cancel", q: "queue:*" }, "matches all runs to cancel"],
    [{ action: "retry" }, "ids or q, got neither"],
    [{ action: "retry", ids: [1], q: "job:a" }, "ids or q, got both"],
    [{ action: "retry", ids: [] }, "from 1 to 10000 ids"],
    [{ action: "retry", ids: [1.5] }, "a list of ids"],
    [{ action: "purge", ids: [1] }, "action as one of retry, cancel, delete"],
  ])("refuses %j", async (body, detail) => {
    const answer = await scene().admin.post<Problem>("/runs/bulk", body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toContain(detail);
  });
});
