import { describe, expect, test } from "vitest";
import { heard, listen, open } from "./support/instance.ts";

describe("snooze()", () => {
  test("runs again later, and the attempt does not count", async () => {
    const { jobs, clock } = open();
    const seen: number[] = [];
    jobs.schedule("task", (_args, run) => {
      seen.push(run.attempt);
      if (seen.length < 3) run.snooze("1m");
      return "done";
    });
    const run = await jobs.dispatch("task");
    const snoozed = listen(jobs, "run.snoozed");
    await jobs.run();
    expect(await jobs.find(run.id)).toMatchObject({
      state: "scheduled",
      attempts: 1,
      runAt: new Date("2026-01-01T00:01:00Z"),
    });
    await clock.advance(60);
    await jobs.run();
    await clock.advance(60);
    await jobs.run();
    expect(seen).toEqual([1, 2, 3]);
    expect(await jobs.find(run.id)).toMatchObject({ state: "completed", attempts: 3, result: "done" });
    expect(snoozed).toMatchObject([
      { id: run.id, attempt: 1, delay: 60_000 },
      { id: run.id, attempt: 2, delay: 60_000 },
    ]);
    expect(await jobs.attempts(run.id)).toEqual([]);
  });

  test("leaves the retries as they were", async () => {
    const { jobs, clock } = open();
    const seen: [number, boolean][] = [];
    jobs
      .schedule("task", (_args, run) => {
        seen.push([run.attempt, run.isLastAttempt]);
        if (seen.length <= 2) run.snooze("1m");
        throw new Error("no");
      })
      .attempts({ max: 2, base: 1, jitter: "none" });
    const run = await jobs.dispatch("task");
    for (let passes = 0; passes < 4; passes++) {
      await jobs.run();
      await clock.advance(60);
    }
    expect(seen).toEqual([
      [1, false],
      [2, false],
      [3, false],
      [4, true],
    ]);
    expect((await jobs.find(run.id))!.state).toBe("failed");
  });

  test("takes effect if the handler catches its error", async () => {
    const { jobs } = open();
    let after = false;
    jobs.schedule("task", (_args, run) => {
      try {
        run.snooze(60);
      } catch {
        after = true;
      }
      return "ignored";
    });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(after).toBe(true);
    expect(await jobs.find(run.id)).toMatchObject({ state: "scheduled", attempts: 1 });
  });

  test("takes effect if the handler throws another error after it", async () => {
    const { jobs } = open();
    jobs.schedule("task", (_args, run) => {
      try {
        run.snooze(60);
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: what a careless handler does.
        throw new Error("cleaning up failed");
      }
    });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(await run.state()).toBe("scheduled");
  });

  test("takes effect only if it comes first", async () => {
    const { jobs } = open();
    jobs.schedule("task", (_args, run) => {
      try {
        run.snooze(60);
      } catch {
        run.discard("changed my mind");
      }
    });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(await run.state()).toBe("scheduled");
  });

  test("works in a hook and in nested calls", async () => {
    const { jobs } = open();
    let ran = 0;
    jobs.schedule("task", () => void ran++).onBefore((_args, run) => run.snooze(60));
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(ran).toBe(0);
    expect(await jobs.find(run.id)).toMatchObject({ state: "scheduled", attempts: 1 });
  });

  test.each([[-1], ["later"], [undefined], [Number.NaN]])(
    "with %j fails the attempt, with the reason",
    async (delay) => {
      const { jobs } = open();
      jobs.schedule("task", (_args, run) => run.snooze(delay as number));
      const run = await jobs.dispatch("task");
      await jobs.run();
      expect((await jobs.find(run.id))?.error).toMatchObject({
        code: "INVALID_DURATION",
        message: expect.stringContaining("snooze()"),
      });
    },
  );
});

describe("discard()", () => {
  test("ends the run as cancelled, with the reason, which is not a failure", async () => {
    const { jobs } = open();
    jobs.schedule("task", (_args, run) => run.discard("user is gone")).retries(5);
    const run = await jobs.dispatch("task");
    const cancelled = heard(jobs, "run.cancelled");
    await jobs.run();
    expect(await cancelled).toMatchObject({ id: run.id, attempt: 1, reason: "user is gone" });
    expect(await jobs.find(run.id)).toMatchObject({
      state: "cancelled",
      attempts: 1,
      error: { message: "user is gone" },
    });
    expect(await jobs.attempts(run.id)).toEqual([]);
    expect((await jobs.status()).jobs[0]).toMatchObject({ fails: 0, lastError: null });
    await expect(run.wait()).rejects.toMatchObject({
      code: "RUN_CANCELLED",
      message: `Run ${run.id} of "task" was cancelled: user is gone`,
    });
  });

  test("works without a reason, and if the handler catches its error", async () => {
    const { jobs } = open();
    jobs.schedule("task", async (_args, run) => {
      await Promise.resolve()
        .then(() => run.discard())
        .catch(() => {});
      return 5;
    });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(await jobs.find(run.id)).toMatchObject({ state: "cancelled", error: null, result: undefined });
  });
});
