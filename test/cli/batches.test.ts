import { expect, test } from "vitest";
import { scene } from "./support/project-scene.ts";

async function imports() {
  const { call, jobs } = scene();
  const row = jobs
    .define("row", async ({ n }: { n: number }) => {
      if (n < 0) throw new Error("negative");
    })
    .attempts(1);
  const done = jobs.define("done", () => {});
  const batch = await jobs
    .batch("import 42")
    .add(row.many([{ n: 1 }, { n: -1 }, { n: 2 }]))
    .onFinish(done);
  return { call, jobs, row, batch };
}

test("batches are listed with a bar, the newest first", async () => {
  const { call, jobs } = await imports();
  const open = await jobs.batch("open one").open();
  const waiting = await call("batches", "--unfinished");
  expect(waiting.stdout).toMatch(/import 42 +running +\S+ +0 % +3/);
  expect(waiting.stdout.indexOf("open one")).toBeLessThan(waiting.stdout.indexOf("import 42"));
  await jobs.run();
  expect((await call("batches")).stdout).toMatch(/import 42 +finished +\S+ +100 % +3 +1/);
  const { stdout } = await call("list", "batches", "--limit", "1", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ batches: [{ name: "open one", state: "open" }], next: open.id });
});

test("a batch is shown with its counts, callbacks and failures", async () => {
  const { call, jobs, batch } = await imports();
  await jobs.run();
  const { stdout, stderr } = await call("show", `batch:${batch.id}`);
  expect(stdout).toContain(`Batch ${batch.id} import 42: finished`);
  expect(stdout).toMatch(/Progress +\S+ +100 % +3\/3/);
  expect(stdout).toMatch(/Completed +2/);
  expect(stdout).toMatch(/On +Id +Job +State/);
  expect(stdout).toMatch(/finish +\d+ +done +completed/);
  expect(stdout).toContain("Error: negative");
  expect(stdout + stderr).toContain(`punctual batch retry ${batch.id}`);
  const members = await call("list", "--where", `batch:${batch.id} state:failed`, "--json");
  expect(JSON.parse(members.stdout).runs).toHaveLength(1);
  const { code, stderr: missing } = await call("show", "batch:999");
  expect(code).toBe(3);
  expect(missing).toContain("There is no batch 999");
});

test("a batch is sealed, cancelled and retried, and who did it is recorded", async () => {
  const { call, jobs, batch } = await imports();
  const open = await jobs.batch("left open").open();
  expect((await call("batch", "seal", String(open.id))).stdout).toBe(`batch ${open.id} sealed\n`);
  expect((await call("batch", "seal", String(open.id))).stdout).toBe(
    `batch ${open.id}: it has finished; nothing changed\n`,
  );
  expect((await call("batch", "seal", String(batch.id))).stdout).toBe(
    `batch ${batch.id}: it was sealed before; nothing changed\n`,
  );
  expect(await open.status()).toMatchObject({ state: "finished" });
  expect((await call("batch", "cancel", String(batch.id))).stdout).toBe(`batch ${batch.id} cancelled\n`);
  expect(await batch.status()).toMatchObject({ state: "finished", cancelled: 3 });
  expect((await call("batch", "retry", String(batch.id))).stdout).toBe(
    `batch ${batch.id}: 3 members retried\n`,
  );
  expect(await batch.status()).toMatchObject({ state: "running", waiting: 3 });
  const { entries } = await jobs.audit();
  expect(entries.map(({ action }) => action)).toEqual(["batch.retry", "batch.cancel", "batch.seal"]);
});

test("a batch shows which callback is dispatched when, and a callback its batch", async () => {
  const { call, jobs } = scene();
  const row = jobs.define("row", () => {});
  const told = jobs.define("told", () => {});
  const batch = await jobs.batch("two").add(row, row).onFinish(told).onFailure(told);
  const waiting = (await call("show", `batch:${batch.id}`)).stdout;
  expect(waiting).toMatch(/finish +\S+ +told +not yet dispatched/);
  expect(waiting).toMatch(/failure +\S+ +told +not yet dispatched/);
  await jobs.run();
  const { stdout } = await call("show", `batch:${batch.id}`);
  expect(stdout).toMatch(/finish +\d+ +told +completed/);
  expect(stdout).toMatch(/failure +\S+ +told +not dispatched/);
  const [member, callback] = await Promise.all([
    jobs.runs({ where: `batch:${batch.id}`, limit: 1 }),
    jobs.runs({ where: `batch:${batch.id}/*`, limit: 1 }),
  ]);
  expect((await call("show", String(member.runs[0]!.id))).stdout).toMatch(/Batch +1$/m);
  expect((await call("show", String(callback.runs[0]!.id))).stdout).toMatch(/Batch +1, on finish$/m);
  const [one] = await row.dispatchMany([{}, {}]);
  expect((await call("show", String(one!.id))).stdout).not.toContain("Batch");
});

test("a cancelled batch that has not finished does not announce its callback of success", async () => {
  const { call, jobs } = scene();
  const held = Promise.withResolvers<void>();
  const row = jobs.define("row", () => held.promise);
  const told = jobs.define("told", () => {});
  const batch = await jobs.batch("slow").add(row).onFinish(told).onSuccess(told);
  const started = new Promise((resolve) => jobs.on("run.started", resolve));
  const working = jobs.run();
  await started;
  await batch.cancel();
  const { stdout } = await call("show", `batch:${batch.id}`);
  expect(stdout).toMatch(/finish +\S+ +told +not yet dispatched/);
  expect(stdout).toMatch(/success +\S+ +told +not dispatched/);
  held.resolve();
  await working;
});
