// biome-ignore-all lint/complexity/noStaticOnlyClass: a job class may have nothing but its static handle.
// biome-ignore-all lint/complexity/noThisInStatic: whether `this` is the class is what is tested.
import { describe, expect, test } from "vitest";
import type { RunContext } from "../../src/index.ts";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

type Call = [who: string, args: unknown, run: number];
const calls: Call[] = [];
const told = () => calls.splice(0);

class StaticReport {
  static readonly kind = "static";
  static handle(args: { day: number }, run: RunContext) {
    calls.push([StaticReport === this ? StaticReport.kind : "lost its class", args, run.id]);
  }
}

class InstanceReport {
  static made = 0;
  readonly number: number = ++InstanceReport.made;
  handle(args: { day: number }, run: RunContext) {
    calls.push([`instance ${this.number}`, args, run.id]);
  }
}

class Both {
  static handle(args: unknown, run: RunContext) {
    calls.push(["static", args, run.id]);
  }
  handle(args: unknown, run: RunContext) {
    calls.push(["instance", args, run.id]);
  }
}

class Inherited extends StaticReport {}

class Reports {
  readonly greeting = "hello";
  static daily(args: { day: number }, run: RunContext) {
    calls.push([`daily of ${this.name}`, args, run.id]);
  }
  weekly(args: { week: number }, run: RunContext) {
    calls.push([`weekly, ${this.greeting}`, args, run.id]);
  }
  async call(args: unknown, run: RunContext) {
    calls.push(["call", args, run.id]);
  }
}

describe("a function", () => {
  test("gets the arguments and its run", async () => {
    const { jobs } = open();
    jobs.schedule("report", (args: { day: number }, run) => void calls.push(["function", args, run.id]));
    const run = await jobs.dispatch("report", { day: 1 });
    await jobs.run();
    expect(told()).toEqual([["function", { day: 1 }, run.id]]);
  });

  test("gets {} without arguments", async () => {
    const { jobs } = open();
    jobs.schedule("report", (args, run) => void calls.push(["function", args, run.id]));
    const run = await jobs.dispatch("report");
    await jobs.run();
    expect(told()).toEqual([["function", {}, run.id]]);
  });
});

describe("a class", () => {
  test("with a static handle can be defined or dispatched", async () => {
    const { jobs } = open();
    const definition = jobs.schedule(StaticReport);
    expect(definition.name).toBe("StaticReport");
    const run = await jobs.dispatch(StaticReport, { day: 1 });
    const other = await jobs.dispatch("StaticReport", { day: 2 });
    await jobs.run({ parallel: 1 });
    expect(told()).toEqual([
      ["static", { day: 1 }, run.id],
      ["static", { day: 2 }, other.id],
    ]);
  });

  test("with an instance handle gets a new instance for each run", async () => {
    const { jobs } = open();
    InstanceReport.made = 0;
    jobs.schedule(InstanceReport);
    expect(InstanceReport.made).toBe(0);
    const first = await jobs.dispatch(InstanceReport, { day: 1 });
    const second = await jobs.dispatch(InstanceReport, { day: 2 });
    await jobs.run();
    expect(told()).toEqual([
      ["instance 1", { day: 1 }, first.id],
      ["instance 2", { day: 2 }, second.id],
    ]);
  });

  test("prefers a static handle to one of the instance", async () => {
    const { jobs } = open();
    const run = await jobs.dispatch(Both);
    await jobs.run();
    expect(told()).toEqual([["static", {}, run.id]]);
  });

  test("that is dispatched is a job from then on", async () => {
    const { jobs } = open();
    const first = jobs.dispatch(Both);
    expect(jobs.definitions().map(({ name }) => name)).toEqual(["Both"]);
    await first;
    expect((await jobs.dispatch(Both)).name).toBe("Both");
    expect(await jobs.run()).toBe(2);
    told();
  });

  test("inherits its handle", async () => {
    const { jobs } = open();
    const run = await jobs.dispatch(Inherited, { day: 3 });
    expect(run.name).toBe("Inherited");
    await jobs.run();
    expect(told()).toEqual([["lost its class", { day: 3 }, run.id]]);
  });

  test("can be defined under another name", async () => {
    const { jobs } = open();
    jobs.schedule("reports.static", StaticReport);
    jobs.schedule("reports.instance", InstanceReport);
    await jobs.dispatch("reports.static", { day: 1 });
    await jobs.dispatch("reports.instance", { day: 1 });
    await jobs.run();
    expect(told().map(([who]) => who.split(" ")[0])).toEqual(["static", "instance"]);
  });

  test("is named by static jobName, else by its class name", async () => {
    const { jobs } = open();
    class Named {
      static jobName = "reports.named";
      static handle() {}
    }
    class Empty {
      static jobName = "";
      static handle() {}
    }
    expect(jobs.schedule(Named).name).toBe("reports.named");
    expect(jobs.schedule(Empty).name).toBe("Empty");
    expect((await jobs.dispatch(Named)).name).toBe("reports.named");
  });

  test("without a name is refused", async () => {
    const { jobs } = open();
    const [anonymous] = [
      class {
        static handle() {}
      },
    ];
    for (const work of [() => jobs.schedule(anonymous), () => jobs.dispatch(anonymous)]) {
      await expectRefusal(work, "INVALID_NAME", "needs a name", "static jobName");
    }
    expect(jobs.schedule("named.here", anonymous).name).toBe("named.here");
  });
});

