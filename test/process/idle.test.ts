import { expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import { test } from "./support/scene.ts";

// A sleep of an hour: without a wake-up the test would never end.
const sleep = "1h";

test("a full worker claims again as soon as a run under a limit is settled", async ({ scene }) => {
  await scene.dispatchMany("single", 5, { do: "pause", ms: 5 });
  scene.worker("only", { sleep, parallel: 1 });
  await scene.untilDrained();
});

test("a full worker claims again as soon as a long run is settled", async ({ scene }) => {
  await scene.dispatchMany("free", 6, { do: "pause", ms: 150 });
  scene.worker("only", { sleep, parallel: 2 });
  await scene.untilDrained();
});

test("a worker is woken by runs that another process dispatches", async ({ scene }) => {
  scene.worker("only", { sleep });
  await scene.journal.until({ what: "worker.started" });
  const [run] = await scene.dispatchMany("free", 1);
  await scene.untilFinished(run!.id);
});

test("a worker wakes up when a delayed run is due", async ({ scene }) => {
  scene.worker("only", { sleep });
  await scene.journal.until({ what: "worker.started" });
  const { id } = await scene.job.free.dispatch({ do: "return" }).delay("300ms");
  await scene.untilFinished(id);
});

test("prefetched runs are released to others while a handler takes long", async ({ scene }) => {
  await scene.dispatchMany("free", 1000);
  const first = scene.worker("first", { sleep, parallel: 1, whenAhead: "hold" });
  const { ids } = await scene.journal.until({ what: "ahead" });
  await eventually("them to be given back", () =>
    ids!.every((id) => scene.unfinished(id)?.state === 1 && scene.unfinished(id)?.attempts === 0),
  );
  expect(first.isAlive).toBe(true);
});
