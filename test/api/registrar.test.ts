import { describe, expect, test } from "vitest";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

const start = Date.parse("2026-01-01T00:00:00Z");

describe("register()", () => {
  class CliController {
    static index1(args: unknown) {
      CliController.seen.push(["index1", args]);
    }
    index2(args: unknown) {
      CliController.seen.push(["index2", args]);
    }
    static seen: unknown[] = [];
  }

  test("dispatches now, at a time, or on a queue", async () => {
    const { jobs, clock } = open();
    CliController.seen = [];
    const now = await jobs.register([CliController, "index2"], { ImmediateJob: "tester" }, null, "Dev");
    const later = await jobs.register([CliController, "index1"], { a: 1 }, new Date(start + 5000), "Dev");
    const plain = await jobs.register([CliController, "index1"]);
    expect(await jobs.find(now.id)).toMatchObject({
      name: "CliController.index2",
      queue: "Dev",
      state: "ready",
    });
    expect(await jobs.find(later.id)).toMatchObject({
      queue: "Dev",
      state: "scheduled",
      runAt: new Date(start + 5000),
    });
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

  test("accepts a name", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const run = await jobs.register("task", { a: 1 }, undefined, "Dev");
    expect(await jobs.find(run.id)).toMatchObject({ queue: "Dev", args: { a: 1 } });
    await expectRefusal(() => jobs.register("task", {}, "tomorrow"), "INVALID_INSTANT", 'got "tomorrow"');
  });
});
