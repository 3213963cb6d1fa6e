import { expect, test } from "vitest";
import { table } from "../../src/cli/render/table.ts";
import { limitColumns, limitRows } from "../../src/cli/views/limit-columns.ts";
import { pageOf } from "./support/page.ts";
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
  expect(stdout + stderr).toContain("No job, no queue and no named limit has a rate.");
});

test("a rate that was slowed down by mistake is reopened, and who did it is recorded", async () => {
  const { call, jobs } = scene();
  const mail = jobs.define("mail", async (_, run) => run.slowDown("1h")).rate(20, "1m");
  await mail.dispatch({});
  await jobs.run();
  expect((await call("reopen", "job", "mail")).stdout).toBe("job mail: 1 rate reopened\n");
  expect((await jobs.rates())[0]).toMatchObject({ slowedUntil: null, opensAt: null, spent: 1 });
  expect((await call("reopen", "job", "mail", "--key", "a")).stdout).toBe(
    "job mail, key a: no rate was slowed down; nothing changed\n",
  );
  expect(JSON.parse((await call("reopen", "queue", "default", "--json")).stdout)).toMatchObject({
    reopened: 0,
  });
  const { code, stderr } = await call("reopen", "queue", "default", "--key", "a");
  expect([code, stderr]).toEqual([2, expect.stringContaining("--key belongs to a job")]);
  const { entries } = await jobs.audit();
  expect(entries).toMatchObject([{ action: "rate.reopen", target: "job mail", details: { reopened: 1 } }]);
});

test("the rate of a named limit is reopened", async () => {
  const { call, jobs } = scene();
  jobs.limit("api", { rate: { limit: 20, per: "1m" } });
  const mail = jobs.define("mail", async (_, run) => run.slowDown("1h")).under("api");
  await mail.dispatch({});
  await jobs.run();
  expect((await call("reopen", "limit", "api")).stdout).toBe("limit api: 1 rate reopened\n");
  expect(await jobs.rates({ name: "api" })).toMatchObject([{ slowedUntil: null, spent: 1 }]);
  for (const kind of ["job", "queue", "limit"])
    expect(await call("reopen", kind, "missing")).toMatchObject({ code: 3 });
  const { code, stderr } = await call("reopen", "limit", "api", "--key", "a");
  expect([code, stderr]).toEqual([2, expect.stringContaining("a limit has one rate")]);
});

test("status --queues has named limits and jobs with rates, at 80 columns", async () => {
  const { call, jobs } = scene();
  jobs.limit("openai", { concurrency: 20, rate: { limit: 60_000, per: "1m" } });
  const names = ["summarise", "translate", "embed-documents", "classify-messages"];
  for (const name of names) jobs.define(name, async () => {}).under("openai");
  jobs
    .define("sync-shop", async (_: { shop: string }) => {})
    .rate(50, "1s", { perKey: 2, by: ({ shop }) => shop });
  jobs.define("lost", async () => {}).under("opnai");
  jobs.define("plain", async () => {});
  await jobs.run();
  const page = pageOf(80);
  const lines = table(limitColumns(page), limitRows(await jobs.status()), page);
  expect(lines.map((line) => line.trimEnd())).toEqual([
    "  Limit Of           Running  Rate                       Jobs",
    "● limit openai       0 of 20  60000 in 1 min             classify-messages, emb…",
    "! limit opnai    not defined  –                          lost",
    "● job sync-shop       0 of 1  50 in 1 s; 2 in 1 s a key",
  ]);
  const { stdout } = await call("status", "--queues");
  expect(stdout).toMatch(
    /Queue .*\n.*default .*\n\n +Limit Of +Running +Rate +Jobs\n● limit openai +0 of 20 /,
  );
  const { limits } = JSON.parse((await call("status", "--json")).stdout);
  expect(limits).toMatchObject([{ name: "openai", limit: 20, jobs: names.toSorted() }, { name: "opnai" }]);
});

test("status --queues has no table of limits if there are none", async () => {
  const { call, jobs } = scene();
  jobs.define("plain", async () => {});
  await jobs.run();
  expect((await call("status", "--queues")).stdout).not.toContain("Limit Of");
});
