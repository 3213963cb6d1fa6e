import { expect, test } from "vitest";
import { scene } from "./support/project-scene.ts";

test("rates are listed with what is spent and when they open", async () => {
  const { call, jobs } = scene();
  jobs.queue("default", { rate: { limit: 50, per: "1h" } });
  const mail = jobs
    .define("mail", async () => {})
    .concurrency(0)
    .rate(2, "1h", { burst: 2 });
  const runs = await mail.dispatchMany([{}, {}, {}]);
  await jobs.run();
  const { stdout } = await call("rates");
  expect(stdout).toMatch(/Of +Rate +Spent +Free +Opens/);
  expect(stdout).toMatch(/job mail +2 in 1 h, burst 2 +2 +0 +\S+/);
  expect(stdout).toMatch(/queue default +50 in 1 h +2 +48 +open/);
  const listed = await call("list", "rates", "--json");
  expect(JSON.parse(listed.stdout)).toMatchObject({
    rates: [{ job: "mail", spent: 2 }, { queue: "default" }],
  });
  expect((await call("show", String(runs[2]!.id))).stdout).toContain('Its job "mail" may start 2 in 1 h');
  expect((await call("show", "mail")).stdout).toMatch(/Rate +2 in 1 h, burst 2/);
  expect((await call("status", "--queues")).stdout).toContain("50 in 1 h");
});

test("a rate that a handler has slowed down is listed as such", async () => {
  const { call, jobs } = scene();
  const mail = jobs.define("mail", async (_, run) => run.slowDown("1h")).rate(20, "1m");
  const run = await mail.dispatch({});
  await jobs.run();
  expect((await call("rates")).stdout).toMatch(/job mail +20 in 1 min +1 +19 +\S.*, slowed down/);
  expect((await call("show", String(run.id))).stdout).toContain('Its job "mail" was slowed down until ');
});

test("without a rate, rates says so", async () => {
  const { call, jobs } = scene();
  jobs.define("mail", async () => {});
  await jobs.run();
  const { stdout, stderr } = await call("rates");
  expect(stdout + stderr).toContain("No job and no queue has a rate.");
});
