import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { scene } from "./support/project-scene.ts";
import { start } from "./support/punctual.ts";

/** Three failed runs, one completed, one waiting. */
async function withRuns() {
  const made = scene();
  made.jobs
    .schedule("faulty", async () => {
      throw new Error("no");
    })
    .concurrency(0);
  made.jobs.schedule("fine", async () => {}).concurrency(0);
  const failed: number[] = [];
  for (let n = 0; n < 3; n++) failed.push((await made.jobs.dispatch("faulty")).id);
  const completed = (await made.jobs.dispatch("fine", { note: "bad state: new" })).id;
  await made.jobs.run();
  const waiting = (await made.jobs.dispatch("fine").delay("1h")).id;
  return { ...made, failed, completed, waiting };
}

describe("by ids", () => {
  test("retry executes finished runs again, and names those that it could not retry", async () => {
    const { call, jobs, failed, completed, waiting } = await withRuns();
    const all = [...failed, completed, waiting].map(String);
    const { code, stdout } = await call("retry", ...all);
    expect([code, stdout]).toEqual([1, "4 retried, 1 skipped (already scheduled)\n"]);
    for (const id of [...failed, completed]) expect(await jobs.state(id)).toBe("ready");
  });

  test("retry takes a time", async () => {
    const { call, jobs, failed } = await withRuns();
    const id = failed[0]!;
    const { code } = await call(
      "retry",
      String(id),
      "--at",
      "2090-07-01 12:00",
      "--timezone",
      "Europe/Berlin",
    );
    expect(code).toBe(0);
    expect(await jobs.find(id)).toMatchObject({
      state: "scheduled",
      runAt: new Date("2090-07-01T10:00:00Z"),
    });
    const later = failed[2]!;
    const before = Date.now();
    expect((await call("retry", String(later), "--at", "+1 day")).code).toBe(0);
    const { state, runAt } = (await jobs.find(later))!;
    expect(state).toBe("scheduled");
    expect(Number(runAt)).toBeGreaterThanOrEqual(before + 86_400_000);
    expect(Number(runAt)).toBeLessThanOrEqual(Date.now() + 86_400_000);
    const wrong = await call("retry", String(failed[1]), "--at", "soon");
    expect(wrong.stderr).toContain("Expected a Date or an ISO 8601 text");
    expect(wrong.code).toBe(2);
    expect(await jobs.state(failed[1]!)).toBe("failed");
  });

  test("an unknown id is reported last, after the others were processed", async () => {
    const { call, failed, jobs } = await withRuns();
    const { code, stdout } = await call("retry", "999", String(failed[0]), "--json");
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toEqual({ v: 1, retried: 1, skipped: {}, missing: [999] });
    expect(await jobs.state(failed[0]!)).toBe("ready");
  });

  test("cancel ends waiting runs, and skips finished ones", async () => {
    const { call, jobs, waiting, completed } = await withRuns();
    expect(await call("cancel", String(waiting))).toMatchObject({ code: 0, stdout: "1 cancelled\n" });
    expect(await jobs.state(waiting)).toBe("cancelled");
    expect(await call("cancel", String(completed))).toMatchObject({
      code: 1,
      stdout: "0 cancelled, 1 skipped (already completed)\n",
    });
    expect(await call("cancel", String(waiting))).toMatchObject({
      code: 1,
      stdout: "0 cancelled, 1 skipped (already cancelled)\n",
    });
  });

  test("cancel requests the end of a running run; delete and retry skip it", async () => {
    const { call, jobs } = scene();
    const started = new Promise<AbortSignal>((resolve) => {
      jobs.schedule("long", async (_, run) => {
        resolve(run.signal);
        await new Promise((aborted) => run.signal.addEventListener("abort", aborted));
      });
    });
    const { id } = await jobs.dispatch("long");
    const working = jobs.forever({ signals: false });
    const signal = await started;
    expect(await call("delete", String(id))).toMatchObject({
      code: 1,
      stdout: "0 deleted, 1 skipped (already running)\n",
    });
    expect(await call("retry", String(id))).toMatchObject({ code: 1 });
    const asked = await call("cancel", String(id), "--json");
    expect(JSON.parse(asked.stdout)).toEqual({
      v: 1,
      cancelled: 0,
      requested: 1,
      skipped: {},
      missing: [],
    });
    if (!signal.aborted) await new Promise((aborted) => signal.addEventListener("abort", aborted));
    await jobs.stop();
    await working;
  });

  test("cancel --force ends a running run after a confirmation", async () => {
    const { call, jobs } = scene();
    const started = new Promise<AbortSignal>((resolve) => {
      jobs
        .schedule("deaf", async (_, run) => {
          resolve(run.signal);
          await new Promise((over) => run.signal.addEventListener("abort", over));
        })
        .lease(1);
    });
    const { id } = await jobs.dispatch("deaf");
    const working = jobs.forever({ signals: false });
    const signal = await started;
    const refused = await call("cancel", String(id), "--force");
    expect(refused).toMatchObject({ code: 7, stdout: "" });
    expect(refused.stderr).toContain("--yes");
    expect((await call("cancel", String(id), "--force", "--yes")).stdout).toBe("1 cancelled\n");
    expect(await jobs.state(id)).toBe("cancelled");
    if (!signal.aborted) await new Promise((aborted) => signal.addEventListener("abort", aborted));
    expect(signal.reason).toMatchObject({ code: "LEASE_LOST" });
    await jobs.stop();
    await working;
  });

  test("delete removes runs, and --dry-run lists them", async () => {
    const { call, jobs, failed } = await withRuns();
    const ids = failed.slice(0, 2).map(String);
    const dry = await call("delete", "--dry-run", ...ids);
    expect(dry.stdout).toBe(`${ids[0]}  faulty  failed\n${ids[1]}  faulty  failed\n`);
    expect(dry.stderr).toContain("2 runs would be deleted. Nothing was changed.");
    expect(await jobs.find(failed[0]!)).not.toBeNull();
    expect((await call("delete", ...ids)).stdout).toBe("2 deleted\n");
    expect(await jobs.find(failed[0]!)).toBeNull();
  });

  test("more than 100 runs need a confirmation", async () => {
    const { call, jobs } = scene();
    expect((await call("retry", "1")).code).toBe(5);
    await jobs.install();
    const many = Array.from({ length: 101 }, (_, n) => String(n + 1));
    const refused = await call("retry", ...many);
    expect(refused.code).toBe(7);
    expect(refused.stderr).toContain("Retry 101 runs? There is no terminal to confirm on; pass --yes.");
    const { code, stdout } = await call("retry", "--yes", "--json", ...many);
    expect([code, JSON.parse(stdout).missing.length]).toEqual([3, 101]);
  });

  test.each([
    [["retry"], 2, "retry expected ids of runs or --where, and got neither"],
    [["cancel", "1", "--where", "job:x"], 2, "cancel expected ids of runs or --where, not both"],
    [["delete", "--where", " "], 2, "--where expected a query that selects runs"],
    [["delete", "--where", "job:*"], 2, "matches all runs to delete"],
    [["retry", "--where", "state:completed,failed,cancelled,skipped"], 2, "matches all runs to retry"],
    [["cancel", "--where", "id:>0 -queue:bulk"], 2, "matches all runs to cancel"],
    [["delete", "all"], 2, 'Expected the id of a run, a whole number, got "all"'],
    [["delete", "1.5"], 2, "Expected the id of a run"],
    [["delete", "99999999999999999999"], 2, "Expected the id of a run"],
    [
      ["retry", "1", "--limit", "0"],
      2,
      'Invalid value "0" of --limit <n>. Expected a whole number of at least 1.',
    ],
    [["retry", "1", "--force"], 2, "Unknown option --force."],
  ])("%j exits with %d", async (args, expected, message) => {
    const { code, stdout, stderr } = await scene().call(...args);
    expect(stderr).toContain(message);
    expect([code, stdout]).toEqual([expected, ""]);
  });
});

