import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { type Busy, busyJob } from "./support/busy.ts";
import { type Opened, open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

/** Lets the worker do everything it can without time passing. */
const turns = ({ clock }: Pick<Opened, "clock">) => clock.advance(1);

async function finish(one: Opened, busy: Busy[], total: number): Promise<void> {
  for (let round = 0; busy.reduce((sum, { started }) => sum + started, 0) < total && round < 1000; round++) {
    for (const { release } of busy) release();
    await turns(one);
  }
  for (const { release } of busy) for (let n = 0; n < 100; n++) release();
  await turns(one);
}

describe("a job", () => {
  test("runs one at a time by default", async () => {
    const one = open();
    const { job, busy } = busyJob(one, "report");
    await job.dispatchMany([{}, {}, {}]);
    void one.jobs.forever({ signals: false, parallel: 10 });
    await turns(one);
    expect(busy).toMatchObject({ now: 1, started: 1 });
    busy.release();
    await turns(one);
    expect(busy).toMatchObject({ now: 1, started: 2 });
    await finish(one, [busy], 3);
    expect(busy).toMatchObject({ most: 1, started: 3 });
  });

  test.each([
    [3, 3],
    [0, 7],
  ])("concurrency(%d): %d at once", async (limit, most) => {
    const one = open();
    const { job, busy } = busyJob(one, "report");
    job.concurrency(limit);
    await job.dispatchMany(Array(7).fill({}));
    void one.jobs.forever({ signals: false, parallel: 10 });
    await turns(one);
    expect(busy.now).toBe(most);
    await finish(one, [busy], 7);
    expect(busy).toMatchObject({ most, started: 7 });
  });

  test("a limit holds for all processes together", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    const two = open({ clock: one.clock }, db);
    const first = busyJob(one, "report");
    const second = busyJob(two, "report");
    first.job.concurrency(3);
    second.job.concurrency(3);
    await first.job.dispatchMany(Array(8).fill({}));
    void one.jobs.forever({ signals: false });
    void two.jobs.forever({ signals: false });
    await turns(one);
    expect(first.busy.now + second.busy.now).toBe(3);
    await finish(one, [first.busy, second.busy], 8);
    expect(first.busy.most + second.busy.most).toBeLessThanOrEqual(6);
  });

  test("has its own limit, beside another job's", async () => {
    const one = open();
    const mail = busyJob(one, "mail");
    const post = busyJob(one, "post");
    await mail.job.dispatchMany([{}, {}]);
    await post.job.dispatchMany([{}, {}]);
    void one.jobs.forever({ signals: false });
    await turns(one);
    expect([mail.busy.now, post.busy.now]).toEqual([1, 1]);
    await finish(one, [mail.busy, post.busy], 4);
  });

  test("frees the slot of a failed, a cancelled and a timed out run", async () => {
    const { jobs, clock } = open();
    const ends: string[] = [];
    jobs
      .schedule("task", async (args: { how: string }, run) => {
        ends.push(args.how);
        if (args.how === "fail") throw new Error("no");
        if (args.how === "discard") run.discard();
        if (args.how === "hang") await new Promise(() => {});
      })
      .timeout(1)
      .priority(1);
    for (const how of ["fail", "discard", "hang", "last"]) await jobs.dispatch("task", { how });
    const pass = jobs.run();
    await clock.advance(10);
    expect(await pass).toBe(4);
    expect(ends).toEqual(["fail", "discard", "hang", "last"]);
  });

  test("applies a limit that was raised or lowered in code to waiting runs", async () => {
    const db = new DatabaseSync(":memory:");
    const before = open({}, db);
    before.jobs.schedule("report", () => {}).concurrency(0);
    await before.jobs.run();
    for (let n = 0; n < 5; n++) await before.jobs.dispatch("report");
    await before.jobs.stop();
    const one = open({}, db);
    const { job, busy } = busyJob(one, "report");
    job.concurrency(2);
    void one.jobs.forever({ signals: false });
    await turns(one);
    expect(busy.now).toBe(2);
    await finish(one, [busy], 5);
    expect(busy.most).toBe(2);
  });
});

describe("beside very many unlimited runs", () => {
  test.each([
    ["a more important one", 1, 500],
    ["one that is as important, once those before it have begun,", 100, 2500],
  ])("%s is not starved", async (_, priority, most) => {
    const one = open();
    const { job: short, busy } = busyJob(one, "short");
    let ran = 0;
    const limited = one.jobs.schedule("limited", () => {
      ran++;
    });
    limited.priority(priority);
    const many = Array.from({ length: 2000 }, () => ({}));
    await short.concurrency(0).dispatchMany(many);
    void one.jobs.forever({ signals: false, parallel: 10 });
    const pass = async () => {
      for (let n = busy.now; n > 0; n--) busy.release();
      await one.clock.advance("5ms");
    };
    // Until the worker has measured its pace, and prefetches.
    while (busy.started < 200) await pass();
    await limited.dispatchMany([{}, {}, {}]);
    await short.dispatchMany(many);
    while (ran < 3 && busy.started < 4000) await pass();
    expect(busy.started).toBeLessThan(most);
  });
});

