import { DatabaseSync } from "node:sqlite";
import { isNativeError } from "node:util/types";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { open } from "./support/instance.ts";

class WithGetter extends Error {
  override get message(): string {
    throw new Error("no message for you");
  }
}

function circular(): Error {
  const one = new Error("one");
  one.cause = new Error("two", { cause: one });
  return one;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function hostile(): object {
  const refuse = () => {
    throw new Error("hands off");
  };
  return new Proxy(new Error("real"), {
    get: refuse,
    getPrototypeOf: refuse,
    has: refuse,
    ownKeys: refuse,
    getOwnPropertyDescriptor: refuse,
  });
}

describe("any thrown value is stored, and the worker continues", () => {
  test.each([
    ["an error", new TypeError("boom"), { name: "TypeError", message: "boom" }],
    ["a class of its own", new (class PaymentError extends Error {})("declined"), { name: "PaymentError" }],
    ["text", "just text", { name: "Error", message: "just text" }],
    ["a number", 42, { message: "42 was thrown" }],
    ["null", null, { message: "null was thrown" }],
    ["undefined", undefined, { message: "undefined was thrown" }],
    ["a symbol", Symbol("why"), { message: "Symbol(why) was thrown" }],
    ["an object", { status: 500 }, { message: expect.stringContaining("status: 500") }],
    ["a frozen error", Object.freeze(new Error("cold")), { message: "cold" }],
    ["a function", () => {}, { name: "Error" }],
    [
      "an object without a prototype",
      Object.create(null),
      { message: expect.stringContaining("was thrown") },
    ],
    ["NUL bytes", new Error("a\0b"), { message: "a\uFFFDb" }],
    ["half a character", new Error("x\ud800y"), { message: "x\uFFFDy" }],
    [
      "ten megabytes",
      new Error("x".repeat(10_000_000)),
      { message: expect.stringMatching(/^x{1000,}… \(cut\)$/) },
    ],
    ["a circle of causes", circular(), { message: "one", cause: { message: "two", cause: null } }],
    ["a getter that throws", new WithGetter(), { message: expect.stringContaining("cannot be read") }],
    [
      "an aggregate",
      new AggregateError([new Error("a"), new Error("b")], "both"),
      { message: expect.stringContaining("2 errors") },
    ],
    ["a code", Object.assign(new Error("net"), { code: "ECONNRESET" }), { code: "ECONNRESET" }],
    ["a proxy", new Proxy(new Error("inside"), {}), { message: "inside" }],
    ["a revoked proxy", revoked(), { message: expect.any(String) }],
    ["a hostile proxy", hostile(), { message: expect.any(String) }],
    ["an error of another realm", runInNewContext("new TypeError('elsewhere')"), { name: "TypeError" }],
    ["a promise", Promise.resolve(1), { message: expect.any(String) }],
  ])(
    "%s",
    async (_what, thrown, expected) => {
      const { jobs } = open();
      const told: Error[] = [];
      jobs
        .schedule("task", () => {
          throw thrown;
        })
        .retries({ max: 2, base: 0 })
        .onError((error) => void told.push(error));
      jobs.schedule("next", () => {});
      const run = await jobs.dispatch("task").priority(1);
      const rejecting = await jobs
        .dispatch("rejecting", async () => {
          await Promise.resolve();
          throw thrown;
        })
        .priority(2);
      const next = await jobs.dispatch("next").priority(3);
      await jobs.run({ parallel: 1 });
      const info = (await jobs.find(run.id))!;
      expect(info).toMatchObject({ state: "failed", attempts: 2, error: expected });
      expect(Buffer.byteLength(JSON.stringify(info.error))).toBeLessThan(70_000);
      expect(await jobs.attempts(run.id)).toHaveLength(2);
      expect(told).toHaveLength(2);
      for (const error of told) {
        expect(error instanceof Error || isNativeError(error)).toBe(true);
        expect(error === thrown || error.cause === thrown).toBe(true);
        if (error !== thrown) expect(error.message).toBe(info.error?.message);
        if (isNativeError(thrown)) expect(error).toBe(thrown);
      }
      expect(await rejecting.state()).toBe("failed");
      expect(await next.state()).toBe("completed");
      await expect(run.wait()).rejects.toMatchObject({ code: "RUN_FAILED" });
      expect(await jobs.why(run.id)).toMatch(/ended: failed/);
      expect((await jobs.status()).jobs.find((job) => job.name === "task")).toMatchObject({ fails: 2 });
    },
    10_000,
  );
});

describe("settling twice", () => {
  test("counts the first time", async () => {
    const { jobs } = open();
    jobs.schedule(
      "task",
      () =>
        new Promise((resolve, reject) => {
          reject(new Error("first"));
          reject(new Error("second"));
          resolve("third");
        }),
    );
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect((await jobs.find(run.id))?.error?.message).toBe("first");
  });

  test("is ignored for a thenable that settles twice, and for one that throws", async () => {
    const { jobs } = open();
    const twice = {
      then(resolve: (value: string) => void, reject: (error: unknown) => void) {
        resolve("first");
        reject(new Error("second"));
        throw new Error("third");
      },
    };
    jobs.schedule("twice", () => twice as unknown as Promise<string>);
    jobs.schedule("throws", () => ({
      get then(): never {
        throw new Error("no then");
      },
    }));
    const one = await jobs.dispatch("twice");
    const two = await jobs.dispatch("throws");
    await jobs.run();
    expect(await one.wait()).toBe("first");
    expect((await jobs.find(two.id))?.error?.message).toBe("no then");
  });
});

test("arguments that were broken by hand fail that run only", async () => {
  const db = new DatabaseSync(":memory:");
  const { jobs } = open({}, db);
  let ran = 0;
  jobs.schedule("task", () => void ran++).retries(5);
  const broken = await jobs.dispatch("task", { n: 1 });
  const whole = await jobs.dispatch("task", { n: 2 });
  db.prepare("update punctual_runs set args = '{oops' where id = ?").run(broken.id);
  await jobs.run();
  expect(await jobs.find(broken.id)).toMatchObject({
    state: "failed",
    attempts: 1,
    args: "{oops",
    error: { code: "INVALID_PAYLOAD", message: expect.stringContaining("to be JSON") },
  });
  expect(await whole.state()).toBe("completed");
  expect(ran).toBe(1);
});
