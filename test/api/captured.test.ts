import { describe, expect, test } from "vitest";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

const ids = [1, 2, 3];

async function argsInOrder(jobs: ReturnType<typeof open>["jobs"], job: string): Promise<unknown[]> {
  const { runs } = await jobs.runs({ job });
  return runs.sort((a, b) => a.id - b.id).map(({ args }) => args);
}

describe("each run gets the arguments that were set at its dispatch", () => {
  const expected = ids.map((id) => ({ id }));

  test("args() on the definition, then dispatch()", async () => {
    const { jobs } = open();
    const resize = jobs.schedule<{ id: number }>("resize", () => {});
    await Promise.all(ids.map((id) => resize.args({ id }).dispatch()));
    expect(await argsInOrder(jobs, "resize")).toEqual(expected);
  });

  test("args() on the definition, then a dispatch by name", async () => {
    const { jobs } = open();
    const resize = jobs.schedule<{ id: number }>("resize", () => {});
    await Promise.all(
      ids.map((id) => {
        resize.args({ id });
        return jobs.dispatch("resize");
      }),
    );
    expect(await argsInOrder(jobs, "resize")).toEqual(expected);
  });

  test("a draft of the definition", async () => {
    const { jobs } = open();
    const resize = jobs.schedule<{ id: number }>("resize", () => {});
    await Promise.all(ids.map((id) => resize.args({ id }).delay(1).dispatch()));
    expect(await argsInOrder(jobs, "resize")).toEqual(expected);
  });

  test("args() on the instance, then dispatch() with the name", async () => {
    const { jobs } = open();
    jobs.schedule("resize", () => {});
    await Promise.all(ids.map((id) => jobs.args({ id }).dispatch("resize")));
    expect(await argsInOrder(jobs, "resize")).toEqual(expected);
  });

  test("a declaration of a job that is defined here too", async () => {
    const { jobs } = open();
    const declared = jobs.declare("resize");
    const resize = jobs.schedule<{ id: number }>("resize", () => {});
    await Promise.all(
      ids.map((id) => {
        resize.args({ id });
        return declared.dispatch();
      }),
    );
    expect(await argsInOrder(jobs, "resize")).toEqual(expected);
  });

  test("register()", async () => {
    const { jobs } = open();
    const resize = jobs.schedule<{ id: number }>("resize", () => {});
    await Promise.all(
      ids.map((id) => {
        resize.args({ id });
        return jobs.register("resize", null, null, "images");
      }),
    );
    expect(await argsInOrder(jobs, "resize")).toEqual(expected);
  });

  test("dispatchHere()", async () => {
    const { jobs } = open();
    const seen: unknown[] = [];
    const shared = { id: 0 };
    const resize = jobs.schedule<{ id: number }>("resize", (args) => void seen.push(args));
    await Promise.all(
      ids.map((id) => {
        shared.id = id;
        resize.args(shared);
        return jobs.dispatchHere("resize");
      }),
    );
    await jobs.run();
    expect(seen).toEqual(expected);
  });

  test("one object that is changed between the dispatches", async () => {
    const { jobs } = open();
    const shared = { id: 0 };
    const resize = jobs.schedule<{ id: number }>("resize", () => {}).args(shared);
    await Promise.all(
      ids.map((id) => {
        shared.id = id;
        return resize.dispatch();
      }),
    );
    expect(await argsInOrder(jobs, "resize")).toEqual(expected);
  });

  test("recur() adds one schedule for each", async () => {
    const { jobs, clock } = open();
    const seen: number[] = [];
    const resize = jobs.schedule<{ id: number }>("resize", ({ id }) => void seen.push(id)).concurrency(0);
    for (const id of ids) jobs.recur(resize.args({ id }), "* * * * *");
    resize.args({ id: 99 });
    await jobs.run();
    await clock.advance(60);
    await jobs.run();
    expect(seen.sort()).toEqual(ids);
  });
});

describe("changes of a definition after a dispatch do not reach its run", () => {
  test("queue, priority and the zone of a wall time", async () => {
    const { jobs } = open();
    const report = jobs
      .schedule("report", () => {})
      .queue("early")
      .priority(1)
      .timezone("Europe/Berlin");
    const dispatch = report.dispatch();
    const dated = report.at("2026-12-01 10:00").dispatch();
    report.queue("late").priority(9).timezone("America/New_York");
    expect(await jobs.find((await dispatch).id)).toMatchObject({ queue: "early", priority: 1 });
    expect((await jobs.find((await dated).id))?.runAt).toEqual(new Date("2026-12-01T09:00:00Z"));
    expect(await jobs.find((await report.dispatch()).id)).toMatchObject({ queue: "late", priority: 9 });
  });

  test("the key of a limit", async () => {
    const { jobs } = open();
    const started: unknown[] = [];
    const mail = jobs
      .schedule<{ to: string }>("mail", ({ to }) => void started.push(to))
      .concurrency(0, { perKey: 1, by: ({ to }) => to });
    const first = mail.dispatch({ to: "a" });
    mail.concurrency(0, { perKey: 1, by: () => "changed" });
    expect((await jobs.find((await first).id))?.key).toBe("a");
  });

  test("calls that are chained to the dispatch do reach it", async () => {
    const { jobs } = open();
    const report = jobs.schedule("report", () => {}).queue("early");
    const dispatch = report.dispatch();
    report.queue("late");
    const run = await dispatch.queue("chosen");
    expect((await jobs.find(run.id))?.queue).toBe("chosen");
  });

  test("a definition made after the dispatch, in the same turn, is used", async () => {
    const { jobs } = open();
    const dispatch = jobs.dispatch("report");
    jobs.schedule("report", () => {}).queue("reports");
    expect((await jobs.find((await dispatch).id))?.queue).toBe("reports");
  });
});

describe("dispatchMany()", () => {
  test("captures the list, its arguments and the settings at the call", async () => {
    const { jobs } = open();
    const resize = jobs.schedule<{ id: number }>("resize", () => {}).queue("early");
    const list = [{ id: 1 }, { id: 2 }];
    const sending = resize.dispatchMany(list);
    list[1]!.id = 99;
    list.push({ id: 3 });
    resize.queue("late");
    const runs = await Promise.all((await sending).map(({ id }) => jobs.find(id)));
    expect(runs.map((run) => [run?.args, run?.queue])).toEqual([
      [{ id: 1 }, "early"],
      [{ id: 2 }, "early"],
    ]);
  });

  test("captures the settings at the call also for an async list", async () => {
    const { jobs } = open();
    const resize = jobs.schedule<{ id: number }>("resize", () => {}).queue("early");
    const sending = resize.dispatchMany(
      (async function* () {
        yield { id: 1 };
      })(),
    );
    resize.queue("late");
    const [run] = await sending;
    expect((await jobs.find(run!.id))?.queue).toBe("early");
  });
});

test("arguments of the definition that JSON cannot represent reject the dispatch and do not throw", async () => {
  const { jobs } = open();
  const task = jobs.schedule<unknown>("task", () => {}).args({ when: new Date(0) });
  const dispatch = task.dispatch();
  await expectRefusal(() => dispatch, "INVALID_PAYLOAD", "args.when");
  const here = jobs.dispatchHere("task");
  await expectRefusal(() => here, "INVALID_PAYLOAD", "args.when");
  await expectRefusal(() => task.dispatchMany([{ at: new Date(0) }]), "INVALID_PAYLOAD", "args.at");
  const replaced = await task.dispatch().args({ fine: true });
  expect((await jobs.find(replaced.id))?.args).toEqual({ fine: true });
});
