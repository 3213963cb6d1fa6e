import { describe, expect, test } from "vitest";
import type {
  ActionResult,
  AuditEntry,
  BatchDetail,
  BatchesChanges,
  BatchView,
  BulkOperation,
  Page,
  Problem,
  RunDetail,
} from "../../../src/dashboard/api/contract.ts";
import { open } from "../../api/support/instance.ts";
import { eventually } from "../../support/eventually.ts";
import { type Client, serve } from "../support/api.ts";

function scene() {
  const one = open();
  const { jobs } = one;
  const row = jobs
    .define("row", ({ n }: { n: number }) => {
      if (n < 0) throw new RangeError("negative");
    })
    .attempts(1);
  const report = jobs.define("report", () => {});
  const alert = jobs.define("alert", () => {}).keep(0);
  return { ...one, ...serve(jobs), row, report, alert };
}

/** Enough that an operation is seen under way. */
const LARGE = 20_000;

async function ended(client: Client, id: string): Promise<BulkOperation> {
  return eventually("the end of the operation", async () => {
    const { body } = await client.get<BulkOperation>(`/bulk/${id}`);
    return body.state !== "running" && body;
  });
}

const detail = async (client: Client, id: number) => (await client.get<BatchDetail>(`/batches/${id}`)).body;

describe("the list of batches", () => {
  test("is paged, the newest first, and can be reduced to those that have not finished", async () => {
    const { jobs, viewer, row } = scene();
    for (const name of ["first", "second", "third"]) await jobs.batch(name).add(row.draft().args({ n: 1 }));
    await jobs.run();
    await jobs.batch("left open").open();
    const { items, next } = (await viewer.get<Page<BatchView>>("/batches?limit=3")).body;
    expect(items.map(({ name, state, total }) => [name, state, total])).toEqual([
      ["left open", "open", 0],
      ["third", "finished", 1],
      ["second", "finished", 1],
    ]);
    const rest = (await viewer.get<Page<BatchView>>(`/batches?limit=3&before=${next}`)).body;
    expect([rest.items.map(({ name }) => name), rest.next]).toEqual([["first"], null]);
    const { items: left } = (await viewer.get<Page<BatchView>>("/batches?show=unfinished")).body;
    expect(left.map(({ name }) => name)).toEqual(["left open"]);
  });

  test("follows its rows, and counts newer batches that belong to it", async () => {
    const { jobs, viewer, row } = scene();
    const batch = await jobs.batch("import").add(row.many([{ n: 1 }, { n: -1 }]));
    const path = (show: string) => `/batches/changes?show=${show}&ids=${batch.id},99&newest=${batch.id}`;
    await jobs.run();
    await jobs.batch("finished").add();
    await jobs.batch("open").open();
    const all = (await viewer.get<BatchesChanges>(path("all"))).body;
    expect(all.batches).toMatchObject([{ id: batch.id, state: "finished", completed: 1, failed: 1 }]);
    expect(all.added).toEqual({ value: 2, capped: false });
    const unfinished = (await viewer.get<BatchesChanges>(path("unfinished"))).body;
    expect([unfinished.batches.length, unfinished.added.value]).toEqual([1, 1]);
  });
});

describe("a batch", () => {
  test("has its counts, its callbacks with their runs, and the members that failed last", async () => {
    const { jobs, viewer, operator, row, report, alert } = scene();
    const { id } = await jobs
      .batch("import 42")
      .add(row.many([{ n: 1 }, { n: -1 }, { n: 2 }]))
      .onSuccess(report)
      .onFailure(alert)
      .onFinish(report);
    expect(await detail(viewer, id)).toMatchObject({
      ...{ state: "running", total: 3, waiting: 3, running: 0, failures: "continue", failedMembers: [] },
      callbacks: [
        { on: "success", job: "report", runs: [], note: "waits for the end of the batch" },
        { on: "failure", job: "alert", runs: [], note: "no member has failed yet" },
        { on: "finish", job: "report", runs: [] },
      ],
      actions: [],
    });
    await jobs.run();
    const found = await detail(operator, id);
    expect(found).toMatchObject({ state: "finished", completed: 2, failed: 1, waiting: 0 });
    expect(found.callbacks).toMatchObject([
      { on: "success", runs: [], note: "not dispatched: members failed" },
      { on: "failure", runs: [], note: "dispatched; the run is not kept" },
      { on: "finish", runs: [{ job: "report", state: "completed" }], note: null },
    ]);
    expect(found.failedMembers).toMatchObject([{ job: "row", error: { name: "RangeError" } }]);
    expect(found).toMatchObject({
      actions: ["retry"],
      effects: { retry: expect.stringMatching(/failed \(1\) or were cancelled \(0\) run again/) },
      commands: { retry: `punctual batch retry ${id}` },
    });

    const callback = found.callbacks[2]!.runs[0]!.id;
    const runs = [found.failedMembers[0]!.id, callback].map(
      async (run) => (await viewer.get<RunDetail>(`/runs/${run}`)).body.batch,
    );
    expect(await Promise.all(runs)).toEqual([
      { id, name: "import 42", callback: null },
      { id, name: "import 42", callback: "finish" },
    ]);
  });

  test("that was retried has every run of its callbacks, the newest first", async () => {
    const { jobs, clock, operator, row, report } = scene();
    const { id } = await jobs
      .batch("import")
      .add(row.draft().args({ n: -1 }))
      .onFinish(report);
    await jobs.run();
    const [first] = (await detail(operator, id)).callbacks[0]!.runs;
    expect(await jobs.batch(id).retry()).toBe(1);
    await jobs.run();
    // Equal requests share a result for a second.
    await clock.advance(2);
    const { runs } = (await detail(operator, id)).callbacks[0]!;
    expect(runs.map((run) => [run.state, run.id === first!.id])).toEqual([
      ["completed", false],
      ["completed", true],
    ]);
  });

  test("that does not exist is not found, and an id that is none is refused", async () => {
    const { viewer, operator } = scene();
    const { status, body } = await viewer.get<Problem>("/batches/7");
    expect([status, body.code]).toEqual([404, "BATCH_NOT_FOUND"]);
    for (const action of ["seal", "cancel", "retry"])
      expect((await operator.post<Problem>(`/batches/7/${action}`)).body.code).toBe("BATCH_NOT_FOUND");
    expect((await viewer.get<Problem>("/batches/none")).status).toBe(422);
  });
});

