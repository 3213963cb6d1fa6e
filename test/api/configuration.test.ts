import { describe, expect, test } from "vitest";
import { type Definition, Punctual, type RunContext } from "../../src/index.ts";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

/** A definition whose configuration methods take anything, as from JavaScript. */
type Loose = Record<string, (...args: unknown[]) => unknown>;

function define(): Loose & Definition {
  return open().jobs.schedule("job", () => {}) as unknown as Loose & Definition;
}

async function rowOf(jobs: Punctual, name = "job") {
  await jobs.run();
  return (await jobs.status()).jobs.find((job) => job.name === name)!;
}

describe("defaults", () => {
  test("have documented values", async () => {
    const { jobs, clock } = open();
    let context: RunContext | undefined;
    jobs.schedule("job", (_args, run) => {
      context = run;
    });
    const run = await jobs.dispatch("job");
    const waiting = (await jobs.find(run.id))!;
    expect(waiting).toMatchObject({ queue: "default", priority: 100, state: "ready", attempts: 0, tags: [] });
    const { cron, ...row } = await rowOf(jobs);
    expect(row).toMatchObject({ queue: "default", priority: 100, limit: 1, keyLimit: 0 });
    expect(cron).toBeNull();
    expect(context).toMatchObject({ attempt: 1, maxAttempts: 1, isLastAttempt: true, crashes: 0 });
    expect(jobs.schedule("other", () => {}).settings).toMatchObject({
      lease: 60_000,
      timeout: null,
      retries: { max: 1, base: 1, cap: 60, jitter: "full" },
    });
    expect(clock.now()).toBe(waiting.runAt.getTime());
  });

  test("can be changed for an instance", async () => {
    const { jobs } = open({
      defaults: {
        queue: "mail",
        priority: -5,
        lease: "2m",
        concurrency: 0,
        retries: { max: 4, jitter: "none" },
        timeout: "30s",
        keep: { completed: 0 },
      },
    });
    const job = jobs.schedule("job", () => {});
    expect(job.settings).toMatchObject({
      queue: "mail",
      priority: -5,
      lease: 120_000,
      concurrency: 0,
      retries: { max: 4, base: 1, cap: 60, jitter: "none" },
      timeout: 30_000,
      keep: { completed: 0, failed: 30 * 86_400_000 },
    });
    const run = await job.dispatch();
    expect(await jobs.find(run.id)).toMatchObject({ queue: "mail", priority: -5 });
    expect(await rowOf(jobs)).toMatchObject({ queue: "mail", priority: -5, limit: 0 });
    expect(await run.state()).toBeNull();
  });

  test("are not changed by the settings of a job", () => {
    const { jobs } = open();
    jobs
      .schedule("one", () => {})
      .retries(5)
      .queue("x")
      .onBefore(() => {})
      .when(() => true);
    const { settings } = jobs.schedule("two", () => {});
    expect(settings).toMatchObject({ queue: "default", retries: { max: 1 }, before: [], when: [] });
  });

  test.each([
    [{ queu: "x" }, 'no option "queu"', 'Did you mean "queue"?'],
    [{ concurrency: -1 }, "concurrency (0 = no limit)", "got -1"],
    [{ priority: 1.5 }, "a priority", "got 1.5"],
    [{ lease: 0.5 }, "a lease of at least 1 second", "got 0.5"],
    [{ retries: 0 }, "retries max", "got 0"],
    [{ timeout: 0 }, "a timeout of more than 0", "got 0"],
    [null, "defaults", "got null"],
  ] as [unknown, ...string[]][])("%j is refused", async (defaults, ...parts) => {
    await expectRefusal(
      () => new Punctual("sqlite::memory:", { defaults: defaults as object }),
      "INVALID_OPTION",
      ...parts,
    );
  });
});

