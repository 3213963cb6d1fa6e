import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { onEachServer } from "../faults/support/kinds.ts";
import { Scene } from "../faults/support/server-scene.ts";
import { sharedServer } from "../servers/shared.ts";
import { Journal, noteIn } from "../support/journal.ts";
import { openFileAccess, openServerAccess } from "./support/access.ts";
import { check } from "./support/checker.ts";
import { countUnfinished, runningTicks } from "./support/counts.ts";
import { gather } from "./support/evidence.ts";
import { defineLoad } from "./support/load.ts";
import { createLedger, type Target } from "./support/target.ts";

/** Runs some of a campaign's load in this process, without faults, and expects evidence that the checker accepts. */
async function checkCalm(target: Pick<Target, "connect" | "kind">, url: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "punctual-evidence-"));
  const journal = new Journal(join(folder, "journal.jsonl"));
  const note = noteIn(journal.path, "worker 1");
  const jobs = new Punctual(url, { logger: false });
  onTestFinished(async () => {
    await jobs.stop();
    journal.close();
    rmSync(folder, { recursive: true });
  });
  await jobs.install();
  await createLedger(target);
  const load = defineLoad(jobs, note, 0);
  const task = (n: number, more = {}) => ({ n, ms: 1, key: "key 1", ...more });
  const callback = (n: number) => load.callback.draft().args(task(n));
  note("request", { job: "metered", ids: [1] });
  const { id: metered } = await load.metered.dispatch(task(1));
  note("accepted", { job: "metered", key: "key 1", ids: [metered], text: "[1]" });
  const { id: priced } = await load.priced.dispatch(task(8, { cost: 2 }));
  await load.ledger.dispatch(task(2));
  const tasks = [task(3), task(4, { failures: 2 })];
  const batch = await jobs
    .batch("campaign")
    .add(load.member.many(tasks))
    .onSuccess(callback(5))
    .onFailure(callback(6))
    .onFinish(callback(7));
  note("batched", { ids: [batch.id], text: "[3,4]" });
  expect(await countUnfinished(target, [])).toBeGreaterThan(0);
  while ((await countUnfinished(target, [])) > 0) await jobs.run();
  expect(await runningTicks(target)).toEqual([]);
  const evidence = { ...(await gather(target, journal)), footprint: { rows: {}, connections: null } };
  expect(check(evidence)).toEqual([]);
  // The rules had something to judge.
  for (const run of [metered, priced]) expect(journal.find({ what: "claimed", run })).toHaveLength(1);
  expect(evidence.batches).toMatchObject([{ added: 2, completed: 1, failed: 1 }]);
  expect(evidence.finished.map((run) => run.batch_id).filter((id) => id?.includes("/"))).toHaveLength(2);
  expect(evidence.finished.filter(({ attempts }) => attempts === 2)).toHaveLength(1);
  // A member that was counted twice, and one that vanished, would be reported.
  const [counted] = evidence.batches;
  expect(check({ ...evidence, batches: [{ ...counted!, completed: 2 }] })).toHaveLength(1);
  expect(check({ ...evidence, finished: [] }).length).toBeGreaterThan(0);
}

test("the checker accepts what SQLite has after a calm campaign", async () => {
  const folder = mkdtempSync(join(tmpdir(), "punctual-evidence-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "jobs.db");
  await checkCalm({ kind: "sqlite", connect: () => openFileAccess(file) }, `sqlite:${file}`);
});

onEachServer((kind) => {
  test("the checker accepts what the server has after a calm campaign", async () => {
    const scene = await Scene.on(kind, (await sharedServer(kind)).url);
    onTestFinished(() => scene.clear());
    await checkCalm({ kind, connect: () => openServerAccess(kind, scene.url) }, scene.url);
  });
});
