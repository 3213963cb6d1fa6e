import { expect, test } from "vitest";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

test("failures() groups failed runs by their error, and retryAll() takes the fingerprint", async () => {
  const { jobs, clock } = open();
  let broken = true;
  for (const name of ["mail", "sms"]) {
    jobs
      .define(name, (args: { n: number }) => {
        if (broken) throw new TypeError(args.n < 10 ? `no route to host ${args.n}` : "another one");
      })
      .attempts(1);
  }
  const fail = async (name: string, n: number) => {
    const run = await jobs.dispatch(name, { n });
    await jobs.run();
    return run.id;
  };
  const started = new Date(clock.now());
  const ids = [await fail("mail", 1), await fail("mail", 2)];
  await clock.advance("3 hours");
  ids.push(await fail("sms", 3));
  const other = await fail("sms", 10);
  const { groups, capped } = await jobs.failures();
  expect(capped).toBe(false);
  expect(groups).toHaveLength(2);
  const group = groups.find(({ count }) => count === 3)!;
  expect(group).toMatchObject({
    jobs: ["mail", "sms"],
    error: { name: "TypeError", message: "no route to host 3" },
    firstSeen: started,
    lastSeen: new Date(clock.now()),
    sample: ids[2],
  });
  expect(group.hours).toEqual([...Array(20).fill(0), 2, 0, 0, 1]);
  expect((await jobs.failures({ over: "1h", job: "sms" })).groups).toHaveLength(2);
  expect((await jobs.failures({ job: "mail" })).groups).toMatchObject([{ count: 2, jobs: ["mail"] }]);
  broken = false;
  expect(await jobs.retryAll(`fingerprint:${group.fingerprint}`)).toMatchObject({ done: 3 });
  await jobs.run();
  expect((await jobs.failures()).groups).toMatchObject([{ sample: other }]);
});

test("childRuns() and reruns() return the runs that came from a run", async () => {
  const { jobs } = open();
  jobs.define("child", () => {});
  jobs.define("parent", async () => {
    for (let n = 0; n < 3; n++) await jobs.dispatch("child");
  });
  const { id } = await jobs.dispatch("parent");
  await jobs.run({ batch: 1 });
  const children = await jobs.childRuns(id, { limit: 2 });
  expect(children.runs).toMatchObject([{ name: "child" }, { name: "child" }]);
  expect((await jobs.childRuns(id, { before: children.next! })).runs).toHaveLength(1);
  const again = await jobs.rerun(id);
  expect((await jobs.reruns(id)).runs).toMatchObject([{ id: again.id, parentId: null }]);
  expect((await jobs.runs({ where: `rerun:${id}` })).runs).toHaveLength(1);
  expect((await jobs.runs({ where: `parent:${id}` })).bounded).toBe(false);
});

test("recentTicks() returns the runs of schedules, the oldest first", async () => {
  const { jobs, clock } = open();
  jobs.define("task", () => {}).everyMinute();
  await jobs.run();
  for (let n = 0; n < 3; n++) {
    await clock.advance(60);
    await jobs.run();
  }
  const [schedule] = await jobs.schedules();
  const found = await jobs.recentTicks([schedule!.id], { limit: 2 });
  expect(found.partial).toEqual([]);
  const ticks = found.ticks.get(schedule!.id)!;
  expect(ticks).toMatchObject([{ state: "completed" }, { state: "completed", took: 0 }]);
  expect(Number(ticks[1]!.scheduledFor) - Number(ticks[0]!.scheduledFor)).toBe(60_000);
  expect(await jobs.recentTicks([])).toEqual({ ticks: new Map(), partial: [] });
  await expectRefusal(() => jobs.recentTicks(Array(201).fill(1)), "INVALID_OPTION");
});

test("values() completes from cached values, whatever the case", async () => {
  const { jobs, clock } = open();
  jobs.define("Mail", () => {});
  jobs.define("sms", () => {});
  await jobs.run();
  expect(await jobs.values("job")).toEqual(["Mail", "sms"]);
  expect(await jobs.values("job", "ma")).toEqual(["Mail"]);
  jobs.define("map", () => {});
  await jobs.run();
  expect(await jobs.values("job", "ma")).toEqual(["Mail"]);
  await clock.advance(31);
  expect(await jobs.values("job", "ma")).toEqual(["Mail", "map"]);
  await expectRefusal(() => jobs.values("state" as never), "INVALID_OPTION", "values() expected a field");
});