describe("a queue", () => {
  test("has one limit for all its jobs", async () => {
    const one = open();
    one.jobs.queue("emails", { concurrency: 3 });
    const mail = busyJob(one, "mail");
    const post = busyJob(one, "post");
    const other = busyJob(one, "other");
    mail.job.queue("emails").concurrency(0);
    post.job.queue("emails").concurrency(0);
    other.job.concurrency(0);
    for (const { job } of [mail, post, other]) await job.dispatchMany(Array(4).fill({}));
    void one.jobs.forever({ signals: false, parallel: 20 });
    await turns(one);
    expect(mail.busy.now + post.busy.now).toBe(3);
    expect(other.busy.now).toBe(4);
    await finish(one, [mail.busy, post.busy, other.busy], 12);
  });

  test("limits runs that were dispatched to it from other jobs", async () => {
    const one = open();
    one.jobs.queue("narrow", { concurrency: 1 });
    const { job, busy } = busyJob(one, "task");
    job.concurrency(0);
    await job.dispatchMany([{}, {}, {}], { queue: "narrow" });
    await job.dispatchMany([{}, {}], { queue: "wide" });
    void one.jobs.forever({ signals: false });
    await turns(one);
    expect(busy.now).toBe(3);
    await finish(one, [busy], 5);
  });

  test("with 0 has no limit", async () => {
    const one = open();
    one.jobs.queue("emails", { concurrency: 1 }).queue("emails", { concurrency: 0 });
    const { job, busy } = busyJob(one, "mail");
    job.queue("emails").concurrency(0);
    await job.dispatchMany([{}, {}, {}]);
    void one.jobs.forever({ signals: false });
    await turns(one);
    expect(busy.now).toBe(3);
    await finish(one, [busy], 3);
  });
});

describe("a key", () => {
  test("perKey limits runs that share a key, given or computed from the arguments", async () => {
    const { jobs } = open();
    const running = new Map<string, number>();
    const most = new Map<string, number>();
    jobs
      .schedule("sync", async (_args: { user: string }, run) => {
        const key = run.key!;
        running.set(key, (running.get(key) ?? 0) + 1);
        most.set(key, Math.max(most.get(key) ?? 0, running.get(key)!));
        await Promise.resolve();
        running.set(key, running.get(key)! - 1);
      })
      .concurrency(0, { perKey: 1, by: (args) => args.user });
    for (let n = 0; n < 12; n++) await jobs.dispatch("sync", { user: `user-${n % 3}` });
    const explicit = await jobs.dispatch("sync", { user: "user-0" }).key("given");
    expect((await jobs.find(explicit.id))?.key).toBe("given");
    expect(await jobs.run()).toBe(13);
    expect(Object.fromEntries(most)).toEqual({ "user-0": 1, "user-1": 1, "user-2": 1, given: 1 });
  });

  test("that is full does not hold others back", async () => {
    const one = open();
    const { job, busy } = busyJob(one, "sync");
    job.concurrency(0, { perKey: 1 });
    for (let n = 0; n < 100; n++) await job.dispatch({}).key("busy");
    await job.dispatch({}).key("quiet");
    await job.dispatch({});
    void one.jobs.forever({ signals: false });
    await turns(one);
    expect(busy.now).toBe(3);
    expect((await one.jobs.runs({ key: "quiet" })).runs[0]?.state).toBe("running");
    await finish(one, [busy], 102);
    expect(busy.most).toBeLessThanOrEqual(3);
  });

  test("may be null or undefined for none; anything else that is not a name is refused", async () => {
    const { jobs } = open();
    jobs
      .schedule("sync", (_args: { user?: unknown }) => {})
      .concurrency(1, { perKey: 1, by: (args) => args.user as string });
    expect((await jobs.find((await jobs.dispatch("sync", {})).id))?.key).toBeNull();
    expect((await jobs.find((await jobs.dispatch("sync", { user: null })).id))?.key).toBeNull();
    await expect(jobs.dispatch("sync", { user: 0.5 })).rejects.toMatchObject({
      code: "INVALID_NAME",
      message: expect.stringContaining('the key of "sync"'),
    });
    await expect(jobs.dispatch("sync", { user: "" })).rejects.toMatchObject({ code: "INVALID_NAME" });
  });

  test("job, key and queue limits hold together", async () => {
    const one = open();
    one.jobs.queue("narrow", { concurrency: 2 });
    const { job, busy } = busyJob(one, "sync");
    job.queue("narrow").concurrency(3, { perKey: 1 });
    for (const key of ["a", "a", "b", "c"]) await job.dispatch({}).key(key);
    void one.jobs.forever({ signals: false });
    await turns(one);
    const running = (await one.jobs.runs({ state: "running" })).runs.map((run) => run.key).sort();
    expect(running).toEqual(["a", "b"]);
    await finish(one, [busy], 4);
    expect(busy.most).toBe(2);
  });
});

