import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

/** JSON that JavaScript numbers cannot hold, as another program may have written it. */
const EXACT = '{"id": 9223372036854775807, "n": 1.10}';

async function file(): Promise<{ url: string; sql: (text: string) => unknown[] }> {
  const folder = await mkdtemp(join(tmpdir(), "rerun-"));
  const path = join(folder, "jobs.db");
  onTestFinished(() => rm(folder, { recursive: true }));
  const sql = (text: string) => {
    const db = new DatabaseSync(path);
    try {
      return db.prepare(text).all();
    } finally {
      db.close();
    }
  };
  return { url: `sqlite:${path}`, sql };
}

describe("rerun()", () => {
  test("dispatches the same again, and links it", async () => {
    const { jobs } = open();
    const got: unknown[] = [];
    jobs.define("task", (args: unknown) => void got.push(args)).concurrency(5, { perKey: 1 });
    const first = await jobs
      .dispatch("task", { n: 1 })
      .queue("bulk")
      .key("k")
      .priority(7)
      .tags("a", "b")
      .timeout(30)
      .attempts(2)
      .unique("only");
    await jobs.run();
    const again = await jobs.rerun(first.id);
    expect(again.inserted).toBe(true);
    expect(await jobs.find(again.id)).toMatchObject({
      name: "task",
      queue: "bulk",
      key: "k",
      priority: 7,
      tags: ["a", "b"],
      args: { n: 1 },
      timeout: 30_000,
      rerunOf: first.id,
      parentId: null,
      uniqueKey: null,
      attempts: 0,
      state: "ready",
    });
    await jobs.run();
    expect(got).toEqual([{ n: 1 }, { n: 1 }]);
    expect(await jobs.find(again.id)).toMatchObject({ state: "completed", rerunOf: first.id });
    await jobs.retry(again.id);
    expect(await jobs.find(again.id)).toMatchObject({ state: "ready", rerunOf: first.id });
  });

  test("repeats a run that is still waiting, too", async () => {
    const { jobs } = open();
    jobs.define("task", () => {});
    const first = await jobs.dispatch("task").delay(60);
    const again = await jobs.rerun(first.id);
    expect((await jobs.find(again.id))!.state).toBe("ready");
    expect((await jobs.find(first.id))!.state).toBe("scheduled");
  });

  test("with other arguments, from which the key is computed", async () => {
    const { jobs } = open();
    jobs
      .define("task", (_: { tenant: string }) => {})
      .concurrency(5, { perKey: 1, by: ({ tenant }) => tenant });
    const first = await jobs.dispatch("task", { tenant: "a" });
    const other = await jobs.rerun(first.id, { args: { tenant: "b" } });
    expect(await jobs.find(other.id)).toMatchObject({ key: "b", args: { tenant: "b" } });
    const text = await jobs.rerun(first.id, { json: '{"tenant":"c"}' });
    expect(await jobs.find(text.id)).toMatchObject({ key: "c", args: { tenant: "c" } });
    expect((await jobs.find((await jobs.rerun(first.id)).id))!.key).toBe("a");
  });

  test("copies the stored arguments unchanged, in a process without the job", async () => {
    const { url, sql } = await file();
    const worker = open({}, url);
    worker.jobs
      .define("task", () => {})
      .queue("bulk")
      .priority(3);
    const first = await worker.jobs.dispatch("task", {});
    await worker.jobs.run();
    sql(`update punctual_history set args = '${EXACT}' where id = ${first.id}`);
    const dashboard = open({}, url);
    const again = await dashboard.jobs.rerun(first.id);
    expect(sql(`select args, queue, priority, rerun_of from punctual_runs where id = ${again.id}`)).toEqual([
      { args: EXACT, queue: "bulk", priority: 3, rerun_of: first.id },
    ]);
    const edited = await dashboard.jobs.rerun(first.id, { json: EXACT.replace("807", "806") });
    expect(sql(`select args from punctual_runs where id = ${edited.id}`)).toEqual([
      { args: EXACT.replace("807", "806") },
    ]);
    const byName = await dashboard.jobs.dispatchJson("task", EXACT, { tags: ["x"] });
    expect(sql(`select args, queue, priority, tags from punctual_runs where id = ${byName.id}`)).toEqual([
      { args: EXACT, queue: "bulk", priority: 3, tags: '["x"]' },
    ]);
  });

  test("validates against the schema, where this process has it", async () => {
    const { jobs } = open();
    const schema = {
      "~standard": {
        version: 1 as const,
        vendor: "test",
        validate: (value: unknown) =>
          typeof (value as { n?: unknown }).n === "number"
            ? { value: value as { n: number } }
            : { issues: [{ message: "expected a number", path: ["n"] }] },
      },
    };
    jobs.define("task", schema, () => {});
    const first = await jobs.dispatch("task", { n: 1 });
    await expectRefusal(
      () => jobs.rerun(first.id, { args: { n: "1" } }),
      "INVALID_ARGS",
      "expected a number",
    );
    await expectRefusal(() => jobs.dispatchJson("task", '{"n":"1"}'), "INVALID_ARGS");
    expect((await jobs.runs()).runs).toHaveLength(1);
  });

  test("is refused where it makes no sense", async () => {
    const { jobs } = open();
    jobs.define("task", () => {});
    const { id } = await jobs.dispatch("task");
    const adHoc = await jobs.dispatch("once", () => {});
    await expectRefusal(() => jobs.rerun(9999), "RUN_NOT_FOUND", "Cannot rerun run 9999");
    await expectRefusal(() => jobs.rerun(adHoc.id), "HANDLER_GONE");
    await expectRefusal(() => jobs.rerun(id, { args: {}, json: "{}" }), "INVALID_OPTION");
    await expectRefusal(() => jobs.rerun(id, { json: "{" }), "INVALID_PAYLOAD");
    await expectRefusal(() => jobs.rerun(id, { json: '{"__proto__":1}' }), "INVALID_PAYLOAD");
    await expectRefusal(() => jobs.rerun(id, { json: `"${"x".repeat(1_048_576)}"` }), "PAYLOAD_TOO_LARGE");
    await expectRefusal(() => jobs.dispatchJson("nobody", "{}"), "UNKNOWN_JOB");
  });
});

test("runSchedule() dispatches a run with the schedule's arguments, and leaves its ticks", async () => {
  const { jobs } = open();
  jobs.define("task", (_: { n: number }) => {});
  jobs.recur("task", "0 3 * * *", { args: { n: 7 }, queue: "night" });
  await jobs.run();
  const [schedule] = await jobs.schedules();
  const run = await jobs.runSchedule(schedule!.id);
  expect(await jobs.find(run.id)).toMatchObject({ args: { n: 7 }, queue: "night", scheduledFor: null });
  expect(await jobs.schedules()).toEqual([schedule]);
  await expectRefusal(() => jobs.runSchedule(99), "UNKNOWN_SCHEDULE");
});