describe("a class and a method", () => {
  test("may be static or of an instance", async () => {
    const { jobs } = open();
    const daily = await jobs.dispatch([Reports, "daily"], { day: 1 });
    const weekly = await jobs.dispatch([Reports, "weekly"], { week: 2 });
    expect([daily.name, weekly.name]).toEqual(["Reports.daily", "Reports.weekly"]);
    await jobs.run({ parallel: 1 });
    expect(told()).toEqual([
      ["daily of Reports", { day: 1 }, daily.id],
      ["weekly, hello", { week: 2 }, weekly.id],
    ]);
  });

  test("may be scheduled, then dispatched", async () => {
    const { jobs } = open();
    const definition = jobs.schedule([Reports, "daily"]).queue("reports");
    await expectRefusal(() => jobs.schedule([Reports, "daily"]), "DUPLICATE_JOB", "Reports.daily");
    expect(definition.name).toBe("Reports.daily");
    const run = await jobs.dispatch([Reports, "daily"], { day: 4 });
    expect(await jobs.find(run.id)).toMatchObject({ queue: "reports", args: { day: 4 } });
  });

  test("is not a method that every function inherits", async () => {
    const { jobs } = open();
    const run = await jobs.dispatch([Reports, "call"], { a: 1 });
    await jobs.run();
    expect(told()).toEqual([["call", { a: 1 }, run.id]]);
    for (const method of ["bind", "toString", "constructor", "hasOwnProperty"]) {
      await expectRefusal(() => jobs.schedule([Reports, method]), "NO_HANDLER", `no method ${method}()`);
    }
  });

  test("must exist", async () => {
    const { jobs } = open();
    for (const work of [() => jobs.schedule([Reports, "yearly"]), () => jobs.dispatch([Reports, "yearly"])]) {
      await expectRefusal(
        work,
        "NO_HANDLER",
        'Job "Reports.yearly"',
        "class Reports has no method yearly()",
        "neither static nor on its instances",
      );
    }
  });
});

describe("resolve", () => {
  test("creates the instances, also asynchronously", async () => {
    const asked: unknown[] = [];
    const { jobs } = open({
      resolve: async (jobClass) => {
        asked.push(jobClass);
        const instance = new (jobClass as typeof InstanceReport)();
        Object.assign(instance, { number: 99 });
        return instance;
      },
    });
    const run = await jobs.dispatch(InstanceReport, { day: 1 });
    await jobs.dispatch(StaticReport, { day: 1 });
    await jobs.run({ parallel: 1 });
    expect(told()[0]).toEqual(["instance 99", { day: 1 }, run.id]);
    expect(asked).toEqual([InstanceReport]);
  });

  test.each([[undefined], [null], [{}]])("that returns %j fails the run with the reason", async (made) => {
    const { jobs } = open({ resolve: () => made });
    const run = await jobs.dispatch(InstanceReport, { day: 1 });
    await jobs.run();
    expect((await jobs.find(run.id))?.error).toMatchObject({
      code: "NO_HANDLER",
      message: expect.stringContaining("resolve(InstanceReport)"),
    });
  });

  test("that throws fails the run, and is called again for the next one", async () => {
    const { jobs } = open({
      resolve: () => {
        throw new Error("container is empty");
      },
    });
    const run = await jobs.dispatch(InstanceReport, { day: 1 });
    expect(await jobs.run()).toBe(1);
    expect((await jobs.find(run.id))?.error?.message).toBe("container is empty");
  });
});

describe("minified names", () => {
  const warnings: string[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (message: string) => warnings.push(message) };

  test("cause one warning, with a remedy", async () => {
    warnings.length = 0;
    const { jobs } = open({ logger });
    class a {
      static handle() {}
      static other() {}
    }
    await jobs.dispatch(a);
    await jobs.dispatch(a);
    await jobs.dispatch([a, "other"]);
    expect(warnings).toEqual([
      expect.stringMatching(/job "a" looks minified: give it a static jobName/),
      expect.stringMatching(/job "a\.other" looks minified/),
    ]);
  });

  test("cause none if a name was given", async () => {
    warnings.length = 0;
    const { jobs } = open({ logger });
    class b {
      static jobName = "ab";
      static handle() {}
    }
    class c {
      static handle() {}
    }
    await jobs.dispatch(b);
    jobs.schedule("reports.c", c);
    jobs.schedule("x", () => {});
    expect(warnings).toEqual([]);
  });
});

describe("a job without a handler", () => {
  test.each([
    ["nothing", undefined, "got undefined"],
    ["null", null, "got null"],
    ["text", "handler", 'got "handler"'],
    ["an object", { handle() {} }, "got {}"],
    ["a pair of texts", ["Reports", "daily"], 'got ["Reports","daily"]'],
  ])("%s", async (_what, handler, got) => {
    const { jobs } = open();
    await expectRefusal(
      () => jobs.schedule("job", handler as never),
      "NO_HANDLER",
      'Job "job" has no handler',
      'expected a function, a class with handle(), or [Class, "method"]',
      got,
    );
  });

  test("is refused for a class without handle()", async () => {
    const { jobs } = open();
    class Idle {}
    await expectRefusal(() => jobs.schedule(Idle), "NO_HANDLER", "class Idle has no method handle()");
    await expectRefusal(() => jobs.dispatch(Idle), "NO_HANDLER", "class Idle has no method handle()");
  });

  test.each([[42], [null], [undefined], [{}], [[]], [["a", "b", "c"]], [[Reports]]])(
    "is refused for %j",
    async (what) => {
      const { jobs } = open();
      for (const work of [
        () => jobs.schedule(what as unknown as typeof Reports),
        () => jobs.dispatch(what as never),
      ]) {
        await expectRefusal(
          work,
          "INVALID_NAME",
          'Expected a job name, a class, or [Class, "method"]',
          "got",
        );
      }
    },
  );
});
