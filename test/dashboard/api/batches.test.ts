import { describe, expect, test } from "vitest";
import type {
  ActionResult,
  AuditEntry,
  BatchDetail,
  BatchesChanges,
  BatchView,
  Page,
  Problem,
  RunDetail,
} from "../../../src/dashboard/api/contract.ts";
import { open } from "../../api/support/instance.ts";
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
  test("seal, cancel and retry change it and are recorded; those without effect are not", async () => {
    const { jobs, viewer, operator, row } = scene();
    const act = async (id: number, action: string) =>
      (await operator.post<ActionResult>(`/batches/${id}/${action}`)).body.message;
    const batch = await jobs
      .batch("import")
      .open()
      .add(row.many([{ n: 1 }, { n: 2 }]));
    const { id } = batch;
    expect((await detail(operator, id)).actions).toEqual(["seal", "cancel"]);
    expect(await act(id, "retry")).toMatch(/has no failed or cancelled member/);
    expect(await act(id, "seal")).toMatch(/is sealed: it finishes when/);
    expect(await act(id, "seal")).toMatch(/was sealed before/);
    expect((await detail(operator, id)).actions).toEqual(["cancel"]);
    expect(await act(id, "cancel")).toMatch(/was cancelled/);
    expect(await batch.status()).toMatchObject({ state: "finished", cancelled: 2 });
    const again = await operator.post<Problem>(`/batches/${id}/cancel`);
    expect([again.status, again.body.code]).toEqual([409, "BATCH_FINISHED"]);
    expect(await act(id, "retry")).toMatch(/2 members wait for another attempt/);
    expect(await batch.status()).toMatchObject({ state: "running", waiting: 2 });
    const { items } = (await viewer.get<Page<AuditEntry>>("/audit")).body;
    expect(items.map(({ action, target, user, summary }) => [action, target, user, summary])).toEqual([
      ["batch.retry", `batch ${id}`, "ana", "2 retried"],
      ["batch.cancel", `batch ${id}`, "ana", ""],
      ["batch.seal", `batch ${id}`, "ana", ""],
    ]);
  });
});
