// biome-ignore-all lint/complexity/noStaticOnlyClass: a job class may have nothing but its static handle.
import { describe, expect, test } from "vitest";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

const start = Date.parse("2026-01-01T00:00:00Z");

class Report {
  static handle() {}
}

describe("a draft of the instance", () => {
  test("gets its job last: by name, class, or class and method", async () => {
    const { jobs } = open();
    jobs.schedule("mail", () => {});
    for (const target of ["mail", Report, [Report, "handle"] as const] as const) {
      const run = await jobs.delay(60).args({ type: "x" }).dispatch(target);
      expect(await jobs.find(run.id)).toMatchObject({
        name:
          typeof target === "string"
            ? target
            : "length" in target && target.length === 2
              ? "Report.handle"
              : "Report",
        args: { type: "x" },
        runAt: new Date(start + 60_000),
      });
    }
  });

  test("begins with delay(), at(), args() or draft()", async () => {
    const { jobs } = open();
    jobs.schedule("mail", () => {});
    const at = await jobs.at("2026-01-01T00:00:30Z").dispatch("mail");
    const args = await jobs.args({ a: 1 }).dispatch("mail");
    const plain = await jobs.draft().queue("slow").tags("x").dispatch("mail");
    expect((await jobs.find(at.id))?.runAt).toEqual(new Date(start + 30_000));
    expect((await jobs.find(args.id))?.args).toEqual({ a: 1 });
    expect(await jobs.find(plain.id)).toMatchObject({ queue: "slow", tags: ["x"] });
  });

  test("can be used again: each call returns a new one", async () => {
    const { jobs } = open();
    jobs.schedule("mail", () => {});
    const soon = jobs.delay(60);
    const slow = soon.queue("slow");
    expect(slow).not.toBe(soon);
    const one = await soon.dispatch("mail");
    const two = await slow.dispatch("mail");
    const three = await soon.dispatch("mail").delay(5);
    const four = await soon.dispatch("mail");
    const found = await Promise.all([one, two, three, four].map((run) => jobs.find(run.id)));
    expect(found.map((run) => [run?.queue, (run!.runAt.getTime() - start) / 1000])).toEqual([
      ["default", 60],
      ["slow", 60],
      ["default", 5],
      ["default", 60],
    ]);
  });

  test("refuses an unknown name when the job is given", async () => {
    const { jobs } = open();
    await expectRefusal(() => jobs.delay(5).dispatch("nobody"), "UNKNOWN_JOB", '"nobody"');
    await expectRefusal(() => jobs.delay(5).dispatch(undefined as never), "INVALID_NAME", "got undefined");
  });
});

describe("a draft of a job", () => {
  test("leaves the definition unchanged", async () => {
    const { jobs } = open();
    const job = jobs.schedule("mail", (_args: { n: number }) => {}).args({ n: 0 });
    const run = await job.delay(10).queue("slow").priority(1).dispatch();
    expect(await jobs.find(run.id)).toMatchObject({
      queue: "slow",
      priority: 1,
      args: { n: 0 },
      runAt: new Date(start + 10_000),
    });
    const plain = await job.dispatch();
    expect(await jobs.find(plain.id)).toMatchObject({
      queue: "default",
      priority: 100,
      runAt: new Date(start),
    });
  });

  test("takes arguments at the end or before", async () => {
    const { jobs } = open();
    const job = jobs.schedule("mail", (_args: { n: number }) => {});
    const draft = job.at("2026-01-01T00:00:10Z").args({ n: 1 });
    const one = await draft.dispatch();
    const two = await draft.dispatch({ n: 2 });
    const three = await draft.dispatch();
    const args = await Promise.all([one, two, three].map(async (run) => (await jobs.find(run.id))?.args));
    expect(args).toEqual([{ n: 1 }, { n: 2 }, { n: 1 }]);
  });
});

describe("thenables", () => {
  test("awaiting a definition, a declared job or a draft returns it and sends nothing", async () => {
    const { jobs } = open();
    const job = jobs.schedule("mail", () => {});
    const declared = jobs.declare("other");
    for (const thing of [job, declared, jobs.draft(), jobs.delay(5), job.draft(), job.delay(5), jobs]) {
      expect("then" in thing).toBe(false);
      expect(await thing).toBe(thing);
    }
    expect((await jobs.runs()).runs).toEqual([]);
  });

  test("a dispatch has then, catch and finally", async () => {
    const { jobs } = open();
    jobs.schedule("mail", () => {});
    const name = await jobs.dispatch("mail").then((run) => run.name);
    expect(name).toBe("mail");
    const code = await jobs.dispatch("nobody").catch((error) => (error as { code: string }).code);
    expect(code).toBe("UNKNOWN_JOB");
    let ended = 0;
    const run = await jobs.dispatch("mail").finally(() => ended++);
    expect([run.inserted, ended]).toEqual([true, 1]);
    await expectRefusal(() => jobs.dispatch("nobody").finally(() => ended++), "UNKNOWN_JOB");
    expect(ended).toBe(2);
  });

  test("a dispatch that is awaited twice is sent once", async () => {
    const { jobs } = open();
    jobs.schedule("mail", () => {});
    const dispatch = jobs.dispatch("mail");
    expect(await dispatch).toBe(await dispatch);
    expect((await jobs.runs()).runs).toHaveLength(1);
  });
});
