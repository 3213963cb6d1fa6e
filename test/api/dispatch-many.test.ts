import { describe, expect, test } from "vitest";
import { listen, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

function* numbers(upTo: number): Generator<{ n: number }> {
  for (let n = 0; n < upTo; n++) yield { n };
}

async function* slowly(upTo: number): AsyncGenerator<{ n: number }> {
  for (const one of numbers(upTo)) {
    await Promise.resolve();
    yield one;
  }
}

describe("dispatchMany()", () => {
  test.each([
    ["an array", () => [...numbers(3)]],
    ["a generator", () => numbers(3)],
    ["a set", () => new Set(numbers(3))],
    ["an async generator", () => slowly(3)],
    ["a readable stream", () => new Blob([]).stream().constructor && ReadableStream.from(numbers(3))],
  ] as [string, () => Iterable<{ n: number }> | AsyncIterable<{ n: number }>][])(
    "accepts %s",
    async (_what, all) => {
      const { jobs } = open();
      const job = jobs.schedule("resize", (_args: { n: number }) => {});
      const runs = await job.dispatchMany(all(), { queue: "images", priority: 5, tags: ["bulk"], delay: 60 });
      expect(runs.map((run) => [run.name, run.inserted])).toEqual(Array(3).fill(["resize", true]));
      const found = await Promise.all(runs.map((run) => jobs.find(run.id)));
      expect(found.map((run) => run?.args)).toEqual([...numbers(3)]);
      for (const run of found) {
        expect(run).toMatchObject({ queue: "images", priority: 5, tags: ["bulk"], state: "scheduled" });
      }
      const batches = new Set(found.map((run) => run?.batchId));
      expect(batches.size).toBe(1);
      expect((await jobs.runs({ batch: [...batches][0]! })).runs).toHaveLength(3);
    },
  );

  test("of an empty list inserts nothing", async () => {
    const { jobs } = open();
    const job = jobs.schedule("resize", () => {});
    expect(await job.dispatchMany([])).toEqual([]);
    expect(await job.dispatchMany(slowly(0))).toEqual([]);
    expect((await jobs.runs()).runs).toEqual([]);
  });

  test("inserts 20,000 runs, in order", async () => {
    const { jobs } = open();
    const job = jobs.schedule("resize", (_args: { n: number }) => {}).concurrency(0);
    const dispatched = listen(jobs, "run.dispatched");
    const runs = await job.dispatchMany(slowly(20_000));
    expect(runs).toHaveLength(20_000);
    expect(dispatched).toHaveLength(20_000);
    expect((await jobs.find(runs[19_999]!.id))?.args).toEqual({ n: 19_999 });
    expect(new Set(runs.map(({ id }) => id)).size).toBe(20_000);
    // This many are not counted to the end.
    expect(await jobs.status()).toMatchObject({ capped: true, queues: [{ name: "default" }] });
  });

  test("makes one batch for each call", async () => {
    const { jobs } = open();
    const job = jobs.schedule("resize", () => {});
    const [[one], [two]] = await Promise.all([job.dispatchMany([{}]), job.dispatchMany([{}])]);
    const batch = async (id: number) => (await jobs.find(id))?.batchId;
    expect(await batch(one!.id)).not.toBe(await batch(two!.id));
  });

  test("refuses a list with one invalid row as a whole, before anything is sent", async () => {
    const { jobs } = open();
    const job = jobs.schedule("resize", (_args: unknown) => {});
    const list = [...numbers(12_000), { n: 1n }];
    await expectRefusal(() => job.dispatchMany(list), "INVALID_PAYLOAD", "args.n: a BigInt is not JSON");
    await expectRefusal(() => job.dispatchMany(new Set(list)), "INVALID_PAYLOAD");
    expect((await jobs.runs()).runs).toEqual([]);
  });

  test("of an async iterable inserts the groups before the invalid row", async () => {
    const { jobs } = open();
    const job = jobs.schedule("resize", (_args: unknown) => {});
    async function* withFault() {
      yield* slowly(12_000);
      yield { n: 1n };
    }
    await expectRefusal(() => job.dispatchMany(withFault()), "INVALID_PAYLOAD", "args.n");
    const [queue] = (await jobs.status()).queues;
    expect(queue?.ready).toBe(10_000);
  });

  test("rejects with the error of an iterable that throws", async () => {
    const { jobs } = open();
    const job = jobs.schedule("resize", (_args: unknown) => {});
    function* broken() {
      yield { n: 1 };
      throw new Error("file ended early");
    }
    await expect(job.dispatchMany(broken())).rejects.toThrow("file ended early");
    expect((await jobs.runs()).runs).toEqual([]);
  });

  test.each([[undefined], [null], [5], ["abc"], [{}]])("refuses %j", async (all) => {
    const { jobs } = open();
    const job = jobs.schedule("resize", () => {});
    await expectRefusal(
      () => job.dispatchMany(all as never),
      "INVALID_OPTION",
      "dispatchMany() expected a list of arguments",
      "got",
    );
  });

  test("with a unique key inserts the first run, and the others get its id", async () => {
    const { jobs } = open();
    const job = jobs.schedule("resize", () => {});
    const runs = await job.dispatchMany([{}, {}, {}], { unique: "once" });
    expect(runs.map((run) => run.inserted)).toEqual([true, false, false]);
    expect(new Set(runs.map((run) => run.id)).size).toBe(1);
  });

  test("uses the definition's arguments for missing ones, and computes the key of each", async () => {
    const { jobs } = open();
    const job = jobs
      .schedule("resize", (_args: { n: number }) => {})
      .args({ n: 7 })
      .concurrency(0, { perKey: 1, by: (args) => `user-${args.n}` });
    const runs = await job.dispatchMany([{ n: 1 }, undefined as never, { n: 2 }]);
    const found = await Promise.all(runs.map((run) => jobs.find(run.id)));
    expect(found.map((run) => run?.key)).toEqual(["user-1", "user-7", "user-2"]);
  });
});
