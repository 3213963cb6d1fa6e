import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { RunContext } from "../../src/index.ts";
import { drain } from "../../src/testing/index.ts";
import { heard, listen, open } from "./support/instance.ts";

/** Executes one run with this handler, and returns the lines that were stored. */
async function logged(log: (run: RunContext) => void): Promise<{ message: string; data: unknown }[]> {
  const { jobs } = open();
  jobs.schedule("task", (_: unknown, run) => log(run));
  const { id } = await jobs.dispatch("task");
  await jobs.run();
  expect(await jobs.state(id)).toBe("completed");
  return (await jobs.logs(id)).map(({ message, data }) => ({ message, data }));
}

const data = async (value: unknown) => (await logged((run) => run.log("m", value)))[0]!.data;

test("lines that a handler logged are readable when its run has ended", async () => {
  const { jobs, clock } = open();
  jobs
    .schedule("task", async (_: unknown, run) => {
      run.log("first", { n: 1 });
      await clock.advance("250ms");
      run.log("second");
    })
    .onAfter((_, run) => run.log("after"));
  const { id } = await jobs.dispatch("task");
  expect(await jobs.logs(id)).toEqual([]);
  const begin = clock.now();
  await jobs.run();
  const lines = await jobs.logs(id);
  expect(lines.map(({ position: _, ...line }) => line)).toEqual([
    { attempt: 1, at: new Date(begin), message: "first", data: { n: 1 } },
    { attempt: 1, at: new Date(begin + 250), message: "second", data: undefined },
    { attempt: 1, at: new Date(begin + 250), message: "after", data: undefined },
  ]);
  expect(await jobs.logs(id, { after: lines[0]!.position, limit: 1 })).toEqual([lines[1]]);
  expect(await jobs.logs(id, { after: lines[2]!.position })).toEqual([]);
  expect(await jobs.countLogs(id)).toBe(3);
});

test("lines are readable while the run runs, about once a second", async () => {
  const { jobs, clock } = open();
  jobs.schedule("task", async (_: unknown, run) => {
    run.log("begun");
    await new Promise((resolve) => run.signal.addEventListener("abort", resolve));
  });
  const started = heard(jobs, "worker.started");
  const working = jobs.forever({ signals: false });
  await started;
  const { id } = await jobs.dispatch("task");
  await heard(jobs, "run.logged");
  expect(await jobs.countLogs(id)).toBe(0);
  await clock.advance(2);
  expect(await jobs.logs(id)).toMatchObject([{ message: "begun" }]);
  await jobs.cancel(id);
  await clock.advance(1);
  void jobs.stop();
  await working;
});

test("all lines are readable once a listener gets the end of the run", async () => {
  const { jobs } = open();
  jobs.schedule("task", (_: unknown, run) => {
    for (let n = 0; n < 10; n++) run.log(`${n}`);
  });
  const started = heard(jobs, "worker.started");
  const working = jobs.forever({ signals: false });
  await started;
  const completed = heard(jobs, "run.completed");
  const { id } = await jobs.dispatch("task");
  await completed;
  expect(await jobs.countLogs(id)).toBe(10);
  void jobs.stop();
  await working;
});

test("lines of each attempt are kept, also of those after a retry from history", async () => {
  const { jobs } = open();
  jobs
    .schedule("task", (_: unknown, run) => {
      run.log(`try ${run.attempt}`);
      throw new Error("no");
    })
    .retries({ max: 2, base: 0 });
  const { id } = await jobs.dispatch("task");
  await jobs.run();
  await jobs.retry(id);
  await jobs.run();
  expect((await jobs.logs(id)).map(({ attempt, message }) => `${attempt} ${message}`)).toEqual([
    "1 try 1",
    "2 try 2",
    "3 try 3",
  ]);
});

test("messages of any kind and size are stored", async () => {
  const lines = await logged((run) => {
    run.log(42 as never);
    run.log(Symbol("s") as never);
    run.log({
      toString() {
        throw new Error("no");
      },
    } as never);
    run.log("a\0b \ud800");
    run.log("ü".repeat(3000));
    run.log("");
  });
  expect(lines.slice(0, 4).map(({ message }) => message)).toEqual([
    "42",
    "Symbol(s)",
    "(message without text)",
    "a\uFFFDb \uFFFD",
  ]);
  const long = lines[4]!.message;
  expect(Buffer.byteLength(long)).toBeLessThanOrEqual(4096);
  expect(Buffer.byteLength(long)).toBeGreaterThan(4000);
  expect(long).toMatch(/^ü+… \(cut\)$/);
  expect(lines[5]!.message).toBe("");
});

