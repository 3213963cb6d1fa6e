import { describe, expect, test } from "vitest";
import type { DispatchOptions } from "../../src/index.ts";
import { heard, open } from "./instance.ts";
import { expectRefusal } from "./refusal.ts";

const start = Date.parse("2026-01-01T00:00:00Z");

describe("by definition and by name", () => {
  test("is the same", async () => {
    const { jobs } = open();
    const job = jobs.schedule("resize", (_args: { id: number }) => {}).queue("images").priority(7);
    const one = await job.dispatch({ id: 1 });
    const two = await jobs.dispatch("resize", { id: 1 });
    const { id: _, ...first } = (await jobs.find(one.id))!;
    const { id: __, ...second } = (await jobs.find(two.id))!;
    expect(first).toEqual(second);
    expect(first).toMatchObject({ name: "resize", queue: "images", priority: 7, args: { id: 1 }, state: "ready" });
    expect([one.name, one.inserted]).toEqual(["resize", true]);
  });

  test("without arguments gets those of args(), given ones replace them whole", async () => {
    const { jobs } = open();
    const job = jobs.schedule("mail", (_args: { type: string; to?: string }) => {}).args({ type: "news", to: "all" });
    const argsOf = async (id: number) => (await jobs.find(id))?.args;
    expect(await argsOf((await job.dispatch()).id)).toEqual({ type: "news", to: "all" });
    expect(await argsOf((await jobs.dispatch("mail")).id)).toEqual({ type: "news", to: "all" });
    expect(await argsOf((await jobs.dispatch("mail", null)).id)).toEqual({ type: "news", to: "all" });
    expect(await argsOf((await job.dispatch({ type: "welcome" })).id)).toEqual({ type: "welcome" });
  });

  test.each([["text"], [42], [false], [[1, 2]], [{ nested: { deep: [null, "ü\u0000\ud800"] } }]])(
    "%j arrives as it was",
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
    [JSON.parse('{"__proto__": 1}'), 'args.__proto__: a key named __proto__', "Rename it"],
  ])("what JSON cannot hold is refused with its path: %s", async (args, ...parts) => {
    const { jobs } = open();
    const job = jobs.schedule("echo", (_args: unknown) => {});
    await expectRefusal(() => jobs.dispatch("echo", args), "INVALID_PAYLOAD", ...(parts as string[]));
    await expectRefusal(() => job.draft().dispatch(args), "INVALID_PAYLOAD", ...(parts as string[]));
    expect((await jobs.runs()).runs).toEqual([]);
  });
});

