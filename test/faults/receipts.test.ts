import { beforeEach, expect, test } from "vitest";
import type { Definition, Punctual, Run } from "../../src/index.ts";
import { behindProxy } from "./support/behind-proxy.ts";
import { commitOf, isInsert } from "./support/commits.ts";
import { onEachServer } from "./support/kinds.ts";

const RUNS = 5;

/** An insert is committed, its answer is lost, and its runs are finished and deleted before it is sent again. */
onEachServer((kind) => {
  const at = behindProxy(kind);
  let ran: number[];
  let inserted: boolean[];
  let job: Definition<{ n: number }>;
  let worker: Punctual;

  const define = (jobs: Punctual) =>
    jobs
      .schedule("work", (_: { n: number }, run) => void ran.push(run.id))
      .concurrency(0)
      .keep(0);

  beforeEach(async () => {
    ran = [];
    inserted = [];
    const jobs = at.scene.punctual();
    jobs.on("run.dispatched", (event) => inserted.push(event.inserted));
    job = define(jobs);
    worker = at.scene.punctual(at.scene.direct);
    define(worker);
  });

  const each = <Made>(make: (n: number) => Made): Made[] => Array.from({ length: RUNS }, (_, n) => make(n));

  /** Only the worker, which does not use the proxy, reaches the server until the runs are gone. */
  async function loseAnswer(to: (sent: Buffer) => boolean, dispatch: () => Promise<Run[]>): Promise<Run[]> {
    const cut = at.proxy.cutWhen(to, { deliver: true });
    const dispatched = dispatch();
    await cut;
    at.proxy.pause();
    const working = worker.forever({ signals: false });
    await at.scene.untilDrained();
    expect(ran).toHaveLength(RUNS);
    at.proxy.resume();
    const runs = await dispatched;
    // A run that was inserted twice would run now.
    await at.scene.untilDrained();
    await worker.stop();
    expect(await working).toBe(RUNS);
    return runs;
  }

  function expectEachOnce(runs: Run[]): void {
    expect(ran.sort((a, b) => a - b)).toEqual(runs.map(({ id }) => id));
    expect(inserted).toEqual(each(() => true));
  }

  test("single dispatches", async () => {
    expectEachOnce(
      await loseAnswer(isInsert, () => Promise.all(each((n) => job.dispatch({ n }) as PromiseLike<Run>))),
    );
  });

  test("many dispatches at once", async () => {
    expectEachOnce(await loseAnswer(isInsert, async () => job.dispatchMany(each((n) => ({ n })))));
  });

  test("more dispatches than fit into one packet", async () => {
    const text = "x".repeat(8_000);
    const to = kind === "postgres" ? isInsert : commitOf(kind, "insert");
    expectEachOnce(await loseAnswer(to, async () => job.dispatchMany(each((n) => ({ n, text })))));
  });

  test("dispatches with unique keys", async () => {
    expectEachOnce(
      await loseAnswer(commitOf(kind, "insert"), () =>
        Promise.all(each((n) => job.dispatch({ n }).unique(`key ${n}`) as PromiseLike<Run>)),
      ),
    );
  });

  test("a unique key that another run holds stays with it", async () => {
    const other = at.scene.punctual(at.scene.direct);
    const holder = await define(other).dispatch({ n: 0 }).unique("held").delay("1 hour");
    const cut = at.proxy.cutWhen(commitOf(kind, "insert"), { deliver: true });
    const dispatched = Promise.all(
      ["held", "free"].map((key) => job.dispatch({ n: 1 }).unique(key) as PromiseLike<Run>),
    );
    await cut;
    const [held, free] = await dispatched;
    expect(inserted).toEqual([false, true]);
    expect(held!.id).toBe(holder.id);
    expect(await at.scene.sql("select id from punctual_runs order by id")).toEqual([
      { id: holder.id },
      { id: free!.id },
    ]);
  });

  test("old receipts are deleted", async () => {
    await job.dispatch({ n: 0 });
    await job.dispatch({ n: 1 });
    const [old, young] = await at.scene.sql("select id from punctual_receipts order by id");
    await at.scene.sql(
      "update punctual_receipts set created_at = created_at - 3600000 where id = ?",
      old!.id,
    );
    await worker.prune();
    expect(await at.scene.sql("select id from punctual_receipts")).toEqual([{ id: young!.id }]);
  });
});
