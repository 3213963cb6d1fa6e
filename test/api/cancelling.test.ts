import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { PunctualError, type RunContext } from "../../src/index.ts";
import { heard, listen, open } from "./support/instance.ts";

const untilAborted = (run: RunContext) =>
  new Promise<never>((_resolve, reject) => {
    run.signal.addEventListener("abort", () => reject(run.signal.reason), { once: true });
  });

describe("cancelling a running run", () => {
  test("aborts its signal with a typed reason; it ends as cancelled", async () => {
    const { jobs } = open();
    let reason: unknown;
    jobs
      .schedule("task", (_args, run) => {
        run.signal.addEventListener("abort", () => {
          reason = run.signal.reason;
        });
        return untilAborted(run);
      })
      .retries(5);
    const run = await jobs.dispatch("task");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    const cancelled = heard(jobs, "run.cancelled");
    expect(await run.cancel()).toBe("requested");
    await pass;
    expect(reason).toBeInstanceOf(PunctualError);
    expect(reason).toMatchObject({ code: "RUN_CANCELLED" });
    expect(await cancelled).toMatchObject({ id: run.id, attempt: 1, reason: null });
    expect(await jobs.find(run.id)).toMatchObject({ state: "cancelled", attempts: 1, error: null });
  });

  test("leaves it running, with a cancellation request, until the handler returns", async () => {
    const { jobs } = open();
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    const { promise: aborted, resolve: hear } = Promise.withResolvers<void>();
    jobs.schedule("task", async (_args, run) => {
      run.signal.addEventListener("abort", () => hear());
      await go;
      run.signal.throwIfAborted();
    });
    const run = await jobs.dispatch("task");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await run.cancel();
    await aborted;
    expect(await run.cancel()).toBe("requested");
    expect(await jobs.find(run.id)).toMatchObject({ state: "running", cancelRequested: true });
    expect(await jobs.why(run.id)).toContain("It was asked to cancel; its handler has not returned yet.");
    release();
    await pass;
    expect(await run.state()).toBe("cancelled");
  });

  test("by force ends the run, and discards the handler's result", async () => {
    const { jobs } = open();
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    jobs.schedule("task", () => go);
    const run = await jobs.dispatch("task");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    const cancelled = heard(jobs, "run.cancelled");
    const lost = heard(jobs, "run.lost");
    expect(await jobs.cancel(run.id, { force: true })).toBe("cancelled");
    expect(await cancelled).toMatchObject({ id: run.id, attempt: 1 });
    release();
    await pass;
    expect(await lost).toMatchObject({ id: run.id });
    expect(await run.state()).toBe("cancelled");
    const forced = jobs.cancel(run.id, { forced: true } as never);
    await expect(forced).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  test("lets a handler that finishes nevertheless complete", async () => {
    const { jobs } = open();
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    jobs.schedule("task", async () => {
      await go;
      return "finished anyway";
    });
    const run = await jobs.dispatch("task");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await run.cancel();
    release();
    await pass;
    expect(await run.wait()).toBe("finished anyway");
  });

  test("abandons a handler that ignores the signal after the grace", async () => {
    const { jobs, clock } = open();
    jobs.schedule("task", () => new Promise(() => {}));
    const run = await jobs.dispatch("task");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await run.cancel();
    await clock.advance(6);
    await pass;
    expect(await run.state()).toBe("cancelled");
  });

  test("from another instance reaches its worker with the next exchange", async () => {
    const db = new DatabaseSync(":memory:");
    const worker = open({}, db);
    worker.jobs.schedule("task", (_args, run) => untilAborted(run));
    const run = await worker.jobs.dispatch("task");
    void worker.jobs.forever({ signals: false });
    await heard(worker.jobs, "run.started");
    const other = open({ clock: worker.clock }, db);
    expect(await other.jobs.cancel(run.id)).toBe("requested");
    await worker.clock.advance(1);
    expect(await other.jobs.state(run.id)).toBe("cancelled");
  });

  test.each(["retried", "snoozed"] as const)(
    "from another instance just before it is %s: the event and the count say that it was cancelled",
    async (outcome) => {
      const db = new DatabaseSync(":memory:");
      const { jobs, clock } = open({}, db);
      const other = open({ clock }, db);
      const cancelled = listen(jobs, "run.cancelled");
      const waits = listen(jobs, `run.${outcome}`);
      jobs
        .schedule("task", async (_args, run) => {
          expect(await other.jobs.cancel(run.id)).toBe("requested");
          if (outcome === "snoozed") run.snooze(10);
          throw new Error("fails");
        })
        .retries(5);
      const run = await jobs.dispatch("task");
      await jobs.run();
      expect(cancelled).toMatchObject([{ id: run.id, attempt: 1, reason: null }]);
      expect(waits).toEqual([]);
      const counted = db.prepare(`select cancelled, ${outcome} as waits from punctual_minutes`).get();
      expect(counted).toMatchObject({ cancelled: 1, waits: 0 });
    },
  );
});

describe("cancel() of a run that was cancelled before", () => {
  test("succeeds; with only it rejects, and of two calls at once one succeeds", async () => {
    const { jobs } = open();
    jobs.schedule("task", () => {});
    const { id } = await jobs.dispatch("task");
    const only = ["scheduled", "ready", "running"] as const;
    const answers = await Promise.allSettled([jobs.cancel(id, { only }), jobs.cancel(id, { only })]);
    expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(answers.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "RUN_FINISHED", message: `Cannot cancel run ${id}: it has finished (cancelled).` },
    });
    expect(await jobs.cancel(id)).toBe("cancelled");
  });
});