describe("a name nobody knows", () => {
  test("is refused, with the names that are close", async () => {
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

  test("names in the database count as known, and as close", async () => {
    const { DatabaseSync } = await import("node:sqlite");
    const db = new DatabaseSync(":memory:");
    const worker = open({}, db);
    worker.jobs.schedule("billing.charge", () => {}).queue("billing").priority(3);
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
  test("dispatches what another program defines", async () => {
    const { DatabaseSync } = await import("node:sqlite");
    const db = new DatabaseSync(":memory:");
    const producer = open({ defaults: { queue: "from-here" } }, db);
    const charge = producer.jobs.declare<{ id: number }>("billing.charge");
    const run = await charge.dispatch({ id: 1 });
    await producer.jobs.dispatch("billing.charge", { id: 2 }, { delay: 5 });
    await charge.delay(10).dispatch({ id: 3 });
    await charge.dispatchMany([{ id: 4 }, { id: 5 }]);
    expect(await producer.jobs.find(run.id)).toMatchObject({ queue: "from-here", priority: 100, args: { id: 1 } });
    expect(await producer.jobs.run()).toBe(0);

    const worker = open({ clock: producer.clock }, db);
    const seen: unknown[] = [];
    worker.jobs.schedule("billing.charge", (args: { id: number }) => void seen.push(args.id));
    await worker.clock.advance(10);
    expect(await worker.jobs.run({ parallel: 1 })).toBe(5);
    expect(seen).toEqual([1, 4, 5, 2, 3]);
  });

  test("what is declared may be defined later, and the definition counts", async () => {
    const { jobs } = open();
    const declared = jobs.declare<{ id: number }>("charge");
    jobs.schedule("charge", () => {}).queue("billing");
    const run = await declared.dispatch({ id: 1 });
    expect((await jobs.find(run.id))?.queue).toBe("billing");
    expect(await jobs.run()).toBe(1);
  });
});

describe("the chain and the options object", () => {
  const whole: DispatchOptions = {
    delay: "1 minute",
    queue: "slow",
    priority: -3,
    key: "user-1",
    unique: { key: "once", until: "started", for: "1h" },
    timeout: 30,
    tags: ["a", "b"],
    expires: "2h",
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  };
  const expected = {
    queue: "slow",
    priority: -3,
    key: "user-1",
    uniqueKey: "once",
    tags: ["a", "b"],
    state: "scheduled",
    runAt: new Date(start + 60_000),
    args: { n: 1 },
  };

  test("say the same", async () => {
    const { jobs } = open();
    const job = jobs.schedule("task", (_args: { n: number }) => {});
    const chained = await jobs
      .dispatch("task")
      .args({ n: 1 })
      .delay("1 minute")
      .queue("slow")
      .priority(-3)
      .key("user-1")
      .unique("once", { until: "started", for: "1h" })
      .timeout(30)
      .tags("a", "b")
      .expires("2h")
      .traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    expect(await jobs.find(chained.id)).toMatchObject(expected);
    for (const dispatch of [
      () => jobs.dispatch("task", { n: 1 }, { ...whole, unique: "1" }),
      () => job.dispatch({ n: 1 }, { ...whole, unique: "2" }),
      () => job.draft().options({ ...whole, unique: "3" }).dispatch({ n: 1 }),
      () => jobs.draft().options({ ...whole, unique: "4" }).args({ n: 1 }).dispatch("task"),
    ]) {
      const run = await dispatch();
      expect(await jobs.find(run.id)).toMatchObject({ ...expected, uniqueKey: expect.stringMatching(/^\d$/) });
    }
    const [many] = await job.dispatchMany([{ n: 1 }], { ...whole, unique: "5" });
    expect(await jobs.find(many!.id)).toMatchObject({ ...expected, uniqueKey: "5" });
  });

  test("the handler sees what was said", async () => {
    const { jobs, clock } = open();
    const seen: unknown[] = [];
    jobs.schedule("task", (args, run) => {
      const { queue, key, tags, traceparent, createdAt, scheduledFor, parentId } = run;
      seen.push({ args, queue, key, tags, traceparent, createdAt, scheduledFor, parentId });
    });
    await jobs.dispatch("task", { n: 1 }, { ...whole, expires: "2h" });
    await clock.advance(61);
    await jobs.run();
    expect(seen).toEqual([
      {
        args: { n: 1 },
        queue: "slow",
        key: "user-1",
        tags: ["a", "b"],
        traceparent: whole.traceparent,
        createdAt: new Date(start),
        scheduledFor: new Date(start + 60_000),
        parentId: null,
      },
    ]);
  });

  test("a number is the delay in seconds", async () => {
    const { jobs } = open();
    const job = jobs.schedule("task", () => {});
    for (const dispatch of [
      () => jobs.dispatch("task", null, 3600),
      () => jobs.dispatch("task", undefined, 3600),
      () => job.dispatch(undefined, 3600),
      () => jobs.dispatch("task").options(3600),
      () => jobs.dispatch("task").delay(3600),
      () => jobs.dispatch("task").delay("1h"),
      () => jobs.dispatch("task").delay("60 minutes"),
      () => jobs.dispatch("task").at("2026-01-01T01:00:00Z"),
      () => jobs.dispatch("task").at("2026-01-01 01:00:00"),
      () => jobs.dispatch("task").at("2026-01-01T02:00:00+01:00"),
      () => jobs.dispatch("task").at(new Date(start + 3_600_000)),
      () => jobs.dispatch("task", null, { at: new Date(start + 3_600_000) }),
    ]) {
      const run = await dispatch();
      expect(await jobs.find(run.id)).toMatchObject({ state: "scheduled", runAt: new Date(start + 3_600_000) });
    }
  });

  test("at() and delay() replace each other", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const at = await jobs.dispatch("task").delay(60).at("2026-01-01T00:00:05Z");
    const delay = await jobs.dispatch("task").at("2026-01-01T00:00:05Z").delay(60);
    expect((await jobs.find(at.id))?.runAt).toEqual(new Date(start + 5000));
    expect((await jobs.find(delay.id))?.runAt).toEqual(new Date(start + 60_000));
  });

  test("an instant that has passed is due now", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const run = await jobs.dispatch("task").at("2020-01-01T00:00:00Z");
    expect(await run.state()).toBe("ready");
    expect(await jobs.run()).toBe(1);
  });

  test.each([
    [{ dealy: 5 }, "INVALID_OPTION", 'no option "dealy"', 'Did you mean "delay"?'],
    [{ args: {} }, "INVALID_OPTION", 'no option "args"', "Known: delay, at, queue"],
    ["soon", "INVALID_OPTION", "dispatch options or a delay in seconds", 'got "soon"'],
    [null, "INVALID_OPTION", "got null"],
    [[5], "INVALID_OPTION", "dispatch()", "got [5]"],
    [-1, "INVALID_DURATION", "a delay", "got -1"],
    [{ delay: "tomorrow" }, "INVALID_DURATION", "a delay", 'got "tomorrow"'],
    [{ delay: Number.NaN }, "INVALID_DURATION", "got NaN"],
    [{ at: "13:00" }, "INVALID_INSTANT", "a Date or an ISO 8601 text", 'got "13:00"'],
    [{ at: new Date(Number.NaN) }, "INVALID_INSTANT", "an invalid Date"],
    [{ at: 3600 }, "INVALID_INSTANT", "got 3600", "use delay()"],
    [{ at: "2026-02-30T00:00:00Z" }, "INVALID_INSTANT", "2026-02-30"],
    [{ priority: 1.5 }, "INVALID_OPTION", "a priority", "got 1.5"],
    [{ queue: "" }, "INVALID_NAME", "a queue name"],
    [{ timeout: 0 }, "INVALID_OPTION", "a timeout of more than 0", "got 0"],
    [{ timeout: "x" }, "INVALID_DURATION", "a timeout"],
    [{ expires: -1 }, "INVALID_DURATION", "expires", "got -1"],
    [{ unique: "" }, "INVALID_NAME", "a unique key"],
    [{ unique: { key: "a", until: "done" } }, "INVALID_OPTION", '"started" or "finished"', 'got "done"'],
    [{ unique: { key: "a", untill: "started" } }, "INVALID_OPTION", 'Did you mean "until"?'],
    [{ unique: { key: "a", for: "long" } }, "INVALID_DURATION", "unique for", 'got "long"'],
  ] as [unknown, Parameters<typeof expectRefusal>[1], ...string[]][])("%j is refused", async (options, code, ...parts) => {
    const { jobs } = open();
    const job = jobs.schedule("task", () => {});
    const chosen = options as DispatchOptions;
    for (const work of [
      () => jobs.dispatch("task", {}, chosen),
      () => job.dispatch(undefined, chosen),
      () => job.draft().options(chosen),
      () => jobs.draft().options(chosen),
      () => job.dispatchMany([{}], chosen),
    ]) {
      await expectRefusal(work, code, ...parts);
    }
  });

  test("a refused call takes the whole dispatch back", async () => {
    const { jobs } = open();
    const job = jobs.schedule("task", () => {});
    const dispatch = jobs.dispatch("task");
    await expectRefusal(() => dispatch.delay(-1), "INVALID_DURATION", "got -1");
    await expectRefusal(() => dispatch.delay(5), "INVALID_DURATION", "got -1");
    await expectRefusal(() => dispatch, "INVALID_DURATION", "got -1");
    await expectRefusal(() => jobs.dispatch("task").unique(""), "INVALID_NAME");
    await expectRefusal(() => jobs.dispatch("task", {}, { delay: -1 }), "INVALID_DURATION");
    await expectRefusal(() => job.dispatch({}, { priority: 1.5 }), "INVALID_OPTION");
    await expectRefusal(() => jobs.dispatch("ad hoc", () => {}).retries(0), "INVALID_OPTION");
    await expectRefusal(() => jobs.dispatch("ad hoc", () => {}, { queue: "" }), "INVALID_NAME");
    await jobs.dispatch("task");
    expect((await jobs.runs()).runs).toHaveLength(1);
  });
});

describe("register(), the registrar's form", () => {
  class CliController {
    static index1(args: unknown) {
      CliController.seen.push(["index1", args]);
    }
    index2(args: unknown) {
      CliController.seen.push(["index2", args]);
    }
    static seen: unknown[] = [];
  }

  test("now, at a time, on a queue", async () => {
    const { jobs, clock } = open();
    CliController.seen = [];
    const now = await jobs.register([CliController, "index2"], { ImmediateJob: "tester" }, null, "Dev");
    const later = await jobs.register([CliController, "index1"], { a: 1 }, new Date(start + 5000), "Dev");
    const plain = await jobs.register([CliController, "index1"]);
    expect(await jobs.find(now.id)).toMatchObject({ name: "CliController.index2", queue: "Dev", state: "ready" });
    expect(await jobs.find(later.id)).toMatchObject({ queue: "Dev", state: "scheduled", runAt: new Date(start + 5000) });
    expect(await jobs.find(plain.id)).toMatchObject({ queue: "default", state: "ready" });
    expect(await jobs.run({ parallel: 1 })).toBe(2);
    await clock.advance(5);
    expect(await jobs.run()).toBe(1);
    expect(CliController.seen).toEqual([
      ["index2", { ImmediateJob: "tester" }],
      ["index1", {}],
      ["index1", { a: 1 }],
    ]);
  });

  test("by name", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const run = await jobs.register("task", { a: 1 }, undefined, "Dev");
    expect(await jobs.find(run.id)).toMatchObject({ queue: "Dev", args: { a: 1 } });
    await expectRefusal(() => jobs.register("task", {}, "tomorrow"), "INVALID_INSTANT", 'got "tomorrow"');
  });
});

describe("a handler that dispatches", () => {
  test("is the parent of what it dispatches, however deep the call", async () => {
    const { jobs } = open();
    const later = async () => {
      await Promise.resolve();
      return jobs.dispatch("child", { by: "name" });
    };
    const child = jobs.schedule("child", () => {});
    jobs.schedule("parent", async () => {
      await child.dispatch();
      await later();
      await child.dispatchMany([{}, {}]);
      await jobs.delay(5).dispatch("child");
      await jobs.dispatch("ad hoc", () => {});
    });
    const parent = await jobs.dispatch("parent");
    await jobs.run();
    const { runs } = await jobs.runs({ parent: parent.id });
    expect(runs.map((run) => run.name).sort()).toEqual(["ad hoc", "child", "child", "child", "child", "child"]);
    expect((await jobs.find(parent.id))?.parentId).toBeNull();
    expect((await jobs.dispatch("child").then((run) => jobs.find(run.id)))?.parentId).toBeNull();
  });

  test("of another instance is nobody's parent", async () => {
    const { jobs } = open();
    const other = open();
    other.jobs.schedule("child", () => {});
    let id = 0;
    jobs.schedule("parent", async () => {
      id = (await other.jobs.dispatch("child")).id;
    });
    await jobs.dispatch("parent");
    await jobs.run();
    expect((await other.jobs.find(id))?.parentId).toBeNull();
  });

  test("in hooks too", async () => {
    const { jobs } = open();
    jobs.schedule("child", () => {});
    jobs
      .schedule("parent", () => {})
      .onBefore(() => jobs.dispatch("child"))
      .onSuccess(() => jobs.dispatch("child"))
      .onAfter(() => jobs.dispatch("child"));
    const parent = await jobs.dispatch("parent");
    await jobs.run();
    expect((await jobs.runs({ parent: parent.id })).runs).toHaveLength(3);
  });
});

describe("expires", () => {
  test("a run that did not start in time is skipped", async () => {
    const { jobs, clock } = open();
    let ran = 0;
    const hooks: string[] = [];
    jobs
      .schedule("task", () => void ran++)
      .onBefore(() => hooks.push("before"))
      .onAfter(() => hooks.push("after"));
    const late = await jobs.dispatch("task").expires(60);
    await clock.advance(61);
    const skipped = heard(jobs, "run.skipped");
    expect(await jobs.run()).toBe(1);
    expect(ran).toBe(0);
    expect(await skipped).toMatchObject({ id: late.id, reason: "expired before it started" });
    expect(await jobs.find(late.id)).toMatchObject({
      state: "skipped",
      error: { message: "expired before it started" },
    });
    await expectRefusal(() => late.wait(), "RUN_SKIPPED", "expired before it started");
    await jobs.dispatch("task").expires(60);
    await clock.advance(60);
    await jobs.run();
    expect(ran).toBe(1);
    expect(hooks).toEqual(["before", "after"]);
  });
});
