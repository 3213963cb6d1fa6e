import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { temporaryFolder } from "./support/child.ts";
import { open, stopped } from "./support/instance.ts";

const told: string[] = [];

class CliController {
  index1(args: { n: number }): void {
    told.push(`index1 ${args.n}`);
  }
  static index2(args: { n: number }): void {
    told.push(`index2 ${args.n}`);
  }
}

function logging(): { lines: string[]; logger: never } {
  const lines: string[] = [];
  const quiet = () => {};
  return {
    lines,
    logger: { debug: quiet, info: quiet, warn: (line: string) => lines.push(line), error: quiet } as never,
  };
}

describe("a method that another process has dispatched", () => {
  test("is found by a worker that knows the class by another method", async () => {
    const file = `sqlite:${join(temporaryFolder(), "jobs.db")}`;
    const web = open({}, file);
    await web.jobs.register([CliController, "index1"], { n: 1 });
    await web.jobs.register([CliController, "index2"], { n: 2 });
    const worker = open({ clock: web.clock }, file);
    worker.jobs.schedule([CliController, "index2"]);
    expect(await worker.jobs.run()).toBe(2);
    expect(told.splice(0).sort()).toEqual(["index1 1", "index2 2"]);
  });

  test("is found by a worker that is already working", async () => {
    const file = `sqlite:${join(temporaryFolder(), "jobs.db")}`;
    const worker = open({}, file);
    worker.jobs.schedule([CliController, "index2"]);
    await worker.jobs.run();
    const web = open({ clock: worker.clock }, file);
    await web.jobs.register([CliController, "index1"], { n: 3 });
    expect(await worker.jobs.run()).toBe(1);
    expect(told.splice(0)).toEqual(["index1 3"]);
  });

  test("keeps the schedule and the limits of the worker that defines it", async () => {
    const file = `sqlite:${join(temporaryFolder(), "jobs.db")}`;
    const first = open({}, file);
    first.jobs.schedule([CliController, "index1"]).concurrency(7);
    first.jobs.recur([CliController, "index1"], "0 0 * * * *", { args: { n: 4 } });
    await first.jobs.run();
    await first.clock.advance(1);
    const later = open({ clock: first.clock }, file);
    later.jobs.schedule([CliController, "index2"]);
    await later.jobs.run();
    await later.jobs.dispatch([CliController, "index1"], { n: 5 });
    await later.jobs.run();
    expect(told.splice(0)).toEqual(["index1 5"]);
    expect((await later.jobs.schedules()).map(({ job }) => job)).toEqual(["CliController.index1"]);
    expect((await later.jobs.status()).jobs.map(({ name, limit }) => [name, limit])).toEqual([
      ["CliController.index1", 7],
      ["CliController.index2", 1],
    ]);
  });

  test("is defined by recur() and schedule() as if its class had not been dispatched", async () => {
    const { jobs } = open();
    await jobs.dispatch([CliController, "index1"], { n: 6 });
    jobs.schedule([CliController, "index1"]).concurrency(3);
    await jobs.dispatch([CliController, "index2"], { n: 7 });
    jobs.recur([CliController, "index2"], "0 0 * * * *");
    expect(await jobs.run()).toBe(2);
    expect(told.splice(0).sort()).toEqual(["index1 6", "index2 7"]);
    expect((await jobs.status()).jobs.map(({ limit }) => limit)).toEqual([3, 1]);
    expect(() => jobs.schedule([CliController, "index2"])).toThrow("is defined already");
  });

  test("waits if the class has no such method, or no worker knows the class", async () => {
    const file = `sqlite:${join(temporaryFolder(), "jobs.db")}`;
    const web = open({}, file);
    for (const name of [
      "CliController.index9",
      "CliController.constructor",
      "CliController.call",
      "Other.index1",
    ])
      await web.jobs.declare(name).dispatch();
    const worker = open({ clock: web.clock }, file);
    worker.jobs.schedule([CliController, "index2"]);
    expect(await worker.jobs.run()).toBe(0);
    expect(worker.jobs.definitions().map(({ name }) => name)).toEqual(["CliController.index2"]);
  });
});

describe("a declared job that no worker has defined", () => {
  test("is warned about once for each name", async () => {
    const { lines, logger } = logging();
    const { jobs } = open({ logger });
    const mail = jobs.declare("mail");
    await mail.dispatch();
    await mail.dispatch();
    await jobs.declare("sms").dispatch();
    expect(lines).toEqual([
      expect.stringContaining('job "mail" was dispatched, but no worker has defined it yet'),
      expect.stringContaining('job "sms" was dispatched, but no worker has defined it yet'),
    ]);
  });

  test("is warned about in the next process too, until a worker has defined it", async () => {
    const file = `sqlite:${join(temporaryFolder(), "jobs.db")}`;
    const first = open({}, file);
    await first.jobs.declare("mail").dispatch();
    const before = logging();
    const second = new Punctual(file, { clock: first.clock, logger: before.logger });
    await second.declare("mail").dispatch();
    expect(before.lines).toHaveLength(1);
    await stopped({ jobs: second, clock: first.clock });
    const worker = open({ clock: first.clock }, file);
    worker.jobs.schedule("mail", () => {});
    await worker.jobs.run();
    const later = logging();
    const third = new Punctual(file, { clock: first.clock, logger: later.logger });
    await third.declare("mail").dispatch();
    expect(later.lines).toEqual([]);
    await stopped({ jobs: third, clock: first.clock });
  });
});
