import { describe, expect, test, vi } from "vitest";
import { Job, Punctual } from "../../src/index.ts";
import { Configurable } from "../../src/job/configurable.ts";
import { Definition } from "../../src/job/definition.ts";
import { JobDraft } from "../../src/job/dispatchable.ts";
import { frequencies } from "../../src/job/frequencies.ts";
import { TestClock } from "../../src/testing/index.ts";
import { yieldToEventLoop } from "../../src/time.ts";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

interface Mail {
  to: string;
}

type MailJob = Definition<Mail>;

/** A job whose turn is over, and the warnings of its instance. */
async function defined() {
  const warnings: string[] = [];
  const quiet = () => {};
  const warn = (line: string) => void warnings.push(line);
  const { jobs, clock } = open({ logger: { debug: quiet, info: quiet, warn, error: quiet } });
  const mail: MailJob = jobs.define<Mail>("mail", () => {}).queue("mail");
  await null;
  return { jobs, clock, mail, warnings };
}

describe("before the first await", () => {
  test("settings change the job, in one statement or in several", async () => {
    const { jobs } = open();
    const mail = jobs.define<Mail>("mail", () => {}).queue("bulk");
    mail.concurrency(5);
    mail.everyMinute();
    mail.retries(3);
    expect(mail.isSealed).toBe(false);
    const run = await mail.dispatch({ to: "ada" });
    expect(mail.isSealed).toBe(true);
    expect(mail.settings).toMatchObject({ queue: "bulk", concurrency: 5, retries: { max: 3 } });
    expect(mail.toCron()).toBe("0 * * * * *");
    expect((await jobs.find(run.id))?.queue).toBe("bulk");
  });

  test("the defining chain may end in a dispatch", async () => {
    const { jobs, clock } = open();
    const run = await jobs
      .define("reindex", () => {})
      .queue("maintenance")
      .priority(50)
      .args({ deep: true })
      .delay(10)
      .dispatch();
    const runAt = new Date(clock.now() + 10_000);
    const expected = { queue: "maintenance", priority: 50, args: { deep: true }, runAt };
    expect(await jobs.find(run.id)).toMatchObject(expected);
    expect(jobs.definitions()[0]?.settings).toMatchObject({ queue: "maintenance", priority: 50 });
  });

  test("settings are open until the defining code has awaited", async () => {
    const { jobs } = open();
    const order: string[] = [];
    const other = (async () => {
      await null;
      order.push("other");
    })();
    const mail = jobs.define<Mail>("mail", () => {});
    order.push("still defining");
    expect(mail.isSealed).toBe(false);
    await other;
    expect(mail.isSealed).toBe(true);
    expect(order).toEqual(["still defining", "other"]);
  });

  test("fake timers of a test runner do not keep settings open", async () => {
    vi.useFakeTimers({ toFake: ["queueMicrotask"] });
    try {
      const { jobs } = open();
      const mail = jobs.define<Mail>("mail", () => {});
      await null;
      expect(mail.isSealed).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  test("each definition has its own turn, also between top-level awaits", async () => {
    const { jobs } = open();
    const first = jobs.define("first", () => {}).queue("one");
    await null;
    const second = jobs.define("second", () => {}).queue("two");
    expect([first.isSealed, second.isSealed]).toEqual([true, false]);
    second.concurrency(2);
    expect(second.settings.concurrency).toBe(2);
  });
});

describe("after the first await, a setting that one run can have returns a draft", () => {
  test.each<[string, (mail: MailJob) => object, object]>([
    ["queue", (mail) => mail.queue("bulk"), { queue: "bulk" }],
    ["priority", (mail) => mail.priority(1), { priority: 1 }],
    ["args", (mail) => mail.args({ to: "bob" }), { args: { to: "bob" } }],
    ["attempts", (mail) => mail.attempts(7), { retries: '{"max":7}' }],
    ["retries", (mail) => mail.retries(7), { retries: '{"max":7}' }],
    ["timeout", (mail) => mail.timeout(5), { timeout: 5000 }],
    ["unique", (mail) => mail.unique("once"), { unique: { key: "once", until: "finished", for: 0 } }],
    ["key", (mail) => mail.key("ada"), { key: "ada" }],
    ["tags", (mail) => mail.tags("a", "b"), { tags: ["a", "b"] }],
    ["expires", (mail) => mail.expires(60), { expires: 60_000 }],
    ["delay", (mail) => mail.delay(60), { delay: 60_000 }],
  ])("%s()", async (_, change, shape) => {
    const { mail } = await defined();
    const { settings } = mail;
    const draft = change(mail) as JobDraft<Mail>;
    expect(draft).toBeInstanceOf(JobDraft);
    expect(draft).not.toBeInstanceOf(Definition);
    expect(draft.shape).toMatchObject(shape);
    expect([draft.name, draft.draft()]).toEqual(["mail", draft]);
    await draft.dispatch({ to: "ada" });
    expect(mail.settings).toBe(settings);
  });

  test("in any order, and the job stays as it was defined", async () => {
    const { jobs, mail } = await defined();
    const first = await mail.queue("bulk").delay(60).dispatch({ to: "ada" });
    const second = await mail.delay(60).queue("bulk").dispatch({ to: "ada" });
    const third = await mail.queue("bulk").priority(1).tags("x").dispatch({ to: "ada" }, { key: "k" });
    for (const { id } of [first, second, third]) expect((await jobs.find(id))?.queue).toBe("bulk");
    expect(await jobs.find(third.id)).toMatchObject({ priority: 1, tags: ["x"], key: "k" });
    const plain = await mail.dispatch({ to: "ada" });
    expect(await jobs.find(plain.id)).toMatchObject({ queue: "mail", priority: 100 });
    expect(jobs.definitions()[0]?.settings.queue).toBe("mail");
  });

  test("of many runs", async () => {
    const { jobs, mail } = await defined();
    const runs = await mail.queue("bulk").dispatchMany([{ to: "ada" }, { to: "bob" }], { priority: 3 });
    for (const { id } of runs) expect(await jobs.find(id)).toMatchObject({ queue: "bulk", priority: 3 });
  });
});

const inDrafts = (name: string) => name in JobDraft.prototype;
const settings = Object.getOwnPropertyNames(Configurable.prototype).filter((name) => !inDrafts(name));
const schedules = [
  ...["cron", "timezone", "between", "unlessBetween", "startingAt", "endingAt", "misfire", "environments"],
  ...Object.keys(frequencies),
];

describe("after the first await, any other setting throws", () => {
  const late = (job: object, name: string) => (job as Record<string, () => unknown>)[name]!();

  test.each([...settings, ...schedules, "formerly"])("%s()", async (name) => {
    const { mail } = await defined();
    const { settings, formerNames } = mail;
    const text = `${name}() came too late for job "mail": its settings were sealed at the first await after its definition at `;
    const { message } = await expectRefusal(
      () => late(mail, name),
      "JOB_SEALED",
      text,
      /sealed\.test\.ts:\d+/,
    );
    expect(message.includes('recur("mail", cron)')).toBe(schedules.includes(name));
    expect([mail.settings, mail.formerNames, mail.toCron()]).toEqual([settings, formerNames, null]);
    const draft = mail.queue("bulk");
    await expectRefusal(() => late(draft, name), "JOB_SEALED", text);
    await draft.dispatch({ to: "ada" });
  });

  test("the list covers hooks, filters and limits", () => {
    expect(settings).toEqual(
      expect.arrayContaining(["concurrency", "lease", "keep", "when", "skip", "onError", "onAfter"]),
    );
    expect(settings.filter((name) => schedules.includes(name))).toEqual([]);
  });

  test("an await among the arguments of the chain counts", async () => {
    const { jobs } = open();
    await expectRefusal(
      async () => jobs.define("mail", () => {}).concurrency(await Promise.resolve(5)),
      "JOB_SEALED",
      "if it needs an await, await before that statement",
    );
  });
});

describe("a late draft that is not dispatched", () => {
  test("is warned about, once for each job", async () => {
    const { mail, warnings } = await defined();
    mail.queue("bulk");
    await yieldToEventLoop();
    mail.priority(1);
    await yieldToEventLoop();
    expect(warnings).toEqual([
      expect.stringMatching(
        /^job "mail": queue\("bulk"\) made a draft that was not dispatched, and left the job as it was: .*sealed\.test\.ts:\d+\. Call it in the statement that defines the job; if a draft was meant, begin it with draft\(\)$/,
      ),
    ]);
  });

  test("is not warned about if it, or a draft derived from it, was used", async () => {
    const { jobs, mail, warnings } = await defined();
    mail.queue("bulk").dispatch({ to: "ada" });
    mail.args({ to: "ada" }).delay(60).dispatch();
    await mail.priority(3).dispatchMany([{ to: "ada" }]);
    jobs.recur(mail.args({ to: "ada" }), "* * * * *");
    mail.draft().queue("bulk");
    mail.delay(60);
    await yieldToEventLoop();
    expect(warnings).toEqual([]);
  });
});

describe("a schedule is added late with recur()", () => {
  test("takes a name, a definition, or the arguments and the queue of a draft", async () => {
    const { jobs, clock } = open();
    const seen: unknown[] = [];
    const mail = jobs
      .define<Mail>("mail", ({ to }, run) => void seen.push(`${to} ${run.queue}`))
      .args({ to: "all" })
      .concurrency(0);
    await jobs.run();
    jobs.recur("mail", "* * * * *");
    jobs.recur(mail, "0 * * * * *", { queue: "other" });
    jobs.recur(mail.args({ to: "ada" }).queue("bulk"), "* * * * *");
    jobs.recur(mail.queue("bulk"), "* * * * *", { queue: "given" });
    await jobs.run();
    await clock.advance(60);
    await jobs.run();
    expect(seen.sort()).toEqual(["ada bulk", "all default", "all given", "all other"]);
  });

  test("refuses other settings of a draft", async () => {
    const { jobs, mail } = await defined();
    const text = (name: string) => `this draft also has ${name}, which a schedule cannot have`;
    await expectRefusal(() => jobs.recur(mail.delay(60), "* * * * *"), "INVALID_OPTION", text("delay"));
    await expectRefusal(() => jobs.recur(mail.at(new Date()), "* * * * *"), "INVALID_OPTION", text("at"));
    await expectRefusal(() => jobs.recur(mail.unique("x"), "* * * * *"), "INVALID_OPTION", text("unique"));
  });
});

describe("Job.use()", () => {
  const made: Punctual[] = [];
  const instance = () => {
    const jobs = new Punctual("sqlite::memory:", { clock: new TestClock(), logger: false });
    made.push(jobs);
    return jobs;
  };

  test("neither opens nor seals a definition that it takes over", async () => {
    Job.use(instance());
    const early = Job.define("sealed.early", () => {}).queue("one");
    await null;
    const late = Job.define("sealed.late", () => {});
    const next = instance();
    Job.use(next);
    late.concurrency(3);
    await expectRefusal(() => early.concurrency(3), "JOB_SEALED");
    const run = await early.queue("two").dispatch();
    expect((await next.find(run.id))?.queue).toBe("two");
    expect(next.definitions().map(({ settings }) => settings.concurrency)).toEqual([1, 3]);
    await Promise.all(made.map((jobs) => jobs.stop()));
  });

  test("warns about schedules that are defined after it, and once about those before", async () => {
    const warnings: string[] = [];
    const logger = { debug() {}, info() {}, error() {}, warn: (line: string) => void warnings.push(line) };
    const [first, second] = [1, 2].map(() => new Punctual("sqlite::memory:", { logger }));
    Job.use(first!);
    Job.define("sealed.never", () => {})
      .days(30)
      .months(2);
    await null;
    Job.use(second!);
    Job.define("sealed.neither", () => {})
      .days(30)
      .months(2);
    await null;
    const told = warnings.map((line) => /"sealed\.\w+"/.exec(line)?.[0]);
    expect(told).toEqual(['"sealed.never"', '"sealed.neither"']);
    await Promise.all([first!.stop(), second!.stop()]);
  });
});
