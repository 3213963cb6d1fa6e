import { expect } from "vitest";
import { cameAbout } from "../support/came-about.ts";
import { eventually } from "../support/eventually.ts";
import { STACK_TRACE } from "../support/start-child.ts";
import { test } from "./support/scene.ts";

test("a write lock held for a second makes workers wait without blocking their event loops", async ({
  scene,
}) => {
  // Enough and long enough that both workers have runs when the lock is taken.
  const runs = await scene.dispatchMany("free", 500, { do: "pause", ms: 50 });
  const names = ["first", "second"];
  const children = names.map((name) => scene.worker(name, { parallel: 5, ticks: 20, lease: 10 }));
  for (const by of names) await scene.journal.until({ by, what: "end" });

  scene.database.exec("begin immediate");
  const from = scene.journal.entries.length;
  const locked = performance.now();
  await eventually("a second to pass", () => performance.now() - locked >= 1000);
  const during = scene.journal.entries.slice(from);
  scene.database.exec("commit");

  for (const by of names) {
    expect(during.filter((entry) => entry.what === "tick" && entry.by === by).length).toBeGreaterThan(0);
    const ended = during.some((entry) => entry.what === "end" && entry.by === by);
    cameAbout("each worker had something to write while the lock was held", ended);
  }
  await scene.untilDrained();
  for (const { id } of runs) {
    expect(scene.finished(id)).toMatchObject({ state: 3, attempts: 1 });
    expect(scene.journal.find({ what: "start", run: id })).toHaveLength(1);
  }
  for (const child of children) {
    expect(child.isAlive).toBe(true);
    expect(await scene.stop(child)).toEqual({ code: 0, signal: null });
    expect(child.stderr).not.toMatch(STACK_TRACE);
  }
  expect(scene.journal.find({ what: "error" })).toEqual([]);
});

test("a lease that cannot be renewed in time is no longer trusted, even without an answer", async ({
  scene,
}) => {
  const { id } = await scene.job.held.dispatch({ do: "obey" });
  scene.worker("first");
  await scene.journal.until({ what: "start", run: id });
  scene.database.exec("begin immediate");
  try {
    await scene.journal.until({ what: "abort", run: id, code: "LEASE_LOST" });
  } finally {
    scene.database.exec("commit");
  }
});
