import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Act } from "./support/process-jobs.ts";
import { test } from "./support/scene.ts";
import { isAlive, supervisor, told } from "./support/supervised.ts";
import { neighbours, tries } from "./support/sweep.ts";

describe("a child that dies", () => {
  test("has its runs taken back at once, under load, and none is lost", async ({ scene }) => {
    const runs = await scene.dispatchMany("free", 300, { do: "pause", ms: 20 });
    const held = await scene.job.held.dispatch({ do: "pause", ms: 1000 });
    const parent = supervisor(scene, { workers: 2, parallel: 4 });
    const { pid, at } = await scene.journal.until({ what: "start", run: held.id });
    process.kill(pid, "SIGKILL");
    const reaped = await scene.journal.until({ what: "run.reaped", run: held.id });
    expect(reaped.pid).toBe(parent.pid);
    expect(told(reaped)).toMatchObject({ state: "ready", crashed: true });
    const again = await eventually("the second try", () =>
      scene.journal.find({ what: "start", run: held.id, attempt: 2 }).at(0),
    );
    console.log(`taken back and begun again ${Math.round(again.at - at)} ms after the first start`);
    await scene.untilDrained();
    expect(scene.finished(held.id)).toMatchObject({ state: 3, attempts: 2, crashes: 1 });
    expect(await scene.jobs.attempts(held.id)).toMatchObject([
      { outcome: "crashed", error: { code: "RUN_CRASHED", message: expect.stringContaining(`pid ${pid}`) } },
    ]);
    for (const { id } of runs) expect(scene.finished(id)).toMatchObject({ state: 3 });
    // Only its own runs are charged.
    const charged = scene.rows("select id from punctual_history where crashes > 0").map(({ id }) => id);
    const inside = tries(scene.journal.entries).filter((one) => one.pid === pid && one.to === Infinity);
    expect(charged.sort()).toEqual(inside.map(({ run }) => run).sort());
    const gone = await scene.journal.until({ what: "child.exited" });
    expect(told(gone)).toMatchObject({ pid, code: null, signal: "SIGKILL", runs: inside.length });
  });

  const deaths: [what: string, act: Act][] = [
    ["calls process.exit(0)", { do: "exit" }],
    ["aborts its process", { do: "abort" }],
    ["throws where nobody catches it", { do: "throw in a timer" }],
  ];

  test.for(deaths)(
    "because a run %s: that run fails as crashed the third time, others complete, and crashed runs are alone",
    async ([, act], { scene }) => {
      const poison = await scene.job.held.dispatch(act);
      const beside = await scene.dispatchMany("free", 40, { do: "pause", ms: 50 });
      supervisor(scene, { workers: 2, parallel: 4 });
      await scene.untilFinished(poison.id);
      await scene.untilDrained();
      expect(scene.finished(poison.id)).toMatchObject({ state: 4, attempts: 3, crashes: 3 });
      expect(await scene.jobs.find(poison.id)).toMatchObject({ error: { code: "RUN_CRASHED" } });
      for (const { id } of beside) {
        const { state, crashes } = scene.finished(id)!;
        expect(state).toBe(3);
        expect(crashes).toBeLessThanOrEqual(1);
      }
      const all = tries(scene.journal.entries);
      const ends = new Map(
        scene.journal
          .find({ what: "child.exited" })
          .map((entry) => [told<{ pid: number }>(entry).pid, entry.at]),
      );
      for (const one of all) if (one.to === Infinity) one.to = ends.get(one.pid) ?? Infinity;
      const crashed = all.filter(({ crashes }) => crashes > 0);
      expect(crashed.length).toBeGreaterThanOrEqual(2);
      for (const one of crashed) expect(neighbours(all, one)).toEqual([]);
    },
  );
});

