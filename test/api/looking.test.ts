import { describe, expect, test } from "vitest";
import type { RunState, RunsFilter } from "../../src/index.ts";
import { heard, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

async function scene() {
  const one = open();
  const { jobs } = one;
  const { promise: go, resolve: release } = Promise.withResolvers<void>();
  jobs
    .schedule("mail", (args: { how?: string }, run) => {
      if (args.how === "fail") throw new Error("no");
      if (args.how === "discard") run.discard();
      return args.how === "hang" ? go : undefined;
    })
    .skip((args) => args.how === "skip")
    .concurrency(0);
  jobs.schedule("post", () => {}).concurrency(0);
  const ids: Record<string, number> = {};
  for (const how of ["fail", "discard", "skip", "done"]) ids[how] = (await jobs.dispatch("mail", { how })).id;
  ids.post = (await jobs.dispatch("post").tags("x", "y%").key("k_1").queue("slow")).id;
  await jobs.run();
  ids.hang = (await jobs.dispatch("mail", { how: "hang" }).tags("x").key("k1")).id;
  const pass = jobs.run();
  await heard(jobs, "run.started");
  ids.ready = (await jobs.dispatch("post").queue("quiet")).id;
  await jobs.pauseQueue("quiet");
  ids.scheduled = (await jobs.dispatch("mail").delay(60).key("a|k1")).id;
  const names = (found: { id: number }[]) =>
    found.map((run) => Object.entries(ids).find(([, id]) => id === run.id)?.[0]);
  return { ...one, ids, names, release, pass };
}

describe("runs()", () => {
  test("returns all runs, the newest first", async () => {
    const { jobs, names } = await scene();
    const { runs, next } = await jobs.runs();
    expect(names(runs)).toEqual(["scheduled", "ready", "hang", "post", "done", "skip", "discard", "fail"]);
    expect(next).toBeNull();
  });

  test.each([
    [{ state: "failed" }, ["fail"]],
    [{ state: ["failed", "running", "scheduled"] }, ["scheduled", "hang", "fail"]],
    [{ state: ["completed"] }, ["post", "done"]],
    [{ state: [] }, []],
    [{ job: "post" }, ["ready", "post"]],
    [{ job: "po" }, []],
    [{ queue: "slow" }, ["post"]],
    [{ key: "k1" }, ["hang"]],
    [{ key: "k_1" }, ["post"]],
    [{ key: "a|k1" }, ["scheduled"]],
    [{ tag: "x" }, ["hang", "post"]],
    [{ tag: "y%" }, ["post"]],
    [{ tag: "y" }, []],
    [{ job: "mail", state: "completed" }, ["done"]],
    [{ parent: 999 }, []],
    [{ batch: "none" }, []],
  ] as [RunsFilter, string[]][])("%j", async (filter, expected) => {
    const { jobs, names } = await scene();
    expect(names((await jobs.runs(filter)).runs)).toEqual(expected);
  });

  test.each<[string, string[]]>([
    ["", ["scheduled", "ready", "hang", "post", "done", "skip", "discard", "fail"]],
    ["state:failed", ["fail"]],
    ["job:ma*", ["scheduled", "hang", "done", "skip", "discard", "fail"]],
    ["-job:mail", ["ready", "post"]],
    ["is:running", ["hang"]],
    ["is:waiting", ["scheduled", "ready"]],
    ["-is:finished -is:running", ["scheduled", "ready"]],
    ["payload.how:fail,hang", ["hang", "fail"]],
    ["error:no", ["fail"]],
    ["errortype:Error -state:skipped", ["fail"]],
    ["po", ["ready", "post"]],
    ["after:2026-01-02", []],
    ["before:2026-01-01T00:00:01", ["scheduled", "ready", "hang", "post", "done", "skip", "discard", "fail"]],
    ["tag:y%", ["post"]],
    ["key:k*", ["hang", "post"]],
    ["attempt:1 state:completed -queue:slow", ["done"]],
  ])("where %j", async (where, expected) => {
    const { jobs, names } = await scene();
    expect(names((await jobs.runs({ where })).runs)).toEqual(expected);
    expect(await jobs.count(where)).toEqual({ count: expected.length, capped: false });
  });

  test("combines a query and fields; times are read in the given zone", async () => {
    const { jobs, names } = await scene();
    expect(names((await jobs.runs({ where: "-state:running", job: "mail", key: "a|k1" })).runs)).toEqual([
      "scheduled",
    ]);
    const asked = async (timezone: string) =>
      (await jobs.count({ where: "before:2026-01-01T00:30", timezone })).count;
    expect(await asked("UTC")).toBe(8);
    expect(await asked("Europe/Berlin")).toBe(0);
  });

  test("searches one week if the query sets no bound, and reports that", async () => {
    const { jobs, clock, names, release, pass } = await scene();
    release();
    await pass;
    clock.set("2026-01-08T00:00:01Z");
    const week = await jobs.runs({ where: "job:*" });
    expect(week.bounded).toBe(true);
    expect(names(week.runs)).toEqual(["scheduled", "ready"]);
    const all = await jobs.runs({ where: "job:* after:30d" });
    expect(all.bounded).toBe(false);
    expect(all.runs).toHaveLength(8);
    expect(await jobs.runs()).toMatchObject({ bounded: false, runs: { length: 8 } });
  });

  test("refuses an invalid query, with the reason", async () => {
    const { jobs } = open();
    for (const ask of [() => jobs.runs({ where: "stat:failed" }), () => jobs.count("stat:failed")]) {
      await expectRefusal(ask, "INVALID_QUERY", 'no field "stat"', 'Did you mean "state"?');
    }
    await expectRefusal(() => jobs.runs({ where: 5 as unknown as string }), "INVALID_QUERY", "got 5");
  });

  test("pages through each run once", async () => {
    const { jobs, names } = await scene();
    const seen: unknown[] = [];
    let pages = 0;
    for (let next: number | null | undefined; next !== null; ) {
      const page = await jobs.runs({ limit: 3, ...(next !== undefined && { before: next }) });
      seen.push(...names(page.runs));
      next = page.next;
      pages++;
    }
    expect(seen).toEqual(["scheduled", "ready", "hang", "post", "done", "skip", "discard", "fail"]);
    expect(pages).toBe(3);
  });

  test.each([
    [{ state: "done" }, 'got "done"', "Known: scheduled, ready, running, completed"],
    [{ state: ["failed", "toString"] }, 'got "toString"'],
    [{ limit: 0 }, "runs() limit", "got 0"],
    [{ limit: 1001 }, "runs() limit", "got 1001"],
    [{ name: "mail" }, 'no option "name"', "Known: state, job, queue"],
    [{ before: "5" }, "runs() before", 'got "5"'],
    [{ parent: 1.5 }, "runs() parent", "got 1.5"],
    [{ job: 5 }, "job", "got 5"],
    [{ tag: null }, "tag", "got null"],
    [null, "runs()", "got null"],
  ] as [unknown, ...string[]][])("refuses %j", async (filter, ...parts) => {
    const { jobs } = open();
    const error = await jobs.runs(filter as RunsFilter).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: expect.stringMatching(/^INVALID_(OPTION|NAME)$/) });
    for (const part of parts) expect((error as Error).message).toContain(part);
  });
});