describe("each setting", () => {
  test("is stored in the definition, which it returns", async () => {
    const { jobs } = open();
    const job = jobs.schedule("job", () => {});
    const hook = () => {};
    const chained = job
      .queue("emails")
      .priority(-10)
      .lease(120)
      .concurrency(3, { perKey: 2 })
      .retries({ max: 5, base: 2, cap: 60, jitter: "full" })
      .timeout("1 minute")
      .keep("2 days")
      .args({ type: "newsletter" })
      .when(() => true)
      .skip(() => false)
      .onBefore(hook)
      .onSuccess(hook)
      .onError(hook)
      .onAfter(hook);
    expect(chained).toBe(job);
    const row = await rowOf(jobs);
    expect(row).toMatchObject({ queue: "emails", priority: -10, limit: 3, keyLimit: 2 });
  });

  test("lease takes at least one second, as seconds or text", () => {
    const job = define();
    expect(job.lease(1)).toBe(job);
    expect(job.settings.lease).toBe(1000);
    job.lease("1.5 hours");
    expect(job.settings.lease).toBe(5_400_000);
  });

  test("retries takes the number of attempts, or an object that changes the given members", () => {
    const job = define();
    job.retries({ max: 5, base: 2 });
    job.retries(7);
    expect(job.settings.retries).toEqual({ max: 7, base: 2, cap: 60, jitter: "full" });
  });

  test("keep takes one duration for all states, or one for each", () => {
    const day = 86_400_000;
    const job = define();
    job.keep({ failed: "forever", skipped: 0 });
    expect(job.settings.keep).toEqual({ completed: day, cancelled: day, skipped: 0, failed: null });
    job.keep("1h");
    expect(job.settings.keep).toEqual({
      completed: 3_600_000,
      cancelled: 3_600_000,
      skipped: 3_600_000,
      failed: 3_600_000,
    });
  });

  test("timeout(null) removes the timeout", () => {
    const job = define();
    job.timeout(5);
    job.timeout(null);
    expect(job.settings.timeout).toBeNull();
  });
});

describe("an invalid setting is refused", () => {
  test.each([
    ["priority", [1.5], "INVALID_OPTION", ["a priority", "whole number", "got 1.5"]],
    ["priority", ["10"], "INVALID_OPTION", ["a priority", 'got "10"']],
    ["priority", [Number.NaN], "INVALID_OPTION", ["got NaN"]],
    ["priority", [2 ** 31], "INVALID_OPTION", ["got 2147483648"]],
    ["concurrency", [-1], "INVALID_OPTION", ["concurrency (0 = no limit)", "at least 0", "got -1"]],
    ["concurrency", [2.5], "INVALID_OPTION", ["whole number", "got 2.5"]],
    ["concurrency", [undefined], "INVALID_OPTION", ["got undefined"]],
    ["concurrency", [1, { perkey: 1 }], "INVALID_OPTION", ['no option "perkey"', 'Did you mean "perKey"?']],
    ["concurrency", [1, { perKey: -1 }], "INVALID_OPTION", ["perKey", "got -1"]],
    ["concurrency", [1, { by: "id" }], "INVALID_OPTION", ["concurrency by expected a function", 'got "id"']],
    ["concurrency", [1, null], "INVALID_OPTION", ["concurrency()", "got null"]],
    ["lease", [0.999], "INVALID_OPTION", ["at least 1 second", "got 0.999"]],
    ["lease", ["10ms"], "INVALID_OPTION", ["at least 1 second", 'got "10ms"']],
    ["lease", ["soon"], "INVALID_DURATION", ["a lease", "seconds or text", 'got "soon"']],
    ["lease", [-5], "INVALID_DURATION", ["got -5"]],
    ["lease", [Number.POSITIVE_INFINITY], "INVALID_DURATION", ["got Infinity", "1,000 years"]],
    ["retries", [0], "INVALID_OPTION", ["retries max (attempts in all)", "at least 1", "got 0"]],
    ["retries", [2.5], "INVALID_OPTION", ["got 2.5"]],
    ["retries", ["3"], "INVALID_OPTION", ["retries()", 'got "3"']],
    ["retries", [null], "INVALID_OPTION", ["retries()", "got null"]],
    ["retries", [{ max: 3, delay: 5 }], "INVALID_OPTION", ['no option "delay"', "Known: max, base, cap"]],
    ["retries", [{ jiter: "none" }], "INVALID_OPTION", ['Did you mean "jitter"?']],
    ["retries", [{ base: -1 }], "INVALID_OPTION", ["retries base", "0 or more", "got -1"]],
    ["retries", [{ cap: "1h" }], "INVALID_OPTION", ["retries cap", "in seconds", 'got "1h"']],
    ["retries", [{ jitter: "half" }], "INVALID_OPTION", ['"full" or "none"', 'got "half"']],
    ["retries", [{ backoff: 5 }], "INVALID_OPTION", ["retries backoff expected a function", "got 5"]],
    ["retries", [{ when: true }], "INVALID_OPTION", ["retries when expected a function", "got true"]],
    ["timeout", [0], "INVALID_OPTION", ["more than 0", "got 0"]],
    ["timeout", ["abc"], "INVALID_DURATION", ["a timeout", 'got "abc"']],
    ["keep", [-1], "INVALID_DURATION", ["keep()", "got -1"]],
    ["keep", ["never"], "INVALID_DURATION", ['got "never"']],
    ["keep", [{ done: 5 }], "INVALID_OPTION", ['no option "done"', "completed, failed, cancelled, skipped"]],
    ["keep", [null], "INVALID_OPTION", ["keep()", "got null"]],
    ["queue", [""], "INVALID_NAME", ["a queue name", "at least one character"]],
    ["queue", [undefined], "INVALID_NAME", ["a queue name as text", "got undefined"]],
    ["when", [true], "INVALID_OPTION", ["when() expected a function", "got true"]],
    ["skip", [undefined], "INVALID_OPTION", ["skip() expected a function", "got undefined"]],
    ["onBefore", ["x"], "INVALID_OPTION", ["onBefore() expected a function", 'got "x"']],
    ["onSuccess", [null], "INVALID_OPTION", ["onSuccess() expected a function", "got null"]],
    ["onError", [{}], "INVALID_OPTION", ["onError() expected a function", "got {}"]],
    ["onAfter", [1], "INVALID_OPTION", ["onAfter() expected a function", "got 1"]],
    ["cron", ["every day"], "INVALID_CRON", ['"every day"', "2 fields", "expected 5 or 6"]],
    ["cron", ["61 * * * *"], "INVALID_CRON", ["field 1 (minute)", '"61" is out of range', "0-59"]],
    ["cron", [undefined], "INVALID_CRON", ["undefined", "5 or 6 fields"]],
    ["cron", ["0 0 31 2 *"], "INVALID_CRON", ["never occurs"]],
    [
      "timezone",
      ["Europe/Atlantis"],
      "INVALID_ZONE",
      ["IANA time zone", '"Europe/Berlin"', 'got "Europe/Atlantis"'],
    ],
    ["timezone", [undefined], "INVALID_ZONE", ["got undefined"]],
    ["timezone", [2], "INVALID_ZONE", ["got 2"]],
    ["formerly", [""], "INVALID_NAME", ["a job name"]],
    ["formerly", [7], "INVALID_NAME", ["as text", "got 7"]],
  ] as const)("%s(...%j)", async (method, args, code, parts) => {
    const job = define() as Loose;
    await expectRefusal(() => job[method]!(...args), code, ...parts);
  });

  test("a refused call leaves the definition unchanged", async () => {
    const job = define();
    job.retries(3);
    job.everyMinute();
    const refusals = [
      expectRefusal(() => job.retries({ max: 9, jitter: "half" as "none" }), "INVALID_OPTION"),
      expectRefusal(() => job.cron("nonsense"), "INVALID_CRON"),
    ];
    await Promise.all(refusals);
    expect(job.settings.retries.max).toBe(3);
    expect(job.plan.toCron()).toBe("0 * * * * *");
  });
});

