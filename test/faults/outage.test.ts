import { beforeEach, describe, expect, test } from "vitest";
import type { Definition } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { behindProxy } from "./support/behind-proxy.ts";
import { onEachServer } from "./support/kinds.ts";
import type { Act } from "./support/server-worker.ts";

/** Seconds. */
const LEASE = 3;

onEachServer((kind) => {
  const at = behindProxy(kind);
  let job: Definition<Act>;
  beforeEach(async () => {
    job = at.scene
      .punctual(at.scene.direct)
      .schedule<Act>("work", () => {})
      .concurrency(0)
      .retries(3);
  });

  /** Expects that no attempt of a run began before the previous one had ended or was aborted. */
  function expectNoOverlap(id: number): void {
    const { entries } = at.scene.journal;
    const of = (what: string[], attempt: number) =>
      entries.findIndex((one) => what.includes(one.what) && one.run === id && one.attempt === attempt);
    for (let attempt = 2; of(["start"], attempt) >= 0; attempt++) {
      const over = of(["abort", "end", "rollback"], attempt - 1);
      expect(over, `try ${attempt - 1} to be over`).toBeGreaterThanOrEqual(0);
      expect(over).toBeLessThan(of(["start"], attempt));
    }
  }

  describe.each(["silent", "refusing"] as const)("a server that is %s for longer than a lease", (how) => {
    const goes = () => (how === "silent" ? at.proxy.pause() : at.proxy.refuse());

    test("aborts the run before it starts again on any worker, and only the last attempt is written", {
      timeout: 120_000,
    }, async () => {
      const worker = at.scene.worker("cut off", { lease: LEASE, parallel: 5 });
      await at.scene.journal.until({ what: "worker.started", by: "cut off" });
      const { id } = await job.dispatch({ held: true });
      await at.scene.journal.until({ what: "start", run: id, attempt: 1 });
      goes();
      await at.scene.journal.until({ what: "abort", run: id, attempt: 1, code: "LEASE_LOST" });
      // There is no other process, so this one reaps the run and claims it again.
      at.proxy.resume();
      await eventually(
        "the second try",
        () => at.scene.journal.find({ what: "start", run: id, attempt: 2 })[0],
        60_000,
      );
      expectNoOverlap(id);

      worker.send({});
      await at.scene.untilDrained(60_000);
      await at.scene.journal.until({ what: "run.lost", run: id, attempt: 1 });
      await at.scene.journal.until({ what: "run.completed", run: id, attempt: 2 });
      expect(at.scene.journal.find({ what: "run.completed", run: id })).toHaveLength(1);
      expect(await at.scene.history()).toMatchObject([{ id, state: 3, attempts: 2, crashes: 1 }]);
      expect(at.scene.journal.find({ what: "abort", attempt: 2 })).toEqual([]);
    });
  });

  test("a dispatch whose first connection fails is sent when the server is back; a read gives up before", async () => {
    at.proxy.refuse();
    const reading = at.scene.punctual().status();
    const dispatching = at.scene
      .punctual()
      .define("work", () => {})
      .dispatch();
    await expect(reading).rejects.toMatchObject({ code: "DATABASE_UNAVAILABLE" });
    at.proxy.resume();
    const { id } = await dispatching;
    expect(await at.scene.sql("select id from punctual_runs")).toEqual([{ id }]);
  });

  test("a run of a worker that is cut off starts on another one only after it was aborted", {
    timeout: 120_000,
  }, async () => {
    const cutOff = at.scene.worker("cut off", { lease: LEASE, parallel: 5 });
    await at.scene.journal.until({ what: "worker.started", by: "cut off" });
    const { id } = await job.dispatch({ held: true });
    await at.scene.journal.until({ what: "start", run: id, attempt: 1 });
    const other = at.scene.worker("other", { lease: LEASE, url: at.scene.direct });
    await at.scene.journal.until({ what: "worker.started", by: "other" });
    at.proxy.pause();
    await at.scene.journal.until({ what: "start", by: "other", run: id, attempt: 2 });
    expectNoOverlap(id);

    at.proxy.resume();
    for (const worker of [cutOff, other]) worker.send({});
    await at.scene.untilDrained(60_000);
    expect(await at.scene.history()).toMatchObject([{ id, state: 3, attempts: 2, crashes: 1 }]);
  });

  test("an outage shorter than a lease costs no attempt: each run runs once", {
    timeout: 120_000,
  }, async () => {
    const worker = at.scene.worker("blinking", { lease: 10, parallel: 5 });
    await at.scene.journal.until({ what: "worker.started" });
    const runs = await job.dispatchMany([{ held: true }, { held: true }]);
    for (const { id } of runs) await at.scene.journal.until({ what: "start", run: id });
    const until = async () =>
      (await at.scene.sql<{ until: number }>("select min(locked_until) as until from punctual_runs"))[0]!
        .until;
    for (const goes of [() => at.proxy.refuse(), () => at.proxy.pause()]) {
      const before = await until();
      await eventually("a renewal", async () => (await until()) > before);
      goes();
      // The answer to that renewal may be lost, and the next tries fail.
      const since = Date.now();
      await eventually("a third of a lease to pass", () => Date.now() - since > 3300);
      at.proxy.resume();
    }
    const before = await until();
    await eventually("a renewal", async () => (await until()) > before);
    worker.send({});
    await at.scene.untilDrained(60_000);
    expect((await at.scene.history()).map(({ attempts, crashes }) => [attempts, crashes])).toEqual([
      [1, 0],
      [1, 0],
    ]);
    expect(at.scene.journal.find({ what: "abort" })).toEqual([]);
  });

  test("a transaction that lasts longer than two leases and rolls back keeps its run", {
    timeout: 120_000,
  }, async () => {
    // Each reaps every two seconds.
    for (const name of ["first", "second", "third"]) {
      at.scene.worker(name, { lease: 4, parallel: 3, url: at.scene.direct });
      await at.scene.journal.until({ what: "worker.started", by: name });
    }
    const runs = await job.dispatchMany(Array.from({ length: 6 }, () => ({ transaction: 9000 })));
    for (const { id } of runs) await at.scene.journal.until({ what: "run.completed", run: id });
    for (const what of ["run.reaped", "run.lost", "abort"])
      expect(at.scene.journal.find({ what })).toEqual([]);
    expect(
      (await at.scene.history()).map(({ state, attempts, crashes }) => [state, attempts, crashes]),
    ).toEqual(runs.map(() => [3, 2, 0]));
    for (const { id } of runs) expectNoOverlap(id);
  });
});
