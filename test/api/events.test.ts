// biome-ignore-all lint/complexity/noStaticOnlyClass: a job class may have nothing but its static handle.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, test } from "vitest";
import type { EventName } from "../../src/index.ts";
import { listen, open, stopped } from "./support/instance.ts";

describe("events", () => {
  test("follow the whole life of a run, in order", async () => {
    const { jobs } = open();
    const told: unknown[] = [];
    const names = [
      "run.dispatched",
      "run.started",
      "run.logged",
      "run.retried",
      "run.snoozed",
      "run.completed",
    ] as const;
    for (const name of names) jobs.on(name, (event) => told.push([name, event]));
    let tries = 0;
    jobs
      .schedule("task", (_args, run) => {
        tries++;
        if (tries === 1) throw new Error("once");
        if (tries === 2) run.snooze(0);
        run.log("third");
        return "done";
      })
      .retries({ max: 2, base: 0 });
    const { id } = await jobs.dispatch("task").queue("q");
    await jobs.run();
    const of = { id, name: "task", queue: "q" };
    expect(told).toMatchObject([
      ["run.dispatched", { ...of, inserted: true }],
      ["run.started", { ...of, attempt: 1 }],
      [
        "run.retried",
        { ...of, attempt: 1, duration: 0, delay: 0, error: expect.objectContaining({ message: "once" }) },
      ],
      ["run.started", { ...of, attempt: 2 }],
      ["run.snoozed", { ...of, attempt: 2, duration: 0, delay: 0 }],
      ["run.started", { ...of, attempt: 3 }],
      ["run.logged", { ...of, attempt: 3, message: "third", data: undefined }],
      ["run.completed", { ...of, attempt: 3, duration: 0, result: "done" }],
    ]);
  });

  test("on() returns a function that removes the listener", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const seen: number[] = [];
    const off = jobs.on("run.completed", (event) => seen.push(event.id));
    const { id } = await jobs.dispatch("task");
    await jobs.run();
    off();
    off();
    await jobs.dispatch("task");
    await jobs.run();
    expect(seen).toEqual([id]);
  });

  test("are emitted after the write: a listener finds the change in the database", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const states: Promise<unknown>[] = [];
    jobs.on("run.dispatched", ({ id }) => states.push(jobs.state(id)));
    jobs.on("run.completed", ({ id }) => states.push(jobs.state(id)));
    await jobs.dispatch("task");
    await jobs.run();
    expect(await Promise.all(states)).toEqual(["ready", "completed"]);
  });

  test("include those of the worker", async () => {
    const one = open();
    const told: string[] = [];
    for (const name of ["worker.started", "worker.stopped"] as const)
      one.jobs.on(name, () => told.push(name));
    const working = one.jobs.forever({ signals: false });
    await stopped(one);
    await working;
    expect(told).toEqual([]);
    const two = open();
    for (const name of ["worker.started", "worker.stopped"] as const)
      two.jobs.on(name, () => told.push(name));
    const again = two.jobs.forever({ signals: false });
    await new Promise<void>((resolve) => two.jobs.on("worker.started", () => resolve()));
    await stopped(two);
    await again;
    expect(told).toEqual(["worker.started", "worker.stopped"]);
  });
});

describe("diagnostics_channel", () => {
  test("carries each event as punctual:<event>", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => 5);
    const names: EventName[] = ["run.dispatched", "run.started", "run.completed"];
    const told: unknown[] = [];
    const listeners = names.map((name) => {
      const listener = (message: unknown, channel: string | symbol) => told.push([channel, message]);
      subscribe(`punctual:${name}`, listener);
      return () => unsubscribe(`punctual:${name}`, listener);
    });
    const { id } = await jobs.dispatch("task");
    await jobs.run();
    for (const off of listeners) off();
    await jobs.dispatch("task");
    await jobs.run();
    const of = { id, name: "task", queue: "default" };
    expect(told).toMatchObject([
      ["punctual:run.dispatched", { ...of, inserted: true }],
      ["punctual:run.started", { ...of, attempt: 1 }],
      ["punctual:run.completed", { ...of, attempt: 1, duration: 0, result: 5 }],
    ]);
  });

  test("carries errors too", async () => {
    const one = open();
    const told: unknown[] = [];
    const listener = (message: unknown) => told.push(message);
    subscribe("punctual:error", listener);
    one.jobs
      .schedule("task", () => {})
      .onAfter(() => {
        throw new Error("hook");
      });
    await one.jobs.dispatch("task");
    await one.jobs.run();
    unsubscribe("punctual:error", listener);
    expect(told).toEqual(one.errors.splice(0));
    expect(told).toHaveLength(1);
  });
});

describe("a listener that throws", () => {
  const strange = Object.create(null) as object;

  test.each([
    ["an error", new Error("listener")],
    ["nothing", undefined],
    ["what cannot be made text", strange],
  ])("%s ends nothing, and the other listeners are called", async (_what, thrown) => {
    const log: string[] = [];
    const { jobs } = open({
      logger: { debug() {}, info() {}, warn() {}, error: (message) => log.push(message) },
    });
    for (const name of ["run.dispatched", "run.started", "run.completed"] as const) {
      jobs.on(name, () => {
        throw thrown;
      });
    }
    const heard = listen(jobs, "run.completed");
    jobs.schedule("task", () => 1);
    const run = await jobs.dispatch("task");
    expect(await jobs.run()).toBe(1);
    expect(await run.wait()).toBe(1);
    expect(heard).toHaveLength(1);
    expect(log).toHaveLength(3);
    expect(log[0]).toContain('a listener for "run.dispatched" threw');
  });

  test("later, in a promise, ends nothing", async () => {
    const log: string[] = [];
    const { jobs } = open({
      logger: { debug() {}, info() {}, warn() {}, error: (message) => log.push(message) },
    });
    jobs.on("run.completed", async () => {
      await Promise.resolve();
      throw new Error("later");
    });
    jobs.schedule("task", () => 1);
    await jobs.dispatch("task");
    await jobs.run();
    await jobs.status();
    expect(log).toEqual([expect.stringContaining("later")]);
  });

  test("for errors is not called with its own error", async () => {
    const one = open();
    one.jobs.on("error", () => {
      throw new Error("even here");
    });
    one.jobs
      .schedule("task", () => {})
      .onAfter(() => {
        throw new Error("hook");
      });
    const run = await one.jobs.dispatch("task");
    await one.jobs.run();
    expect(await run.state()).toBe("completed");
    expect(one.errors.splice(0)).toHaveLength(1);
  });
});

describe("a logger", () => {
  test("that throws ends nothing", async () => {
    const refuse = () => {
      throw new Error("disk full");
    };
    const one = open({ logger: { debug: refuse, info: refuse, warn: refuse, error: refuse } });
    class x {
      static handle() {}
    }
    one.jobs
      .schedule("task", () => {})
      .onSuccess(() => {
        throw new Error("hook");
      });
    await one.jobs.dispatch(x);
    const run = await one.jobs.dispatch("task");
    const working = one.jobs.forever({ signals: false });
    await run.wait();
    await stopped(one);
    expect(await working).toBe(2);
    expect(one.errors.splice(0)).toHaveLength(1);
  });

  test("may be console itself", async () => {
    const { jobs } = open({ logger: console });
    jobs.schedule("task", () => {});
    await jobs.dispatch("task");
    expect(await jobs.run()).toBe(1);
  });
});