describe("actions on a batch", () => {
  test("seal changes it and is recorded; without effect it is not", async () => {
    const { jobs, viewer, operator, row } = scene();
    const { id } = await jobs
      .batch("import")
      .open()
      .add(row.many([{ n: 1 }]));
    const seal = async () => (await operator.post<ActionResult>(`/batches/${id}/seal`)).body.message;
    expect((await detail(operator, id)).actions).toEqual(["seal", "cancel"]);
    expect(await seal()).toMatch(/is sealed: it finishes when/);
    expect(await seal()).toMatch(/was sealed before/);
    expect((await detail(operator, id)).actions).toEqual(["cancel"]);
    const { items } = (await viewer.get<Page<AuditEntry>>("/audit")).body;
    expect(items.map(({ action, target, user }) => [action, target, user])).toEqual([
      ["batch.seal", `batch ${id}`, "ana"],
    ]);
  });

  test("cancel and retry are operations, which are recorded at their start and with their result", async () => {
    const { jobs, viewer, operator, row } = scene();
    const batch = await jobs.batch("import").add(row.many([{ n: 1 }, { n: 2 }]));
    const { id } = batch;
    const { status, body } = await operator.post<BulkOperation>(`/batches/${id}/cancel`);
    expect(status).toBe(202);
    const cancelling = { action: "cancel", q: `batch:${id}`, total: { value: 2, capped: false } };
    expect(body).toMatchObject({ ...cancelling, command: `punctual batch cancel ${id}` });
    expect(await ended(operator, body.id)).toMatchObject({ state: "finished", done: 2, requested: 0 });
    expect(await batch.status()).toMatchObject({ state: "finished", cancelled: 2 });
    const again = await operator.post<Problem>(`/batches/${id}/cancel`);
    expect([again.status, again.body.code]).toEqual([409, "BATCH_FINISHED"]);
    const retry = (await operator.post<BulkOperation>(`/batches/${id}/retry`)).body;
    expect(await ended(operator, retry.id)).toMatchObject({ state: "finished", done: 2, skipped: {} });
    expect(await batch.status()).toMatchObject({ state: "running", waiting: 2 });
    const items = await eventually("the entries", async () => {
      const { entries } = await jobs.audit();
      return entries.length === 4 && (await viewer.get<Page<AuditEntry>>("/audit")).body.items;
    });
    expect(items.map(({ action, target, user, summary }) => [action, target, user, summary])).toEqual([
      ["batch.retry", `batch ${id}`, "ana", "finished, 2 done"],
      ["batch.retry", `batch ${id}`, "ana", "running, 2 runs matched"],
      ["batch.cancel", `batch ${id}`, "ana", "finished, 2 done, 0 asked to stop"],
      ["batch.cancel", `batch ${id}`, "ana", "running, 2 runs matched"],
    ]);
  });

  test("answer at once for a batch of 20,000 members, and others are served meanwhile", async () => {
    const { jobs, operator, viewer, row } = scene();
    const batch = await jobs.batch("large").add(row.many(Array.from({ length: LARGE }, (_, n) => ({ n }))));
    const { id } = batch;
    for (const [action, counts] of [
      ["cancel", { state: "finished", cancelled: LARGE }],
      ["retry", { state: "running", cancelled: 0, waiting: LARGE }],
    ] as const) {
      const { body } = await operator.post<BulkOperation>(`/batches/${id}/${action}`);
      expect(body).toMatchObject({ state: "running", done: 0, total: { value: LARGE, capped: false } });
      // A second request joins the operation.
      expect((await operator.post<BulkOperation>(`/batches/${id}/${action}`)).body.id).toBe(body.id);
      const seen = new Set<number>();
      const result = await eventually(
        "the end of the operation",
        async () => {
          const { body: now } = await viewer.get<BulkOperation>(`/bulk/${body.id}`);
          seen.add(now.done);
          return now.state !== "running" && now;
        },
        300_000,
      );
      expect(result).toMatchObject({ state: "finished", done: LARGE, error: null });
      expect(seen.size).toBeGreaterThan(3);
      expect(await batch.status()).toMatchObject(counts);
    }
  });

  test("a retry that is stopped leaves the other members as they are, and the batch sealed", async () => {
    const { jobs, operator, row } = scene();
    const batch = await jobs.batch("import").add(row.many(Array.from({ length: 500 }, (_, n) => ({ n }))));
    await batch.cancel();
    const { body } = await operator.post<BulkOperation>(`/batches/${batch.id}/retry`);
    await operator.post(`/bulk/${body.id}/stop`);
    const { state, done } = await ended(operator, body.id);
    expect(state).toBe("stopped");
    expect(done).toBeLessThan(500);
    const status = await batch.status();
    expect(status).toMatchObject({ waiting: done, cancelled: 500 - done });
    expect(status.sealedAt).not.toBeNull();
  });
});