describe("a key that the producer cannot compute", () => {
  interface Mail {
    tenant: string;
  }

  /** Two processes on one database: the first only knows the name, the second works. */
  function apart(by: (args: Mail) => string | null) {
    const db = new DatabaseSync(":memory:");
    const producer = open({}, db);
    const worker = open({ clock: producer.clock }, db);
    producer.jobs.declare("mail");
    const seen: { tenant: string; key: string | null; attempt: number }[] = [];
    const job = worker.jobs
      .schedule("mail", ({ tenant }: Mail, run) => {
        seen.push({ tenant, key: run.key, attempt: run.attempt });
      })
      .concurrency(0, { perKey: 1, by });
    return { db, clock: producer.clock, producer: producer.jobs, worker: worker.jobs, job, seen };
  }

  test("is computed by the worker, without an event", async () => {
    const { producer, worker, seen } = apart(({ tenant }) => tenant);
    for (const tenant of ["a", "b", "a"]) await producer.dispatch("mail", { tenant });
    const events: string[] = [];
    for (const event of ["run.started", "run.released", "run.completed"] as const)
      worker.on(event, () => void events.push(event));
    expect(await worker.run()).toBe(3);
    expect(seen).toEqual(["a", "b", "a"].map((tenant) => ({ tenant, key: tenant, attempt: 1 })));
    expect(events.filter((event) => event === "run.started")).toHaveLength(3);
    expect(events).not.toContain("run.released");
  });

  test("does not count as a run of the pass", async () => {
    const { producer, worker, seen } = apart(({ tenant }) => tenant);
    for (let n = 0; n < 6; n++) await producer.dispatch("mail", { tenant: "a" });
    expect(await worker.run({ batch: 4 })).toBe(4);
    expect(seen).toHaveLength(4);
  });

  test("may be computed as none", async () => {
    const { producer, worker, seen } = apart(() => null);
    const run = await producer.dispatch("mail", { tenant: "a" });
    expect(await worker.run()).toBe(1);
    expect(seen).toEqual([{ tenant: "a", key: null, attempt: 1 }]);
    expect((await worker.find(run.id))!.key).toBeNull();
  });

  test("that cannot be computed fails the run, and the handler is not called", async () => {
    const { producer, worker, job, seen } = apart(() => {
      throw new Error("no tenant");
    });
    job.retries({ max: 2, base: 0 });
    const run = await producer.dispatch("mail", { tenant: "a" });
    await worker.run();
    const found = await worker.find(run.id);
    expect(found).toMatchObject({ state: "failed", attempts: 2 });
    expect(found!.error!.message).toBe(
      'The key of job "mail" could not be computed: by of concurrency() threw Error: no tenant. Expected a text or a whole number, or null for no key.',
    );
    expect(seen).toEqual([]);
  });

  test("is not computed if the dispatch gives one", async () => {
    const { producer, worker, seen } = apart(({ tenant }) => tenant);
    await producer.dispatch("mail", { tenant: "a" }).key("mine");
    await worker.run();
    expect(seen).toEqual([{ tenant: "a", key: "mine", attempt: 1 }]);
  });

  test("is left by a worker with older code to one with newer code, and why() says so", async () => {
    const { db, clock, producer, worker, seen } = apart(({ tenant }) => tenant);
    const old = open({ clock }, db);
    old.jobs.schedule("mail", () => {}).concurrency(0);
    await old.jobs.run();
    await clock.advance(1);
    await worker.run();
    const run = await producer.dispatch("mail", { tenant: "a" });
    expect(await old.jobs.run()).toBe(0);
    expect(await producer.why(run.id)).toContain("Its key is not known yet");
    expect(await worker.run()).toBe(1);
    expect(seen).toHaveLength(1);
  });
});

test.each([5, 5n])("a key may be the whole number %s", async (tenant) => {
  const { jobs } = await open();
  const job = jobs.schedule("import", () => {}).concurrency(0, { perKey: 1, by: () => tenant });
  const run = await job.dispatch();
  expect((await jobs.find(run.id))?.key).toBe("5");
});

test.each([
  ["a promise", () => Promise.reject(new Error("not waited for"))],
  ["1.5", () => 1.5],
  ["true", () => true],
  ['{"tenant":1}', () => ({ tenant: 1 })],
])("a key may not be %s", async (shown, by) => {
  const { jobs } = open();
  const job = jobs.schedule("import", () => {}).concurrency(0, { perKey: 1, by: by as never });
  await expectRefusal(() => job.dispatch(), "INVALID_NAME", `null for no key, got ${shown}.`);
});