describe("queue()", () => {
  test("limits a queue, and returns the instance", async () => {
    const { jobs } = open();
    expect(jobs.queue("emails", { concurrency: 3 })).toBe(jobs);
    await jobs.run();
    expect((await jobs.status()).queues).toMatchObject([{ name: "emails", limit: 3 }]);
  });

  test.each([
    [undefined, "options as an object", "got undefined"],
    [3, "options as an object", "got 3"],
    [{ concurency: 3 }, 'no option "concurency"', 'Did you mean "concurrency"?'],
    [{ concurrency: -1 }, "concurrency (0 = no limit)", "got -1"],
    [{}, "at least one of concurrency, rate, fair, weight, patience", "got none"],
    [{ fair: 1 }, "fair of queue() as true or false", "got 1"],
    [{ weight: { gold: 3 } }, "weight of queue() needs fair: true", "weights of run() or forever()"],
    [{ fair: false, weight: () => 1 }, "weight of queue() needs fair: true"],
    [{ fair: true, weight: 3 }, "by key, such as { gold: 3 }", "got 3", "weights of run() or forever()"],
    [{ fair: true, weight: { gold: 0 } }, 'the weight of the key "gold"', "from 1 to 1000", "got 0"],
    [{ fair: true, weight: { gold: 1.5 } }, "a whole number", "got 1.5"],
    [{ patience: "59s" }, "at least 1 min, or null for none", 'got "59s"'],
    [{ patience: 0 }, "at least 1 min"],
  ] as [unknown, ...string[]][])("refuses %j", async (options, ...parts) => {
    const { jobs } = open();
    await expectRefusal(
      () => jobs.queue("q", options as { concurrency: number }),
      "INVALID_OPTION",
      ...parts,
    );
  });
});
