import { describe, expect, onTestFinished, test, vi } from "vitest";
import { SqliteStore } from "../../src/store/sqlite/store.ts";
import { yieldToEventLoop } from "../../src/time.ts";
import { heard, listen, open } from "./support/instance.ts";

/** Enough for a worker to know how long the job takes, and to claim long chains of it. */
const KNOWN = 64;

/** A run in the middle of a long chain. */
const MIDDLE = 40;

/** A job whose handler notes which arguments it got, in order, and how many ran at once. */
function scene(work: (n: number) => unknown = () => {}, concurrency = 1) {
  const one = open();
  const seen = { order: [] as number[], most: 0, now: 0 };
  const job = one.jobs
    .define("serial", async ({ n }: { n: number }) => {
      seen.order.push(n);
      seen.most = Math.max(seen.most, ++seen.now);
      try {
        await work(n);
        await yieldToEventLoop();
      } finally {
        seen.now--;
      }
    })
    .concurrency(concurrency)
    .retries({ max: 2, base: 0, jitter: "none" });
  const dispatch = (from: number, to: number) =>
    job.dispatchMany(Array.from({ length: to - from + 1 }, (_, index) => ({ n: from + index })));
  return { ...one, job, seen, dispatch };
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe("a job with a limit of 1", () => {
  test("runs one after the other, in order", async () => {
    const { jobs, seen, dispatch } = scene();
    await dispatch(1, 400);
    await jobs.run({ batch: 400 });
    expect(seen).toMatchObject({ most: 1, order: numbers(1, 400) });
  });

  test("has one running run, and why() names the run that the others wait for", async () => {
    let said: unknown[] = [];
    const { jobs, dispatch } = scene(async (n) => {
      if (n !== KNOWN) return;
      const { jobs: known } = await jobs.status();
      const next = await jobs.find(runs[KNOWN]!.id);
      said = [known[0]!.running, known[0]!.waiting > 5, next!.startedAt, await jobs.why(next!.id)];
    });
    const runs = await dispatch(1, KNOWN + 6);
    await jobs.run({ batch: 400 });
    expect(said).toEqual([
      1,
      true,
      null,
      expect.stringMatching(/^It waits behind run \d+ of its lane: worker .* has claimed both/),
    ]);
  });

  test("releases the runs behind a run that takes long", async () => {
    const long = Promise.withResolvers<void>();
    const { jobs, clock, seen, dispatch } = scene((n) => (n === KNOWN ? long.promise : undefined));
    const runs = await dispatch(1, KNOWN + 3);
    const pass = jobs.run({ batch: 400 });
    while (seen.order.length < KNOWN) await heard(jobs, "run.started");
    expect(await jobs.find(runs[KNOWN]!.id)).toMatchObject({ state: "ready", worker: expect.any(String) });
    await clock.advance("150ms");
    expect(await jobs.find(runs[KNOWN]!.id)).toMatchObject({ state: "ready", attempts: 0 });
    long.resolve();
    await pass;
    expect(seen).toMatchObject({ most: 1, order: numbers(1, KNOWN + 3) });
  });

  test("executes a run that is retried at once before the runs behind it", async () => {
    let failures = 0;
    const { jobs, seen, dispatch } = scene((n) => {
      if (n === KNOWN + 3 && failures++ === 0) throw new Error("once");
    });
    await dispatch(1, KNOWN + 6);
    await jobs.run({ batch: 400 });
    expect(seen.order.slice(KNOWN)).toEqual([1, 2, 3, 3, 4, 5, 6].map((n) => KNOWN + n));
    expect(seen.most).toBe(1);
  });

  test("does not start a run that is cancelled behind another", async () => {
    const { jobs, seen, dispatch } = scene(async (n) => {
      if (n !== KNOWN) return;
      const gone = heard(jobs, "run.cancelled");
      await jobs.cancel(runs[KNOWN]!.id);
      await gone;
    });
    const runs = await dispatch(1, KNOWN + 2);
    await jobs.run({ batch: 400 });
    expect(seen.order.slice(KNOWN - 1)).toEqual([KNOWN, KNOWN + 2]);
  });

  test("a run that is cancelled by the run before it does not start", async () => {
    // No exchange tells the worker of it: those that begin after the cancellation wait until the next run has begun.
    const { promise: next, resolve: begin } = Promise.withResolvers<void>();
    let mayExchange = Promise.resolve();
    const { exchange } = SqliteStore.prototype;
    vi.spyOn(SqliteStore.prototype, "exchange").mockImplementation(async function (
      this: SqliteStore,
      request,
    ) {
      await mayExchange;
      return exchange.call(this, request);
    });
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    const { jobs, seen, dispatch } = scene(async (n) => {
      if (n > MIDDLE) begin();
      if (n !== MIDDLE) return;
      mayExchange = next;
      expect(await jobs.cancel(runs[MIDDLE]!.id)).toBe("requested");
    });
    const runs = await dispatch(1, KNOWN);
    await jobs.run({ batch: 400 });
    expect(seen.order).toEqual([...numbers(1, MIDDLE), ...numbers(MIDDLE + 2, KNOWN)]);
    expect((await jobs.find(runs[MIDDLE]!.id))!.state).toBe("cancelled");
  });

  test("starts none of the runs behind another once it is paused", async () => {
    const { jobs, seen, dispatch } = scene(async (n) => {
      if (n !== MIDDLE) return;
      const released = heard(jobs, "run.released");
      await jobs.pauseJob("serial");
      await released;
    });
    const runs = await dispatch(1, KNOWN);
    await jobs.run({ batch: 400 });
    expect(seen.order).toEqual(numbers(1, MIDDLE));
    expect(await jobs.find(runs[MIDDLE]!.id)).toMatchObject({ state: "ready", attempts: 0 });
    await jobs.resumeJob("serial");
    await jobs.run({ batch: 400 });
    expect(seen).toMatchObject({ most: 1, order: numbers(1, KNOWN) });
  });

  test("releases runs whose leases are no longer trusted when the run before them returns", async () => {
    const { jobs, clock, seen, dispatch } = scene((n) => {
      // The host was suspended, and no timer has run since.
      if (n === MIDDLE) clock.set(new Date(clock.now() + 3_600_000));
    });
    const released = listen(jobs, "run.released");
    const runs = await dispatch(1, KNOWN);
    await jobs.run({ batch: 400 });
    const [first, second] = runs.slice(MIDDLE);
    expect(released.slice(0, 2)).toMatchObject([{ id: first!.id }, { id: second!.id }]);
    expect(seen).toMatchObject({ most: 1, order: numbers(1, KNOWN) });
  });
});

test("a job with a limit of n has n runs at once, never more", async () => {
  const { jobs, seen, dispatch } = scene(() => yieldToEventLoop(), 3);
  await dispatch(1, 300);
  await jobs.run({ batch: 300 });
  expect(seen.most).toBe(3);
  expect(seen.order.toSorted((a, b) => a - b)).toEqual(numbers(1, 300));
});
