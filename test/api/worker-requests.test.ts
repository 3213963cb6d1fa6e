import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { heard, listen, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

/** Longer than the interval of heartbeats with its jitter. */
const OBEYED_WITHIN = 6;

/** A worker, and an instance of another process that asks something of it. */
async function scene(options: { parallel?: number } = {}) {
  const db = new DatabaseSync(":memory:");
  const one = open({}, db);
  const gates: (() => void)[] = [];
  one.jobs.schedule("held", () => new Promise<void>((open) => gates.push(open))).concurrency(0);
  one.jobs.schedule("free", () => {}).concurrency(0);
  one.jobs.schedule("tick", () => {}).everyMinute();
  const ended = one.jobs.forever({ parallel: 2, signals: false, ...options });
  const { worker } = await heard(one.jobs, "worker.started");
  const { jobs: operator } = open({ clock: one.clock }, db);
  const shown = async () => (await operator.workers()).find(({ id }) => id === worker);
  return {
    ...one,
    gates,
    ended,
    worker,
    operator,
    shown,
    letGo() {
      for (const open of gates.splice(0)) open();
    },
  };
}

describe("a paused worker", () => {
  test("claims and ticks nothing, finishes what it runs, and goes on once it is resumed", async () => {
    const { jobs, clock, operator, worker, shown, letGo, gates } = await scene();
    const paused = listen(jobs, "worker.paused");
    const resumed = listen(jobs, "worker.resumed");
    const { id: held } = await operator.dispatch("held");
    await clock.advance(1);
    expect(gates).toHaveLength(1);
    await operator.pauseWorker(worker, { by: "ana", reason: "deploy" });
    expect(await shown()).toMatchObject({ request: { action: "pause", by: "ana", reason: "deploy" } });
    await clock.advance(OBEYED_WITHIN);
    expect(paused).toEqual([{ worker, by: "ana", reason: "deploy" }]);
    expect((await shown())!.facts!.activity).toBe("paused");

    const { id: free } = await operator.dispatch("free");
    letGo();
    await clock.advance(200);
    expect(await operator.state(held)).toBe("completed");
    expect(await operator.state(free)).toBe("ready");
    expect(await operator.why(free)).toMatch(
      /^No worker of its queue claims runs: worker .+ is paused by ana \(deploy\)\.$/,
    );
    expect((await operator.runs({ job: "tick" })).runs).toEqual([]);
    const health = await operator.health();
    expect(health.level).toBe("stalled");
    expect(health.sentences).toContainEqual(
      expect.stringMatching(/^default: .+, the only worker for it is paused\.$/),
    );
    expect(health.sentences).toContainEqual(
      expect.stringMatching(/^tick: .+ late, the only worker for it is paused\.$/),
    );
    expect(health.sentences).toContainEqual(expect.stringMatching(/^Worker .+: paused by ana \(deploy\)\.$/));
    expect(health.hints).toContain(`punctual resume worker ${worker}`);
    expect((await operator.verify()).violations).toEqual([]);

    await operator.resumeWorker(worker);
    await clock.advance(OBEYED_WITHIN);
    expect(resumed).toEqual([{ worker }]);
    expect(await operator.state(free)).toBe("completed");
    expect((await operator.runs({ job: "tick" })).runs).not.toEqual([]);
    expect(await operator.health()).toMatchObject({ level: "healthy" });
  });

  test("releases runs that it has claimed and not started", async () => {
    const { clock, operator, worker, gates, letGo } = await scene({ parallel: 1 });
    const runs = await Promise.all([1, 2, 3].map(() => operator.dispatch("held")));
    await clock.advance(1);
    expect(gates).toHaveLength(1);
    await operator.pauseWorker(worker);
    await clock.advance(OBEYED_WITHIN);
    letGo();
    await clock.advance(1);
    const states = await Promise.all(runs.map(({ id }) => operator.find(id)));
    expect(states.map((run) => [run!.state, run!.worker])).toEqual([
      ["completed", expect.anything()],
      ["ready", null],
      ["ready", null],
    ]);
    await operator.resumeWorker(worker);
    await clock.advance(OBEYED_WITHIN);
    expect(gates).toHaveLength(1);
    letGo();
    await clock.advance(1);
    letGo();
  });

  test("can be stopped", async () => {
    const { clock, operator, worker, ended, shown } = await scene();
    await operator.pauseWorker(worker);
    await clock.advance(OBEYED_WITHIN);
    await operator.stopWorker(worker);
    await clock.advance(OBEYED_WITHIN);
    expect(await ended).toBe(0);
    expect(await shown()).toBeUndefined();
  });
});

describe("a worker that is asked to stop", () => {
  test("finishes what it runs, and its forever() returns", async () => {
    const { jobs, clock, operator, worker, ended, shown, letGo } = await scene();
    const stopping = listen(jobs, "worker.stopping");
    const { id } = await operator.dispatch("held");
    await clock.advance(1);
    await operator.stopWorker(worker, { by: "ana" });
    await clock.advance(OBEYED_WITHIN);
    expect(stopping).toEqual([{ worker, running: 1 }]);
    expect(await shown()).toMatchObject({ facts: { activity: "stopping" }, request: { action: "stop" } });
    const { id: free } = await operator.dispatch("free");
    letGo();
    await clock.advance(1);
    expect(await ended).toBe(1);
    expect(await operator.state(id)).toBe("completed");
    expect(await operator.state(free)).toBe("ready");
  });

  test("cannot be paused or resumed; asking again is allowed", async () => {
    const { operator, worker } = await scene();
    await operator.stopWorker(worker);
    await operator.stopWorker(worker);
    await expectRefusal(() => operator.pauseWorker(worker), "WORKER_STOPPING", "which cannot be undone");
    await expectRefusal(() => operator.resumeWorker(worker), "WORKER_STOPPING", "which cannot be undone");
  });

  test("starts again with the same instance: the request concerned the session before", async () => {
    const { jobs, clock, operator, worker, ended } = await scene();
    const adHoc = await jobs.dispatch("once", () => {}).delay("1h");
    await operator.stopWorker(worker);
    await clock.advance(OBEYED_WITHIN);
    await ended;
    expect(await operator.state(adHoc.id)).toBe("scheduled");
    void jobs.forever({ signals: false });
    await heard(jobs, "worker.started");
    const { id } = await operator.dispatch("free");
    await clock.advance(OBEYED_WITHIN);
    expect(await operator.state(id)).toBe("completed");
  });
});

test("a pass of run() ends when it is asked to pause", async () => {
  const db = new DatabaseSync(":memory:");
  const { jobs, clock } = open({}, db);
  let letGo = () => {};
  jobs.schedule("held", () => new Promise<void>((open) => (letGo = open))).concurrency(0);
  const { jobs: operator } = open({ clock }, db);
  const started = heard(jobs, "run.started");
  await jobs.dispatch("held");
  const { id } = await jobs.dispatch("held");
  const pass = jobs.run({ parallel: 1 });
  await started;
  const [worker] = await operator.workers();
  await operator.pauseWorker(worker!.id);
  await clock.advance(OBEYED_WITHIN);
  letGo();
  await clock.advance(1);
  expect(await pass).toBe(1);
  expect(await operator.state(id)).toBe("ready");
});

test("requests to an unknown worker, and without an id, are refused", async () => {
  const { jobs } = open();
  await expectRefusal(() => jobs.pauseWorker("gone"), "UNKNOWN_WORKER", "no worker has this id");
  await expectRefusal(
    () => jobs.stopWorker(undefined as never),
    "INVALID_OPTION",
    "expected the id of a worker",
  );
  await expectRefusal(() => jobs.stopWorker("x", { reson: "" } as never), "INVALID_OPTION", "reson");
});
