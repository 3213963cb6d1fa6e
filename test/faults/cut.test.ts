import { beforeEach, describe, expect, test } from "vitest";
import type { Definition, Punctual, Run } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { behindProxy } from "./support/behind-proxy.ts";
import { commitOf, isInsert } from "./support/commits.ts";
import { onEachServer } from "./support/kinds.ts";

const RUNS = 5;

onEachServer((kind) => {
  const at = behindProxy(kind);
  let jobs: Punctual;
  let job: Definition<{ n: number }>;
  let ran: number[];
  let working: Promise<number> | null;
  let errors: unknown[];

  beforeEach(async () => {
    ran = [];
    errors = [];
    working = null;
    jobs = at.scene.punctual();
    job = jobs.schedule("work", (_: { n: number }, run) => void ran.push(run.id)).concurrency(0);
    jobs.on("error", ({ error, during }) => errors.push(`${during}: ${error}`));
  });

  const dispatchAll = () =>
    Promise.all(Array.from({ length: RUNS }, (_, n) => job.dispatch({ n }) as PromiseLike<Run>));

  async function work(): Promise<void> {
    const started = new Promise<void>((resolve) => void jobs.on("worker.started", () => resolve()));
    working = jobs.forever({ signals: false });
    await started;
  }

  async function expectEachOnce(runs: Run[]): Promise<void> {
    const ids = runs.map(({ id }) => id);
    await at.scene.untilDrained();
    await jobs.stop();
    expect(await working).toBe(RUNS);
    expect(ran.sort((a, b) => a - b)).toEqual(ids);
    const history = await at.scene.history();
    expect(history.map(({ id, state, attempts, crashes }) => ({ id, state, attempts, crashes }))).toEqual(
      ids.map((id) => ({ id, state: 3, attempts: 1, crashes: 0 })),
    );
    expect(await at.scene.sql("select * from punctual_attempts")).toEqual([]);
    expect(
      await at.scene.sql(
        "select sum(dispatched) as dispatched, sum(completed) as completed, sum(crashed) as crashed from punctual_minutes",
      ),
    ).toEqual([{ dispatched: RUNS, completed: RUNS, crashed: 0 }]);
    expect(errors).toEqual([]);
  }

  describe.each([
    { how: "delivered, and the answer is lost", deliver: true },
    { how: "not delivered", deliver: false },
  ])("$how", ({ deliver }) => {
    test("an insert takes effect once", async () => {
      await work();
      const cut = at.proxy.cutWhen(isInsert, { deliver });
      const runs = await dispatchAll();
      await cut;
      await expectEachOnce(runs);
    });

    test("the commit of an insert with unique keys is recognised as its own", async () => {
      const inserted: boolean[] = [];
      jobs.on("run.dispatched", (event) => inserted.push(event.inserted));
      const cut = at.proxy.cutWhen(commitOf(kind, "insert"), { deliver });
      const runs = await Promise.all(
        Array.from({ length: RUNS }, (_, n) => job.dispatch({ n }).unique(`key ${n}`) as PromiseLike<Run>),
      );
      await cut;
      expect(inserted).toEqual(Array.from({ length: RUNS }, () => true));
      await work();
      await expectEachOnce(runs);
    });

    test("the commit of a claim takes effect once", async () => {
      const runs = await dispatchAll();
      const cut = at.proxy.cutWhen(commitOf(kind, "claim"), { deliver });
      await work();
      await cut;
      await expectEachOnce(runs);
    });

    test("the commit of a completion takes effect once", async () => {
      const runs = await dispatchAll();
      const cut = at.proxy.cutWhen(commitOf(kind, "completion"), { deliver });
      await work();
      await cut;
      await expectEachOnce(runs);
    });
  });

  test("the commit of counts takes effect once while the instance stops", async () => {
    await work();
    const cut = at.proxy.cutWhen(commitOf(kind, "counts"), { deliver: false });
    const runs = await dispatchAll();
    await at.scene.untilDrained();
    await cut;
    await expectEachOnce(runs);
  });

  test("work continues if every connection is cut again and again", async () => {
    await work();
    // Less and less often: on a busy machine a new connection takes a while to be usable.
    let wait = 50;
    let cutting: NodeJS.Timeout;
    const cut = () => {
      at.proxy.cut();
      wait *= 1.2;
      cutting = setTimeout(cut, wait);
    };
    cut();
    const runs: Run[] = [];
    for (let n = 0; n < RUNS; n++) {
      const run = await job.dispatch({ n });
      runs.push(run);
      await eventually(`run ${run.id}`, () => ran.includes(run.id));
    }
    clearTimeout(cutting!);
    await expectEachOnce(runs);
  });
});