test("data that a payload cannot contain is stored as far as it can be read", async () => {
  expect(await data(undefined)).toBeUndefined();
  expect(await data(null)).toBeNull();
  expect(await data(1n)).toBe("1");
  expect(await data(Number.NaN)).toBe("NaN");
  expect(await data([undefined, () => 1, Symbol("s")])).toEqual([null, "[function ]", "Symbol(s)"]);
  const when = new Date(0);
  expect(await data({ when, map: new Map([["password", when]]), set: new Set([1]) })).toEqual({
    when: "1970-01-01T00:00:00.000Z",
    map: { password: "1970-01-01T00:00:00.000Z" },
    set: [1],
  });
  expect(await data({ bytes: Buffer.from("abc"), none: undefined })).toEqual({ bytes: "[3 bytes]" });
  expect(await data(new URL("http://localhost/a"))).toBe("http://localhost/a");
  const circle: Record<string, unknown> = { twice: [when, when] };
  circle.self = circle;
  expect(await data(circle)).toEqual({ twice: [when.toJSON(), when.toJSON()], self: "[circular]" });
  const error = await data({ error: new TypeError("bad", { cause: new Error("worse") }) });
  expect(error).toMatchObject({ error: { name: "TypeError", message: "bad", cause: { message: "worse" } } });
  const throwing = {
    fine: 1,
    get bad() {
      throw new Error("no");
    },
  };
  expect(await data(throwing)).toEqual({ fine: 1, bad: "(cannot be read)" });
  const proxy = new Proxy(
    {},
    {
      ownKeys() {
        throw new Error("no");
      },
    },
  );
  expect(await data(proxy)).toBe("(cannot be read)");
});

test("data that is too large is replaced by a note", async () => {
  const fits = "x".repeat(16 * 1024 - 2);
  expect(await data(fits)).toBe(fits);
  expect(await data("ü".repeat(10_000))).toBe("(left out: 20002 bytes of JSON, at most 16384 are kept)");
  const note = "(left out: more than 16384 bytes of JSON, at most 16384 are kept)";
  expect(await data(`${fits}xxx`)).toBe(note);
  expect(await data(new Array(1e9))).toBe(note);
  expect(await data({ deep: Array.from({ length: 5000 }, () => ({ a: 1 })) })).toBe(note);
});

test("only the first 1,000 lines are stored, and a note", async () => {
  const { jobs } = open();
  jobs.schedule("task", (_: unknown, run) => {
    for (let n = 1; n <= 50_000; n++) run.log(`line ${n}`);
  });
  const told = listen(jobs, "run.logged");
  const { id } = await jobs.dispatch("task");
  await jobs.run();
  expect(told).toHaveLength(50_000);
  expect(await jobs.countLogs(id)).toBe(1001);
  const lines = await jobs.logs(id);
  expect(lines.map(({ message }) => message)).toEqual(lines.map((_, index) => `line ${index + 1}`));
  expect(await jobs.logs(id, { after: lines.at(-1)!.position })).toMatchObject([
    { message: "(more lines were logged: the first 1000 of an attempt are kept)", data: undefined },
  ]);
});

test("a run that is released repeatedly has one bound for all its attempts", async () => {
  const { jobs, clock } = open();
  jobs.schedule("task", (_: unknown, run) => {
    for (let n = 1; n <= 400; n++) run.log(`line ${n}`);
    run.snooze(1);
  });
  const { id } = await jobs.dispatch("task");
  for (let times = 0; times < 5; times++) {
    await jobs.run();
    await clock.advance(2);
  }
  expect(await jobs.countLogs(id)).toBe(1001);
});

test("no line is left if history keeps nothing", async () => {
  const db = new DatabaseSync(":memory:");
  const { jobs, clock } = open({}, db);
  jobs
    .schedule("task", (_: unknown, run) => {
      run.log("said");
      if (run.attempt < 3) throw new Error("no");
    })
    .retries({ max: 3, base: 0 })
    .keep(0);
  jobs
    .schedule("atomic", async (_: unknown, run) => {
      run.log("before");
      await run.transaction(() => {});
      run.log("after it was completed");
    })
    .keep(0);
  jobs
    .schedule("stubborn", async (_: unknown, run) => {
      run.log("begun");
      await clock.advance(1);
      // The attempt has timed out, but its handler continues.
      await new Promise((resolve) => clock.after(20_000, () => resolve(undefined)));
      run.log("late");
    })
    .timeout(0.5)
    .keep(0);
  for (const name of ["task", "atomic", "stubborn"]) await jobs.dispatch(name);
  const running = jobs.run();
  for (let seconds = 0; seconds < 30; seconds++) await clock.advance(1);
  await running;
  expect(db.prepare("select count(*) as n from punctual_history").get()).toEqual({ n: 0 });
  expect(db.prepare("select count(*) as n from punctual_runs").get()).toEqual({ n: 0 });
  expect(db.prepare("select * from punctual_logs").all()).toEqual([]);
});

