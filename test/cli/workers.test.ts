import { hostname } from "node:os";
import { expect, test } from "vitest";
import { scene } from "./support/project-scene.ts";

/** A worker in the process of the test. */
async function working() {
  const made = scene();
  made.jobs.schedule("mail", async () => {});
  const ended = made.jobs.forever({ signals: false });
  const worker = await new Promise<string>((started) =>
    made.jobs.on("worker.started", ({ worker }) => started(worker)),
  );
  return { ...made, ended, worker, label: `${hostname()}:${process.pid}` };
}

test("pause, resume and stop a worker, by its id or host:pid, and record who did it", async () => {
  const { call, jobs, ended, worker, label } = await working();
  const paused = new Promise<unknown>((heard) => jobs.on("worker.paused", heard));
  const { stdout, stderr } = await call("pause", "worker", label, "--reason", "deploy");
  expect(stdout).toBe(`worker ${worker} of ${label} is asked to pause\n`);
  expect(stderr).toContain("obeys at its next heartbeat");
  expect(await paused).toMatchObject({ worker, reason: "deploy", by: expect.stringMatching(/@/) });

  const resumed = new Promise<unknown>((heard) => jobs.on("worker.resumed", heard));
  expect(JSON.parse((await call("resume", "worker", worker, "--json")).stdout)).toEqual({
    v: 1,
    resumed: [{ kind: "worker", name: label, id: worker, until: null }],
  });
  expect(await resumed).toEqual({ worker });

  expect((await call("stop", worker)).stdout).toBe(
    `worker ${worker} of ${label} is asked to stop, with 0 running\n`,
  );
  await ended;
  expect((await jobs.audit()).entries).toMatchObject([
    { action: "worker.stop", target: `${worker} of ${label}`, source: "cli" },
    { action: "worker.resume", target: `${worker} of ${label}`, source: "cli" },
    { action: "worker.pause", target: `${worker} of ${label}`, details: { reason: "deploy" } },
  ]);
});

test("an unknown worker is refused, with the command that lists them", async () => {
  const { call, jobs } = scene();
  await jobs.install();
  expect(await call("stop", "web-1:1")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('There is no live worker "web-1:1". All of them: punctual list workers'),
  });
  expect((await call("pause", "worker", "web-1:1")).code).toBe(3);
});
