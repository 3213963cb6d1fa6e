import { describe, expect, test } from "vitest";
import { scene } from "./support/project-scene.ts";
import { run } from "./support/punctual.ts";
import { EVIL, STEERING, seeded } from "./support/seed.ts";

describe("show", () => {
  test("explains a failed run: its attempts, its error, its payload without secrets", async () => {
    const { call, failed } = await seeded();
    const { code, stdout, stderr } = await call("show", String(failed));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^✕ Run 3 of send-invoice: failed\n {2}It has ended: failed\./);
    expect(stdout).toMatch(/Attempts that failed or did not finish\n.*\n +1 +failed/);
    expect(stdout).toMatch(/Error\n {2}SmtpError: connect ETIMEDOUT.*\n {4}at .*seed\.ts/);
    expect(stdout).toContain("caused by Error: socket hang up");
    expect(stdout).toContain('"password": "[hidden]"');
    expect(stdout).not.toContain("hunter2");
    expect(stderr).toContain("punctual retry 3");
    expect((await call("show", String(failed), "--raw")).stdout).toContain("hunter2");
  });

  test("explains why a run waits", async () => {
    const { call, waiting, retrying, running } = await seeded();
    expect((await call("show", String(waiting))).stdout).toContain(
      'No live worker serves the queue "heavy".',
    );
    expect((await call("show", String(retrying))).stdout).toMatch(
      /It waits for attempt 2\.[\s\S]*Last error\n {2}TypeError: fetch failed/,
    );
    expect((await call("show", String(running))).stdout).toMatch(
      /Worker +web-2:4411[\s\S]*Progress .* 40 % +120\/300/,
    );
  });

  test("prints the result of a completed run", async () => {
    const { call, completed } = await seeded();
    expect((await call("show", String(completed))).stdout).toMatch(
      /Tags +nightly[\s\S]*Result\n {2}\{\n {4}"synced": 3\n {2}\}\n/,
    );
  });

  test("prints the settings of a job, its schedules in words and its last runs", async () => {
    const { call } = await seeded();
    const { stdout } = await call("show", "nightly-export");
    expect(stdout).toMatch(/^! nightly-export: late\n {2}no live worker serves "heavy"\n/);
    expect(stdout).toMatch(/Queue +heavy\n +Priority +-5\n +At once +1 run/);
    expect(stdout).toContain("At 14:00 every day (UTC).");
    expect(stdout).toMatch(/Last runs\n.*\n +● +7 +heavy +ready/);
    expect((await call("show", EVIL)).stdout).not.toMatch(STEERING);
  });

  test("--payload prints the payload alone", async () => {
    const { call, db, failed } = await seeded();
    const shown = await call("show", String(failed), "--payload");
    expect(JSON.parse(shown.stdout)).toEqual({ id: 41, password: "[hidden]" });
    expect(shown.stderr).toBe(`To see hidden values: punctual show ${failed} --payload --raw\n`);
    const raw = await call("show", String(failed), "--payload", "--raw");
    expect(JSON.parse(raw.stdout)).toEqual({ id: 41, password: "hunter2" });
    expect(raw.stderr).toBe("");
    const again = await run(["dispatch", "send-invoice", "-", "-q", "--db", db], { input: raw.stdout });
    const copy = await call("show", again.stdout.trim(), "--payload", "--raw", "--json");
    expect(JSON.parse(copy.stdout)).toEqual({ v: 1, payload: { id: 41, password: "hunter2" } });
    const none = await call("show", "2", "--payload");
    expect(none).toMatchObject({ stdout: "{}\n", stderr: "" });
    const job = await call("show", "send-invoice", "--payload");
    expect(job).toMatchObject({ code: 2, stdout: "" });
    expect(job.stderr).toContain("A job has no payload: name one of its runs by its id.");
  });

  test("prints a payload exactly, with escaped control characters", async () => {
    const { call, db } = await seeded();
    const evil = { text: `${EVIL}\x9b\u2028é`, [EVIL]: ["\n"] };
    const { stdout: id } = await run(["dispatch", "send-invoice", JSON.stringify(evil), "-q", "--db", db]);
    const { stdout } = await call("show", id.trim(), "--payload");
    expect(stdout).not.toMatch(STEERING);
    expect(stdout).toContain("é");
    expect(JSON.parse(stdout)).toEqual(evil);
  });

  test("exits with 3 for an unknown run or job, with similar names", async () => {
    const { call } = await seeded();
    const run = await call("show", "4711");
    expect(run.code).toBe(3);
    expect(run.stderr).toContain("There is no run 4711.");
    expect(run.stderr).toContain("run 7");
    const job = await call("show", "send-invoise");
    expect(job.code).toBe(3);
    expect(job.stderr).toContain('Did you mean "send-invoice"?');
  });
});