describe("by a query", () => {
  test("retry selects failed runs, unless the query names a state", async () => {
    const { call, jobs, failed, completed, waiting } = await withRuns();
    expect((await call("retry", "--where", "after:1d", "--dry-run", "--json")).stdout).toContain(
      '"matched": 3',
    );
    expect(await call("retry", "--where", "job:f* after:1d")).toMatchObject({
      code: 0,
      stdout: "3 retried\n",
    });
    for (const id of failed) expect(await jobs.state(id)).toBe("ready");
    expect(await jobs.state(completed)).toBe("completed");
    const words = 'payload.note:"bad state: new" after:1d';
    expect((await call("retry", "--where", words)).stdout).toBe("0 retried\n");
    expect((await call("retry", "--where", "state:completed after:1d")).stdout).toBe("1 retried\n");
    expect(await jobs.state(waiting)).toBe("scheduled");
  });

  test("cancel selects unfinished runs, delete finished ones, up to a limit", async () => {
    const { call, jobs, failed, waiting } = await withRuns();
    expect((await call("delete", "--where", "job:faulty", "--limit", "2")).stdout).toBe("2 deleted\n");
    expect((await jobs.runs({ job: "faulty" })).runs.map(({ id }) => id)).toEqual([failed[0]]);
    expect((await call("cancel", "--where", "queue:default")).stdout).toBe("1 cancelled\n");
    expect(await jobs.state(waiting)).toBe("cancelled");
    expect(await call("cancel", "--where", "job:nobody")).toMatchObject({ code: 0, stdout: "0 cancelled\n" });
  });

  test("a signal ends the command after the current runs, with a summary and exit code 130", async () => {
    const { cwd, url, jobs } = scene();
    await jobs.declare("many").dispatchMany(Array.from({ length: 5000 }, () => ({})));
    const working = start(["cancel", "--where", "job:many", "--yes"], {
      cwd,
      env: { PUNCTUAL_DATABASE_URL: url },
    });
    const left = async () => (await jobs.status()).queues[0]?.ready ?? 0;
    await eventually("the first ones to be cancelled", async () => (await left()) < 5000);
    working.child.kill("SIGINT");
    const { code, stdout } = await working.ended;
    const [, done, rest] = /^(\d+) cancelled; interrupted, (\d+) left\n$/.exec(stdout) ?? [];
    expect([code, Number(done) + Number(rest), await left()]).toEqual([130, 5000, Number(rest)]);
  });

  test("an invalid query exits with 2; more than 100 runs need a confirmation", async () => {
    const { call, jobs } = await withRuns();
    const wrong = await call("retry", "--where", "stat:failed");
    expect(wrong.stderr).toContain("state");
    expect([wrong.code, wrong.stdout]).toEqual([2, ""]);
    const many = jobs.declare("many");
    await many.dispatchMany(Array.from({ length: 101 }, () => ({})));
    const refused = await call("cancel", "--where", "job:many");
    expect(refused.stderr).toContain("Cancel 101 runs? There is no terminal to confirm on; pass --yes.");
    expect([refused.code, refused.stdout]).toEqual([7, ""]);
    expect((await call("cancel", "--where", "job:many", "--yes")).stdout).toBe("101 cancelled\n");
  });
});
