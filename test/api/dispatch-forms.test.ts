import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

describe("by definition and by name", () => {
  test("dispatches the same run", async () => {
    const { jobs } = open();
    const job = jobs
      .schedule("resize", (_args: { id: number }) => {})
      .queue("images")
      .priority(7);
    const one = await job.dispatch({ id: 1 });
    const two = await jobs.dispatch("resize", { id: 1 });
    const { id: _, ...first } = (await jobs.find(one.id))!;
    const { id: __, ...second } = (await jobs.find(two.id))!;
    expect(first).toEqual(second);
    expect(first).toMatchObject({
      name: "resize",
      queue: "images",
      priority: 7,
      args: { id: 1 },
      state: "ready",
    });
    expect([one.name, one.inserted]).toEqual(["resize", true]);
  });

  test("without arguments uses those of args(); given ones replace them", async () => {
    const { jobs } = open();
    const job = jobs
      .schedule("mail", (_args: { type: string; to?: string }) => {})
      .args({ type: "news", to: "all" });
    const argsOf = async (id: number) => (await jobs.find(id))?.args;
    expect(await argsOf((await job.dispatch()).id)).toEqual({ type: "news", to: "all" });
    expect(await argsOf((await jobs.dispatch("mail")).id)).toEqual({ type: "news", to: "all" });
    expect(await argsOf((await jobs.dispatch("mail", null)).id)).toEqual({ type: "news", to: "all" });
    expect(await argsOf((await job.dispatch({ type: "welcome" })).id)).toEqual({ type: "welcome" });
  });

  test.each([["text"], [42], [false], [[1, 2]], [{ nested: { deep: [null, "ü\u0000\ud800"] } }]])(
    "passes %j unchanged",
    async (args) => {
      const { jobs } = open();
      const seen: unknown[] = [];
      jobs.schedule("echo", (given: unknown) => void seen.push(given));
      await jobs.dispatch("echo", args);
      await jobs.run();
      expect(seen).toEqual([args]);
    },
  );

  test.each([
    [{ at: new Date(0) }, "args.at: a Date is not JSON", "toISOString()"],
    [{ list: [1, 2n] }, "args.list[1]: a BigInt is not JSON", "String(x)"],
    [{ f: () => {} }, "args.f: a function is not JSON", "Pass the data"],
    [{ n: Number.NaN }, "args.n: NaN is not JSON", "Pass null"],
    [{ m: new Map() }, "args.m: a Map is not JSON", "[...map]"],
    [JSON.parse('{"__proto__": 1}'), "args.__proto__: a key named __proto__", "Rename it"],
  ])("refuses values that JSON cannot represent, with their path: %s", async (args, ...parts) => {
    const { jobs } = open();
    const job = jobs.schedule("echo", (_args: unknown) => {});
    await expectRefusal(() => jobs.dispatch("echo", args), "INVALID_PAYLOAD", ...(parts as string[]));
    await expectRefusal(() => job.draft().dispatch(args), "INVALID_PAYLOAD", ...(parts as string[]));
    expect((await jobs.runs()).runs).toEqual([]);
  });
});

describe("an unknown name", () => {
  test("is refused, with similar names", async () => {
    const { jobs } = open();
    jobs.schedule("emails.send", () => {});
    jobs.declare("emails.sent");
    await expectRefusal(
      () => jobs.dispatch("email.send"),
      "UNKNOWN_JOB",
      'Job "email.send" is neither defined nor declared here',
      'Did you mean "emails.send"',
      '"emails.sent"?',
      "declare()",
    );
    const far = await expectRefusal(() => jobs.dispatch("zebra"), "UNKNOWN_JOB");
    expect(far.message).not.toContain("Did you mean");
  });

  test("is compared with the names in the database too", async () => {
    const db = new DatabaseSync(":memory:");
    const worker = open({}, db);
    worker.jobs
      .schedule("billing.charge", () => {})
      .queue("billing")
      .priority(3);
    await worker.jobs.run();
    const producer = open({}, db);
    const run = await producer.jobs.dispatch("billing.charge", { id: 1 });
    expect(await producer.jobs.find(run.id)).toMatchObject({ queue: "billing", priority: 3 });
    await expectRefusal(() => producer.jobs.dispatch("biling.charge"), "UNKNOWN_JOB", '"billing.charge"?');
    expect(await producer.jobs.run()).toBe(0);
    expect(await worker.jobs.run()).toBe(1);
  });
});

describe("declare()", () => {
  test("dispatches a job that another program defines", async () => {
    const db = new DatabaseSync(":memory:");
    const producer = open({ defaults: { queue: "from-here" } }, db);
    const charge = producer.jobs.declare<{ id: number }>("billing.charge");
    const run = await charge.dispatch({ id: 1 });
    await producer.jobs.dispatch("billing.charge", { id: 2 }, { delay: 5 });
    await charge.delay(10).dispatch({ id: 3 });
    await charge.dispatchMany([{ id: 4 }, { id: 5 }]);
    expect(await producer.jobs.find(run.id)).toMatchObject({
      queue: "from-here",
      priority: 100,
      args: { id: 1 },
    });
    expect(await producer.jobs.run()).toBe(0);

    const worker = open({ clock: producer.clock }, db);
    const seen: unknown[] = [];
    worker.jobs.schedule("billing.charge", (args: { id: number }) => void seen.push(args.id));
    await worker.clock.advance(10);
    expect(await worker.jobs.run({ parallel: 1 })).toBe(5);
    expect(seen).toEqual([1, 4, 5, 2, 3]);
  });

  test("may be followed by a definition, which wins", async () => {
    const { jobs } = open();
    const declared = jobs.declare<{ id: number }>("charge");
    jobs.schedule("charge", () => {}).queue("billing");
    const run = await declared.dispatch({ id: 1 });
    expect((await jobs.find(run.id))?.queue).toBe("billing");
    expect(await jobs.run()).toBe(1);
  });
});
