import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { readProgress } from "../../src/index.ts";
import { heard, listen, open } from "./support/instance.ts";

describe("progress()", () => {
  test("is visible while the run runs, and kept in history", async () => {
    const { jobs, clock } = open();
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    jobs.schedule("task", async (_args, run) => {
      run.progress({ done: 1, of: 3 });
      await go;
      run.progress(1);
    });
    const run = await jobs.dispatch("task");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await clock.advance(1);
    expect(await jobs.find(run.id)).toMatchObject({ state: "running", progress: { done: 1, of: 3 } });
    release();
    await pass;
    expect(await jobs.find(run.id)).toMatchObject({ state: "completed", progress: 1 });
  });

  test("takes two numbers, which workers() shows while the run runs", async () => {
    const { jobs, clock } = open();
    const { promise: go, resolve: release } = Promise.withResolvers<void>();
    jobs.schedule("task", async (_args, run) => {
      run.progress(1, 3);
      await go;
      expect(() => run.progress("x" as never, 3)).toThrow("progress() expected two numbers");
      run.progress(3, 3);
    });
    const run = await jobs.dispatch("task");
    const started = heard(jobs, "run.started");
    const working = jobs.forever({ parallel: 4, signals: false });
    await started;
    await clock.advance(6);
    const [worker, ...others] = await jobs.workers();
    expect(others).toEqual([]);
    expect(worker).toMatchObject({
      parallel: 4,
      used: 1,
      running: [{ id: run.id, name: "task", attempt: 1, progress: { done: 1, of: 3 } }],
      facts: { version: expect.stringMatching(/^\d/), memory: expect.any(Number), children: [] },
    });
    release();
    await run.wait();
    expect(readProgress((await jobs.find(run.id))!.progress)).toEqual({ done: 3, of: 3 });
    expect((await jobs.workers())[0]).toMatchObject({ used: 0, running: [] });
    void jobs.stop();
    await working;
  });

  test.each([[null], [3], ["3 of 4"], [[1, 2]], [{ done: "1", of: 2 }]])("%j is no bar", (value) => {
    expect(readProgress(value)).toBeNull();
  });

  test("writes a handful of times for 10,000 calls, the last one at the end", async () => {
    const db = new DatabaseSync(":memory:");
    const prepare = db.prepare.bind(db);
    let writes = 0;
    db.prepare = (text: string) => {
      const statement = prepare(text);
      if (/update punctual_runs\s+set progress/.test(text)) {
        const run = statement.run.bind(statement);
        statement.run = (...params: never[]) => {
          writes++;
          return run(...params);
        };
      }
      return statement;
    };
    const { jobs } = open({}, db);
    jobs.schedule("task", async (_args, run) => {
      for (let n = 0; n <= 10_000; n++) {
        run.progress(n);
        if (n % 1000 === 0) await Promise.resolve();
      }
    });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect((await jobs.find(run.id))?.progress).toBe(10_000);
    expect(writes).toBeGreaterThan(0);
    expect(writes).toBeLessThanOrEqual(3);
  });

  test("throws for a value that JSON cannot represent", async () => {
    const { jobs } = open();
    const codes: string[] = [];
    jobs.schedule("task", (_args, run) => {
      try {
        run.progress(new Date() as never);
      } catch (error) {
        codes.push((error as { code: string }).code);
      }
    });
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(codes).toEqual(["INVALID_PAYLOAD"]);
    expect(await run.state()).toBe("completed");
  });

  test("is ignored after the end of the attempt", async () => {
    const { jobs, clock } = open();
    let late: (() => void) | undefined;
    jobs.schedule("task", (_args, run) => {
      run.progress("in time");
      late = () => run.progress("late");
    });
    const run = await jobs.dispatch("task");
    await jobs.run();
    late?.();
    await clock.advance(1);
    expect((await jobs.find(run.id))?.progress).toBe("in time");
  });
});

describe("log()", () => {
  test("emits an event with its run", async () => {
    const { jobs } = open();
    jobs.schedule("task", (_args, run) => {
      run.log("half way", { done: 5 });
      run.log(42 as never);
    });
    const logged = listen(jobs, "run.logged");
    const run = await jobs.dispatch("task");
    await jobs.run();
    const of = { id: run.id, name: "task", queue: "default", attempt: 1 };
    expect(logged).toEqual([
      { ...of, message: "half way", data: { done: 5 } },
      { ...of, message: "42", data: undefined },
    ]);
  });
});
