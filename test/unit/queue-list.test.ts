import { describe, expect, test } from "vitest";
import { isPlainQueue, readQueues } from "../../src/validate/queue-list.ts";
import { strideOf, toWeightedQueues } from "../../src/worker/options.ts";

describe("a list of queues as text", () => {
  test.each([
    ["emails", { queues: ["emails"] }],
    ["emails, default", { queues: ["emails", "default"] }],
    ["emails,reports*2", { queues: ["emails", "reports"], weights: { reports: 2 } }],
    ["!bulk,!heavy", { exceptQueues: ["bulk", "heavy"] }],
    [
      "emails,reports*2,!bulk",
      { queues: ["emails", "reports"], weights: { reports: 2 }, exceptQueues: ["bulk"] },
    ],
    ["*", {}],
    ["*,reports*2,!bulk", { weights: { reports: 2 }, exceptQueues: ["bulk"] }],
    ["a*b,c**3,x!,!!y", { queues: ["a*b", "c*", "x!"], weights: { "c*": 3 }, exceptQueues: ["!y"] }],
    ["a*2,a*2", { queues: ["a", "a"], weights: { a: 2 } }],
    ["__proto__*2", { queues: ["__proto__"], weights: JSON.parse('{"__proto__":2}') }],
  ])("%s", (text, options) => {
    expect(readQueues(text)).toEqual(options);
    expect(() => toWeightedQueues(readQueues(text))).not.toThrow();
  });

  test.each([
    ["a*", 'a weight after the "*"'],
    ["a*1.5", "such as reports*2"],
    ["a*-1", 'got "a*-1"'],
    ["a*2,a*3", 'one weight for the queue "a", got 2 and 3'],
    ["!a*2", 'only a name after the "!"'],
    ["**2", "have weight 1"],
  ])("%s is refused", (text, why) => {
    expect(() => readQueues(text)).toThrow(why);
  });

  test("knows which names are plain", () => {
    const names = ["emails", "two words", "a*b", "a!", "*a"];
    expect(names.filter((name) => !isPlainQueue(name))).toEqual([]);
    for (const name of names) expect(readQueues(name)).toEqual({ queues: [name] });
    expect(["!a", "a*2", "a*", "*", "a,b", " a", "a "].filter(isPlainQueue)).toEqual([]);
  });
});

describe("the queues that a worker serves", () => {
  test("have a named queue once; an excluded queue that is not among them has no effect", () => {
    const options = { queues: ["a", "b", "a"], exceptQueues: ["c"], weights: {} };
    expect(toWeightedQueues(options)).toEqual({ queues: ["a", "b"], exceptQueues: [], weights: null });
    expect(toWeightedQueues({ exceptQueues: [] })).toEqual({ queues: null, exceptQueues: [], weights: null });
  });

  test.each([
    [{ queues: ["a"], exceptQueues: ["a"] }, 'the queue "a" to be served or left out, got both'],
    [{ exceptQueues: "a" }, 'exceptQueues as a list of names, got "a"'],
    [{ exceptQueues: [""] }, "a queue name of at least one character"],
    [{ weights: ["a"] }, "weights by queue, such as { reports: 2 }"],
    [{ weights: null }, "got null"],
    [{ weights: { a: 0 } }, 'weight of the queue "a" as a whole number from 1 to 1000, got 0'],
    [{ weights: { a: 1001 } }, "got 1001"],
    [{ weights: { a: "2" } }, 'got "2"'],
    [{ weights: { a: 1.5 } }, "got 1.5"],
    [{ queues: ["a"], weights: { b: 2 } }, 'The queue "b" has a weight, but this worker does not serve it'],
    [{ exceptQueues: ["b"], weights: { b: 2 } }, 'The queue "b" has a weight'],
  ])("%j is refused", (options, why) => {
    expect(() => toWeightedQueues(options as object)).toThrow(why);
  });

  test("a stride is inversely proportional to the weight; without weights there is none", () => {
    const serving = toWeightedQueues({ weights: { a: 4 } });
    const stride = strideOf(serving, () => 0.5)!;
    expect(stride("b") / stride("a")).toBeCloseTo(4);
    expect(stride("constructor")).toBe(stride("b"));
    expect(strideOf(serving, () => 0)!("a")).toBe(-0);
    expect(strideOf(toWeightedQueues({}), Math.random)).toBeNull();
  });
});