describe("find()", () => {
  test("returns a run in each state", async () => {
    const { jobs, ids } = await scene();
    const states: Record<string, RunState | undefined> = {};
    for (const [name, id] of Object.entries(ids)) states[name] = (await jobs.find(id))?.state;
    expect(states).toEqual({
      fail: "failed",
      discard: "cancelled",
      skip: "skipped",
      done: "completed",
      post: "completed",
      hang: "running",
      ready: "ready",
      scheduled: "scheduled",
    });
  });

  test("returns every column of a running run", async () => {
    const { jobs, ids } = await scene();
    expect(await jobs.find(ids.hang!)).toEqual({
      id: ids.hang,
      name: "mail",
      queue: "default",
      key: "k1",
      priority: 100,
      state: "running",
      args: { how: "hang" },
      attempts: 1,
      crashes: 0,
      isolated: false,
      runAt: new Date("2026-01-01T00:00:00Z"),
      createdAt: new Date("2026-01-01T00:00:00Z"),
      startedAt: new Date("2026-01-01T00:00:00Z"),
      finishedAt: null,
      worker: expect.any(String),
      child: null,
      lockedUntil: new Date("2026-01-01T00:01:00Z"),
      error: null,
      fingerprint: null,
      result: undefined,
      progress: undefined,
      tags: ["x"],
      parentId: null,
      rerunOf: null,
      batchId: null,
      uniqueKey: null,
      scheduleId: null,
      scheduledFor: null,
      timeout: null,
      cancelRequested: false,
    });
  });

  test("returns null for a run that does not exist", async () => {
    const { jobs } = open();
    expect(await jobs.find(1)).toBeNull();
    expect(await jobs.state(1)).toBeNull();
    expect(await jobs.attempts(1)).toEqual([]);
  });
});

describe("remove()", () => {
  test("deletes a run that is not running, with its attempts", async () => {
    const { jobs, ids } = await scene();
    for (const name of ["fail", "done", "ready", "scheduled"]) await jobs.remove(ids[name]!);
    expect((await jobs.runs()).runs).toHaveLength(4);
    expect(await jobs.attempts(ids.fail!)).toEqual([]);
    await expectRefusal(() => jobs.remove(ids.fail!), "RUN_NOT_FOUND", `Cannot delete run ${ids.fail}`);
    await expectRefusal(
      () => jobs.remove(ids.hang!),
      "RUN_CLAIMED",
      `Cannot delete run ${ids.hang}`,
      "running",
    );
  });
});

describe("storedRun(), storedRuns() and storedLogs()", () => {
  test("return JSON as text and times as numbers", async () => {
    const { jobs, clock } = open();
    jobs.define("big", (_args: unknown, run) => {
      run.log("line", { n: 1 });
      run.progress({ n: 2 });
      return [3];
    });
    const { id } = await jobs.dispatch("big", { to: ["a"] });
    await jobs.run();
    const run = await jobs.storedRun(id);
    expect(run).toMatchObject({
      id,
      args: '{"to":["a"]}',
      result: "[3]",
      progress: '{"n":2}',
      createdAt: clock.now(),
    });
    expect((await jobs.storedRuns({ job: "big" })).runs).toEqual([run]);
    expect(await jobs.storedLogs(id)).toMatchObject([{ message: "line", data: '{"n":1}', at: clock.now() }]);
    expect(await jobs.storedRun(id + 1)).toBeNull();
  });

  test("name the method in errors", async () => {
    const { jobs } = open();
    await expectRefusal(() => jobs.storedRuns({ limit: 0 }), "INVALID_OPTION", /storedRuns\(\) limit/);
    await expectRefusal(() => jobs.storedLogs(1, { after: -1 }), "INVALID_OPTION", /storedLogs\(\) after/);
  });
});