test("a run that its crashes end calls onError once, in a child", async ({ scene }) => {
  const { id } = await scene.jobs.declare<{ n: number }>("deadly").dispatch({ n: 1 });
  supervisor(scene, { workers: 1 });
  const called = await scene.journal.until({ what: "hook", run: id });
  expect(called).toMatchObject({ attempt: 3, code: "RUN_CRASHED", text: '{"n":1}' });
  expect(called.by).toMatch(/^child/);
  expect(scene.finished(id)).toMatchObject({ state: 4, crashes: 3 });
  const lines = () => scene.jobs.logs(id);
  await eventually("the line of the hook", async () => (await lines()).length > 0);
  expect(await lines()).toMatchObject([{ attempt: 3, message: "said by the hook" }]);
  expect(scene.journal.find({ what: "hook" })).toHaveLength(1);
});

describe("a child that blocks its event loop", () => {
  test("keeps its leases; after the timeout it is killed, and its other runs are not charged", async ({
    scene,
  }) => {
    const neighbour = await scene.job.held.dispatch({ do: "obey" });
    supervisor(scene, { workers: 1, parallel: 4 });
    await scene.journal.until({ what: "start", run: neighbour.id });
    const blocking = await scene.jobs.declare<Act>("timed").dispatch({ do: "block", ms: 60_000 });
    const { pid } = await scene.journal.until({ what: "start", run: blocking.id });
    const retried = await scene.journal.until({ what: "run.retried", run: blocking.id });
    expect(told(retried)).toMatchObject({ attempt: 1, error: { code: "RUN_TIMED_OUT" } });
    const released = await scene.journal.until({ what: "run.released", run: neighbour.id });
    expect(told(released)).toMatchObject({ attempt: 1 });
    expect(isAlive(pid)).toBe(false);
    expect(scene.journal.find({ what: "run.lost" })).toEqual([]);
    const again = await eventually("the neighbour again", () =>
      scene.journal.find({ what: "start", run: neighbour.id }).at(1),
    );
    expect(again).toMatchObject({ attempt: 2, crashes: 0 });
    expect(again.pid).not.toBe(pid);
    const message = expect.stringMatching(`pid ${pid}.*run ${blocking.id} must end`);
    expect(await scene.jobs.attempts(neighbour.id)).toMatchObject([
      { attempt: 1, outcome: "released", startedAt: expect.any(Date), error: { message } },
    ]);
    expect(await scene.untilFinished(blocking.id)).toMatchObject({ state: 4, attempts: 2, crashes: 0 });
    expect(await scene.jobs.find(blocking.id)).toMatchObject({ error: { code: "RUN_TIMED_OUT" } });
  });

  test("without a timeout is killed when it has stalled, and its runs are charged with a crash", async ({
    scene,
  }) => {
    supervisor(scene, { workers: 2, stall: 5 });
    await eventually("both children", () => scene.journal.find({ what: "child.started" }).length === 2);
    // Three times the limit: the child that blocks at the end delays the test by that time.
    const { id } = await scene.job.held.dispatch({ do: "block", ms: 15_000 });
    const { pid } = await scene.journal.until({ what: "start", run: id });
    // The others continue meanwhile.
    const other = await scene.job.free.dispatch({ do: "return" });
    await scene.untilFinished(other.id);
    const reaped = await scene.journal.until({ what: "run.reaped", run: id });
    expect(told(reaped)).toMatchObject({ crashed: true, state: "ready" });
    const exited = await scene.journal.until({ what: "child.exited" });
    expect(told(exited)).toMatchObject({ pid, signal: "SIGKILL", runs: 1 });
    const [completed] = scene.journal.find({ what: "run.completed", run: other.id });
    expect(completed!.at).toBeLessThan(exited.at);
    const [first] = await scene.jobs.attempts(id);
    expect(first!.error!.message).toContain("no sign of life for 5 s");
  });

  test("differs from one that only ignores its timeout", async ({ scene }) => {
    const { id } = await scene.jobs.declare<Act>("timed").dispatch({ do: "ignore" });
    supervisor(scene, { workers: 1 });
    expect(await scene.untilFinished(id)).toMatchObject({ state: 4, attempts: 2, crashes: 0 });
    expect(await scene.jobs.find(id)).toMatchObject({ error: { code: "RUN_TIMED_OUT" } });
    expect(scene.journal.find({ what: "child.exited" })).toEqual([]);
    expect(new Set(scene.journal.find({ what: "start", run: id }).map(({ pid }) => pid)).size).toBe(1);
  });
});
