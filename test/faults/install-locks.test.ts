import { expect, onTestFinished, test, vi } from "vitest";
import { mysqlParts } from "../../src/store/mysql/open.ts";
import { openStore } from "../../src/store/open.ts";
import { postgresParts } from "../../src/store/postgres/open.ts";
import { systemClock } from "../../src/time.ts";
import { newRun } from "../conformance/support/requests.ts";
import { sharedServer } from "../servers/shared.ts";
import { toFirstSchema } from "../support/first-schema.ts";
import { begin } from "./support/direct.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

const options = { clock: systemClock, prefix: "punctual_" };

onEachServer((kind) => {
  test("a migration leaves the lock queue while a reader is open, so that dispatches continue, and ends after it", async () => {
    const scene = await Scene.on(kind, (await sharedServer(kind)).url);
    onTestFinished(() => scene.clear());
    const store = await openStore(scene.url, options);
    onTestFinished(() => store.close());
    const { db, close } = await (kind === "postgres" ? postgresParts : mysqlParts)(scene.url, options);
    onTestFinished(close);
    const reader = await begin(kind, scene.direct, "read committed");
    let isDone = false;
    try {
      await reader.sql("select id from punctual_runs");
      const migrating = db.alone("punctual_", (tx) =>
        tx.run("alter table punctual_runs add column later int"),
      );
      migrating.then(
        () => {
          isDone = true;
        },
        () => {},
      );
      // Some of them come while the migration waits: each is delayed by at most one of its tries.
      const until = systemClock.monotonic() + 4000;
      let count = 0;
      for (; systemClock.monotonic() < until; count++) await store.insert([newRun()]);
      expect(count).toBeGreaterThan(5);
      expect(isDone).toBe(false);
      await reader.commit();
      await migrating;
      expect(await scene.sql("select later from punctual_runs")).toHaveLength(count);
    } finally {
      if (!isDone) await reader.commit().catch(() => {});
    }
  });

  test("install() rejects with DATABASE_BUSY when another session locks a table for 30 s, and works afterwards", async () => {
    const scene = await Scene.on(kind, (await sharedServer(kind)).url);
    onTestFinished(() => scene.clear());
    for (const statement of toFirstSchema(kind)) await scene.sql(statement);
    const jobs = scene.punctual();
    const reader = await begin(kind, scene.direct, "read committed");
    try {
      await reader.sql("select id from punctual_runs");
      hasten(20);
      const failure = await jobs.install().catch((error) => error);
      expect(failure).toMatchObject({ code: "DATABASE_BUSY" });
      expect(failure.message).toContain("another session has used one of them for 30 s");
    } finally {
      vi.restoreAllMocks();
      await reader.commit();
    }
    const { from, to } = await jobs.install();
    expect(from).toBeLessThan(to);
    expect(await jobs.install()).toMatchObject({ from: to, statements: [] });
  });
});

/** Makes the clock of retries run faster, so that 30 s pass in a few. */
function hasten(times: number): void {
  const began = performance.now();
  vi.spyOn(systemClock, "monotonic").mockImplementation(() => began + (performance.now() - began) * times);
}
