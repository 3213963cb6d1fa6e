import { expect } from "vitest";
import { cameAbout } from "../support/came-about.ts";
import { test } from "./support/scene.ts";

test("four processes execute 20,000 runs, each exactly once", async ({ scene }) => {
  const runs = [
    ...(await scene.dispatchMany("free", 17_000)),
    ...(await scene.dispatchMany("pair", 1000)),
    ...(await scene.dispatchMany("single", 500)),
    ...(await scene.dispatchMany("narrow", 1000)),
    ...(await scene.job.keyed.dispatchMany(
      Array.from({ length: 500 }, (_, index) => ({ do: "return" as const, key: `key ${index % 7}` })),
    )),
  ];
  // Not so short that a busy machine could lose a lease.
  const names = ["first", "second", "third", "fourth"];
  const children = names.map((name) => scene.worker(name, { lease: 30 }));
  await scene.untilDrained(55_000);

  const asked = runs.map(({ id }) => id).sort((a, b) => a - b);
  expect(asked).toHaveLength(20_000);
  for (const what of ["start", "end"]) {
    const ran = scene.journal.find({ what }).map(({ run }) => run!);
    expect(ran.sort((a, b) => a - b)).toEqual(asked);
  }
  const finished = scene.rows(
    "select id from punctual_history where state = 3 and attempts = 1 and crashes = 0",
  );
  expect(finished.map(({ id }) => id)).toEqual(asked);
  expect(scene.rows("select * from punctual_runs")).toEqual([]);
  expect(scene.rows("select * from punctual_attempts")).toEqual([]);
  const sharers = names.filter((by) => scene.journal.find({ what: "start", by }).length > 0);
  cameAbout("each of the four workers ran some", sharers.length === names.length);
  for (const child of children) expect(await scene.stop(child)).toEqual({ code: 0, signal: null });
  expect(scene.journal.find({ what: "error" })).toEqual([]);
  expect(scene.journal.find({ what: "run.lost" })).toEqual([]);
});
