import { describe, expect, onTestFinished, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { TestClock } from "../../src/testing/index.ts";

interface Tokens {
  tokens: number;
}

function scene() {
  const clock = new TestClock();
  const warnings: string[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (text: string) => void warnings.push(text) };
  const jobs = new Punctual("sqlite::memory:", { clock, logger });
  onTestFinished(() => jobs.stop());
  const started: string[] = [];
  const define = (name: string) =>
    jobs
      .define(name, async (args: Tokens) => void started.push(`${name} ${args.tokens}`))
      .concurrency(0)
      .under("openai", { cost: (args) => args.tokens });
  return { clock, jobs, warnings, started, define };
}

const cost = (args: Tokens) => args.tokens;

describe("limit() and under() refuse", () => {
  for (const [what, options, message] of [
    ["no option", {}, "limit() expected concurrency, rate or both, got neither."],
    [
      "an unknown option",
      { concurency: 3 },
      'limit() has no option "concurency". Did you mean "concurrency"?',
    ],
    [
      "a rate of 0",
      { rate: { limit: 0, per: "1m" } },
      "Expected the limit of rate of limit() as a whole number",
    ],
    ["a negative concurrency", { concurrency: -1 }, "Expected concurrency (0 = no limit) as a whole number"],
  ] as const) {
    test(`${what} of limit()`, () => {
      const { jobs } = scene();
      const set = () => jobs.limit("openai", options as never);
      expect(set).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
      expect(set).toThrow(message);
    });
  }

  test("a cost that is no function, and a cost without a limit", () => {
    const { jobs } = scene();
    const job = jobs.define("job", async (_: Tokens) => {});
    expect(() => job.under("openai", { cost: 3 as never })).toThrow(
      "cost of under() expected a function, got 3.",
    );
    expect(() => job.under(null, { cost })).toThrow("cost of under() belongs to a limit, got null");
    expect(() => job.under("openai", { costs: cost } as never)).toThrow('under() has no option "costs"');
    expect(() => job.under("")).toThrow(expect.objectContaining({ code: "INVALID_NAME" }));
  });
});

describe("a dispatch refuses a cost", () => {
  for (const [what, value, message] of [
    ["of 0", 0, "as a whole number of at least 1, got 0."],
    ["of a fraction", 1.5, "as a whole number of at least 1, got 1.5."],
    ["that is no number", "7", 'as a whole number of at least 1, got "7".'],
    ["that is a promise", "promise", "as a whole number of at least 1, got"],
    ["above the limit", 11, 'A run of job "sum" costs 11, and the limit "openai" admits 10 in its time'],
  ] as const) {
    test(what, async () => {
      const { jobs } = scene();
      jobs.limit("openai", { rate: { limit: 10, per: "1m" } });
      const sum = jobs
        .define("sum", async (_: Tokens) => {})
        .under("openai", {
          cost: () => (value === "promise" ? Promise.reject(new Error("late")) : value) as number,
        });
      const dispatch = async () => void (await sum.dispatch({ tokens: 1 }));
      await expect(dispatch()).rejects.toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
      await expect(dispatch()).rejects.toThrow(message);
    });
  }

  test("that cannot be computed", async () => {
    const { jobs } = scene();
    const sum = jobs
      .define("sum", async (_: Tokens) => {})
      .under("openai", {
        cost: () => {
          throw new Error("no tokenizer");
        },
      });
    const dispatch = async () => void (await sum.dispatch({ tokens: 1 }));
    await expect(dispatch()).rejects.toThrow("cost of under() threw Error: no tokenizer");
  });
});

test("jobs share the budget, a large run is not overtaken, and why() says what it waits for", async () => {
  const { clock, jobs, started, define } = scene();
  jobs.limit("openai", { concurrency: 20, rate: { limit: 1000, per: "1m" } });
  const [sum, chat] = [define("sum"), define("chat")];
  await sum.dispatch({ tokens: 700 });
  const large = await sum.dispatch({ tokens: 600 });
  await chat.dispatch({ tokens: 100 });
  const begin = clock.now();
  await jobs.run();
  expect(started).toEqual(["sum 700"]);
  expect(await jobs.why(large.id)).toBe(
    `Its limit "openai" admits 1000 in 1 min, and 700 are spent; the run costs 600. It opens at ${new Date(begin + 60_000).toISOString()} (in 60 s). No worker is alive.`,
  );
  const rate = { job: null, key: null, queue: null, name: "openai", limit: 1000, per: 60_000, burst: null };
  expect(await jobs.rates({ kind: "limit" })).toEqual([
    { ...rate, spent: 700, opensAt: null, slowedUntil: null },
  ]);
  expect((await jobs.status()).limits).toEqual([
    {
      name: "openai",
      limit: 20,
      rate: { limit: 1000, per: 60_000, burst: null },
      jobs: ["chat", "sum"],
      running: 0,
    },
  ]);
  await clock.advance(60);
  await jobs.run();
  expect(started).toEqual(["sum 700", "sum 600", "chat 100"]);
});

test("a run that costs more than a lowered limit starts when nothing else is spent, and why() says so", async () => {
  const { clock, jobs, started, define } = scene();
  jobs.limit("openai", { rate: { limit: 1000, per: "1m" } });
  const sum = define("sum");
  await sum.dispatch({ tokens: 100 });
  await jobs.run();
  const large = await sum.dispatch({ tokens: 900 });
  jobs.limit("openai", { rate: { limit: 500, per: "1m" } });
  await jobs.run();
  expect(await jobs.why(large.id)).toContain(
    "the run costs 900, which is more than the limit: it starts when nothing else is spent",
  );
  await clock.advance(60);
  await jobs.run();
  expect(started).toEqual(["sum 100", "sum 900"]);
  jobs.limit("openai", null);
  await sum.dispatch({ tokens: 5000 });
  await jobs.run();
  expect(started).toHaveLength(3);
});

test("a limit that no process has defined lets no run start, and the log and why() name it", async () => {
  const { jobs, started, warnings, define } = scene();
  const sum = define("sum");
  const run = await sum.dispatch({ tokens: 5 });
  await jobs.run();
  await jobs.run();
  expect(started).toEqual([]);
  expect(warnings).toEqual([
    'no process has defined the limit "openai": runs of "sum" wait until one calls limit("openai", …). Check the name in under()',
  ]);
  expect(await jobs.why(run.id)).toContain('Its limit "openai" is not defined: call limit("openai", …)');
  jobs.limit("openai", { concurrency: 1 });
  await jobs.run();
  expect(started).toEqual(["sum 5"]);
});

test("a run whose producer does not know the cost is counted by its cost, and keeps its key", async () => {
  const { clock, jobs, started, define } = scene();
  jobs.limit("openai", { rate: { limit: 1000, per: "1m" } });
  const declared = jobs.declare<Tokens>("sum");
  const run = await declared.dispatch({ tokens: 900 }).key("tenant");
  await declared.dispatchMany([{ tokens: 200 }, { tokens: 50 }]);
  define("sum");
  await jobs.run();
  expect(started).toEqual(["sum 900"]);
  expect(await jobs.find(run.id)).toMatchObject({ key: "tenant", attempts: 1 });
  await clock.advance(60);
  await jobs.run();
  expect(started).toEqual(["sum 900", "sum 200", "sum 50"]);
});

test("the rate of the job and the named limit are independent of the order of the calls", () => {
  const { jobs } = scene();
  const one = jobs
    .define("one", async () => {})
    .rate(5, "1s")
    .under("openai");
  const two = jobs
    .define("two", async () => {})
    .under("openai")
    .rate(5, "1s");
  expect(one.settings.rates).toEqual(two.settings.rates);
  expect(two.under(null).settings.rates).toEqual({ job: { limit: 5, per: 1000, burst: null }, key: null });
  expect(
    jobs
      .define("three", async () => {})
      .under("openai")
      .under(null).settings.rates,
  ).toBeNull();
});