/** New keys may be added; none may be removed. */
describe("JSON keeps its form", () => {
  const JOB = [
    "name",
    "queue",
    "priority",
    "limit",
    "keyLimit",
    "cron",
    "paused",
    "pause",
    "running",
    "waiting",
    "leasedUntil",
    "lastOutcome",
    "lastRun",
    "lastFailure",
    "lastError",
    "fails",
    "seenAt",
    "nextRun",
    "state",
  ];
  const RUN = [
    "id",
    "name",
    "queue",
    "key",
    "priority",
    "state",
    "runAt",
    "args",
    "attempts",
    "crashes",
    "worker",
    "child",
    "lockedUntil",
    "startedAt",
    "finishedAt",
    "error",
    "fingerprint",
    "progress",
    "tags",
    "parentId",
    "batchId",
    "uniqueKey",
    "scheduledFor",
    "cancelRequested",
    "createdAt",
  ];

  test("status", async () => {
    const { call } = await seeded();
    const status = JSON.parse((await call("status", "--json")).stdout);
    expect(Object.keys(status)).toEqual(
      expect.arrayContaining([
        "v",
        "now",
        "defined",
        "running",
        "idle",
        "health",
        "jobs",
        "queues",
        "workers",
      ]),
    );
    expect(Object.keys(status.jobs[0])).toEqual(
      expect.arrayContaining([...JOB, "isFailing", "isLate", "remark", "leasedBy", "startedAt"]),
    );
    expect(status.now).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  test("list and show", async () => {
    const { call, running } = await seeded();
    const list = JSON.parse((await call("list", "--json")).stdout);
    expect(Object.keys(list)).toEqual(["v", "runs", "next", "bounded"]);
    const run = JSON.parse((await call("show", String(running), "--json")).stdout);
    expect(Object.keys(run.run)).toEqual(expect.arrayContaining(RUN));
    expect(Object.keys(run)).toEqual(["v", "run", "why", "attempts", "logLines", "lostResult"]);
    const job = JSON.parse((await call("show", "sync-stripe", "--json")).stdout);
    expect(Object.keys(job)).toEqual(["v", "job", "queue", "day", "schedules", "runs"]);
  });
});

test("says why a result was not kept", async () => {
  const { call, jobs } = scene();
  jobs.schedule("big", (_args, run) => {
    run.log("begun");
    return "x".repeat(2_000_000);
  });
  jobs.schedule("small", (_args, run) => run.log("begun"));
  const [big, small] = [await jobs.dispatch("big"), await jobs.dispatch("small")];
  while ((await jobs.run()) > 0);
  const reason = "Cannot keep result: 2000002 bytes of JSON, the limit is 1048576.";
  expect((await call("show", String(big.id))).stdout).toContain(`Result\n  Not kept. ${reason}`);
  expect(JSON.parse((await call("show", String(big.id), "--json")).stdout).lostResult).toContain(reason);
  expect((await call("show", String(small.id))).stdout).not.toContain("Result");
});
