import { describe, expect, onTestFinished, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { TestClock } from "../../src/testing/index.ts";

function scene() {
  const clock = new TestClock();
  const jobs = new Punctual("sqlite::memory:", { clock, logger: false });
  onTestFinished(() => jobs.stop());
  return { clock, jobs };
}

const by = (args: { shop: string }) => args.shop;

describe("a rate is refused", () => {
  for (const [what, limit, per, options, message] of [
    ["of 0", 0, "1m", {}, "Expected the limit of rate() as a whole number of at least 1, got 0."],
    [
      "of 2^40",
      2 ** 40,
      "1m",
      {},
      "Expected the limit of rate() as a whole number of at most 2147483647, got 1099511627776.",
    ],
    [
      "of a fraction",
      1.5,
      "1m",
      {},
      "Expected the limit of rate() as a whole number of at least 1, got 1.5.",
    ],
    ["in less than 10 ms", 5, "9ms", {}, 'Expected the time of rate() as at least 10 ms, got "9ms".'],
    ["in no time", 5, 0, {}, "Expected the time of rate() as at least 10 ms, got 0."],
    [
      "with a burst of 0",
      5,
      "1m",
      { burst: 0 },
      "Expected burst of rate() as a whole number of at least 1, got 0.",
    ],
    [
      "with a burst above it",
      5,
      "1m",
      { burst: 6 },
      "Expected burst of rate() as at most the limit, 5, got 6",
    ],
    ["of nothing", null, "1m", {}, "rate() expected a limit, or null and perKey, got null and no perKey."],
    ["with a burst of nothing", null, "1m", { burst: 2, perKey: 3 }, "burst of rate() belongs to a limit"],
    ["with a key without a limit", 5, "1m", { by }, "by of rate() needs perKey"],
    [
      "of 0 for each key",
      5,
      "1m",
      { perKey: 0, by },
      "Expected the limit of perKey of rate() as a whole number",
    ],
    [
      "with an unknown option",
      5,
      "1m",
      { bursts: 2 },
      'rate() has no option "bursts". Did you mean "burst"?',
    ],
  ] as const) {
    test(what, () => {
      const { jobs } = scene();
      const job = jobs.define("job", async (_: { shop: string }) => {});
      const set = () => job.rate(limit, per, options as never);
      expect(set).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
      expect(set).toThrow(message);
    });
  }

  test("with another key than that of the limit", () => {
    const { jobs } = scene();
    const two = "share one key, got two different functions as by";
    const other = (args: { shop: string }) => args.shop.toLowerCase();
    const first = jobs.define("first", async (_: { shop: string }) => {}).concurrency(0, { perKey: 1, by });
    expect(() => first.rate(5, "1s", { perKey: 1, by: other })).toThrow(two);
    first.rate(5, "1s", { perKey: 1, by });
    const second = jobs.define("second", async (_: { shop: string }) => {}).rate(5, "1s", { perKey: 1, by });
    expect(() => second.concurrency(0, { by: other })).toThrow(two);
    second.concurrency(0, { by });
  });

  test("of a queue, without a limit or with an unknown option", () => {
    const { jobs } = scene();
    expect(() => jobs.queue("api", { rate: { per: "1m" } as never })).toThrow(
      "Expected the limit of rate of queue()",
    );
    expect(() => jobs.queue("api", { rate: { limit: 0, per: "1m" } })).toThrow("at least 1, got 0");
    expect(() => jobs.queue("api", { rate: { limit: 5, per: "1m", perKey: 1 } as never })).toThrow(
      "no option",
    );
  });
});

test("runs start as the rate admits them, and why() says when the next may", async () => {
  const { clock, jobs } = scene();
  const started: number[] = [];
  const job = jobs
    .define("mail", async () => void started.push(clock.now()))
    .concurrency(0)
    .rate(2, "1m");
  const runs = await job.dispatchMany([{}, {}, {}, {}, {}]);
  const begin = clock.now();
  await jobs.run();
  expect(started).toHaveLength(2);
  expect(await jobs.why(runs[4]!.id)).toBe(
    `Its job "mail" may start 2 in 1 min, and no start is left. It opens at ${new Date(begin + 60_000).toISOString()} (in 60 s); 2 ready runs come before it. No worker is alive.`,
  );
  expect(await jobs.rates()).toEqual([
    {
      job: "mail",
      key: null,
      queue: null,
      limit: 2,
      per: 60_000,
      burst: null,
      spent: 2,
      opensAt: new Date(begin + 60_000),
      slowedUntil: null,
    },
  ]);
  expect((await jobs.status()).jobs[0]).toMatchObject({
    limit: 0,
    keyLimit: 0,
    rates: { job: { limit: 2, per: 60_000 }, key: null },
  });
  const began = new Promise((resolve) => jobs.on("worker.started", resolve));
  void jobs.forever({ signals: false, sleep: "1h" });
  await began;
  await clock.advance(59.999);
  expect(started).toHaveLength(2);
  await clock.advance(0.001);
  expect(started).toHaveLength(4);
  await clock.advance(60);
  expect(started.map((at) => at - begin)).toEqual([0, 0, 60_000, 60_000, 120_000]);
});

test("rates() refuses a kind that it does not know", async () => {
  const { jobs } = scene();
  await expect(jobs.rates({ kind: "tenant" as never })).rejects.toThrow(
    'Expected the kind of rates() as one of job, key, queue, limit, got "tenant".',
  );
});

test("run() executes what was dispatched or retried since the last one, whatever a rate held back then", async () => {
  const { jobs } = scene();
  let isBroken = true;
  const other = jobs
    .define("other", async () => {
      if (isBroken) throw new Error("no");
    })
    .attempts(1);
  const rated = jobs.define("rated", async () => {}).rate(1, "1h");
  await rated.dispatchMany([{}, {}]);
  const failed = await other.dispatch({});
  // Twice: the second look finds only the run that the rate holds back.
  await jobs.run();
  await jobs.run();
  isBroken = false;
  await jobs.retry(failed.id);
  await jobs.run();
  expect(await jobs.find(failed.id)).toMatchObject({ state: "completed" });
  await jobs.run();
  const dispatched = await other.dispatch({});
  await jobs.run();
  expect(await jobs.find(dispatched.id)).toMatchObject({ state: "completed" });
});

test("a key is computed from the arguments, also for runs of a producer that cannot", async () => {
  const { jobs, clock } = scene();
  const started: string[] = [];
  const declared = jobs.declare<{ shop: string }>("sync");
  await declared.dispatchMany([{ shop: "a" }, { shop: "a" }, { shop: "b" }]);
  jobs
    .define("sync", async (args: { shop: string }) => void started.push(args.shop))
    .concurrency(0)
    .rate(null, "1s", { perKey: 1, by });
  await jobs.run();
  expect(started.sort()).toEqual(["a", "b"]);
  await clock.advance(1);
  await jobs.run();
  expect(started.sort()).toEqual(["a", "a", "b"]);
});

test("a queue has a rate over all its jobs", async () => {
  const { jobs } = scene();
  jobs.queue("api", { rate: { limit: 3, per: "1m" } });
  let started = 0;
  for (const name of ["one", "two"]) {
    const job = jobs.define(name, async () => void started++).queue("api");
    await job.dispatchMany([{}, {}]);
  }
  await jobs.run();
  expect(started).toBe(3);
  expect((await jobs.status()).queues).toMatchObject([
    { name: "api", limit: 0, rate: { limit: 3, per: 60_000, burst: null } },
  ]);
});