test("runs of dispatchHere() and drain() are logged", async () => {
  const { jobs } = open();
  jobs.schedule("task", (_: unknown, run) => run.log(`${run.name} ${run.id}`));
  const here = await jobs.dispatchHere("task");
  const adHoc = await jobs.dispatch("function", (_: unknown, run) => run.log(`${run.name} ${run.id}`));
  await jobs.run();
  const drained = await jobs.dispatch("task");
  await drain(jobs);
  for (const { id, name } of [here, adHoc, drained])
    expect(await jobs.logs(id)).toMatchObject([{ message: `${name} ${id}` }]);
});

test("lines before and after the run's own transaction are kept", async () => {
  const { jobs } = open();
  jobs.schedule("task", async (_: unknown, run) => {
    run.log("before");
    await run.transaction(() => {});
    run.log("after");
  });
  const { id } = await jobs.dispatch("task");
  await jobs.run();
  expect(await jobs.logs(id)).toMatchObject([{ message: "before" }, { message: "after" }]);
});

test("a run without lines does not read their table", async () => {
  const texts: string[] = [];
  const { prepare } = DatabaseSync.prototype;
  const db = new DatabaseSync(":memory:");
  const { jobs } = open({}, db);
  jobs.schedule("kept", () => {});
  jobs.schedule("not-kept", () => {}).keep(0);
  jobs.schedule("speaks", (_: unknown, run) => run.log("m")).keep(0);
  await jobs.install();
  DatabaseSync.prototype.prepare = function (text, ...rest) {
    texts.push(text);
    return prepare.call(this, text, ...rest);
  };
  try {
    await jobs.dispatch("kept");
    await jobs.dispatch("not-kept");
    expect(await jobs.run()).toBe(2);
    expect(texts.filter((text) => text.includes("punctual_logs"))).toEqual([]);
    await jobs.dispatch("speaks");
    await jobs.run();
    expect(texts.filter((text) => text.includes("punctual_logs"))).toHaveLength(2);
  } finally {
    DatabaseSync.prototype.prepare = prepare;
  }
});

test("a line that a trigger refuses does not affect the run, and is written later", async () => {
  const db = new DatabaseSync(":memory:");
  const { jobs, errors } = open({}, db);
  jobs.schedule("task", (_: unknown, run) => {
    run.log("good");
    run.log("bad");
    run.log("good too");
  });
  await jobs.install();
  db.exec(`create trigger no before insert on punctual_logs when new.message = 'bad'
             begin select raise(abort, 'not this one'); end`);
  const { id } = await jobs.dispatch("task");
  await jobs.run();
  expect(await jobs.state(id)).toBe("completed");
  expect((await jobs.logs(id)).map(({ message }) => message)).toEqual(["good", "good too"]);
  expect(errors.splice(0)).toMatchObject([{ during: "writing log lines of handlers" }]);
  db.exec("drop trigger no");
  await jobs.dispatch("task");
  await jobs.run();
  expect((await jobs.logs(id)).map(({ message }) => message)).toEqual(["good", "bad", "good too"]);
});

test("a line whose data the database rejects is dropped", async () => {
  const db = new DatabaseSync(":memory:");
  const { jobs, errors } = open({}, db);
  jobs.schedule("task", (_: unknown, run) => {
    for (const message of ["good", "bad", "bad", "good too"]) run.log(message);
  });
  await jobs.install();
  db.exec("create unique index no on punctual_logs (message)");
  const { id } = await jobs.dispatch("task");
  await jobs.run();
  expect((await jobs.logs(id)).map(({ message }) => message)).toEqual(["good", "bad", "good too"]);
  expect(errors.splice(0)).toMatchObject([
    { during: `writing a log line of run ${id}, which the database rejected; dropped` },
  ]);
});

test("logs: false emits the lines and stores none", async () => {
  const { jobs } = open({ logs: false });
  jobs.schedule("task", (_: unknown, run) => run.log("m", { a: 1 }));
  const told = listen(jobs, "run.logged");
  const { id } = await jobs.dispatch("task");
  await jobs.run();
  expect(told).toMatchObject([{ id, message: "m", data: { a: 1 } }]);
  expect(await jobs.countLogs(id)).toBe(0);
});

test("logs() refuses unknown options", async () => {
  const { jobs } = open();
  await expect(jobs.logs(1, { afer: 1 } as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(jobs.logs(1, { after: -1 })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(jobs.logs(1, { limit: 1001 })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(jobs.logs("1" as never)).rejects.toThrow();
  expect(await jobs.logs(12345)).toEqual([]);
});
