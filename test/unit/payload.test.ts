import { createContext, runInContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { PunctualError } from "../../src/errors.ts";
import { DEFAULT_MAX_PAYLOAD, decodePayload, encodePayload, encodeResult } from "../../src/run/payload.ts";

function refused(value: unknown, maxBytes?: number): PunctualError {
  try {
    encodePayload(value, maxBytes);
  } catch (error) {
    return error as PunctualError;
  }
  throw new Error("It was accepted.");
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 ? { in: value } : [value];
  return value;
}

class Money {
  amount = 5;
}

const circular: { name: string; list: unknown[] } = { name: "a", list: [] };
circular.list.push({ back: circular });

const throwing = {
  get total(): number {
    throw new TypeError("no total yet");
  },
};

const revoked = Proxy.revocable({}, {});
revoked.revoke();

describe("values that JSON can represent", () => {
  test.each<[string, unknown, string]>([
    ["null", null, "null"],
    ["text", "a", '"a"'],
    ["an empty text", "", '""'],
    ["a number", 1.5, "1.5"],
    ["false", false, "false"],
    ["negative zero, as zero", -0, "0"],
    ["nested data", { a: [1, { b: null }], c: {} }, '{"a":[1,{"b":null}],"c":{}}'],
    ["undefined properties, left out", { a: undefined, b: 1 }, '{"b":1}'],
    ["keys that are symbols, left out", { [Symbol("s")]: 1, b: 2 }, '{"b":2}'],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ["a getter that works", { get a() { return 1 } }, '{"a":1}'], // biome-ignore format: one line per case
    ["the same object twice", [circular.name, ...Array(2).fill(nested(2))], '["a",{"in":[1]},{"in":[1]}]'],
    [
      "constructor and prototype as data",
      { constructor: 1, prototype: 2 },
      '{"constructor":1,"prototype":2}',
    ],
    ["toJSON as data", { toJSON: "yes" }, '{"toJSON":"yes"}'],
    ["NUL, escaped", "a\0b", '"a\\u0000b"'],
    ["a lone surrogate, escaped", "\ud800", '"\\ud800"'],
    ["emoji", "👩‍👩‍👧", '"👩‍👩‍👧"'],
  ])("%s", (_, value, json) => {
    expect(encodePayload(value)).toBe(json);
  });

  test.each([2 ** 60, -(2 ** 53) - 2, Number("12345678901234567890"), 0.1 + 0.2, 5e-324, Number.MAX_VALUE])(
    "the number %s is returned as the same number",
    (number) => {
      expect(decodePayload(encodePayload([number]))).toEqual([number]);
    },
  );

  test("undefined stays undefined", () => {
    expect(encodePayload(undefined)).toBeUndefined();
    expect(decodePayload(undefined)).toBeUndefined();
    expect(decodePayload(null)).toBeUndefined();
  });

  test("plain data of another realm", () => {
    const value = runInContext("({ list: [1, { a: 2 }] })", createContext());
    expect(encodePayload(value)).toBe('{"list":[1,{"a":2}]}');
  });

  test("100 levels", () => {
    expect(decodePayload(encodePayload(nested(100)))).toEqual(nested(100));
  });
});

describe("a value that JSON cannot represent is refused with its path and a remedy", () => {
  test.each<[string, unknown, string]>([
    [
      "a Date",
      { when: new Date(0) },
      "Cannot dispatch args.when: a Date is not JSON. Pass date.toISOString() and read it with new Date(...).",
    ],
    ["a function", { go: () => 1 }, "args.go: a function is not JSON. Pass the data"],
    ["a class", Money, "args: a function is not JSON."],
    ["a symbol", [Symbol("s")], "args[0]: a symbol is not JSON. Pass text."],
    ["a BigInt", { id: 1n }, "args.id: a BigInt is not JSON. Pass String(x)"],
    ["NaN", { a: [0, Number.NaN] }, "args.a[1]: NaN is not JSON. Pass null"],
    ["Infinity", Number.NEGATIVE_INFINITY, "args: -Infinity is not JSON. Pass null"],
    ["a Map", new Map(), "args: a Map is not JSON. Pass [...map]"],
    ["a Set", { s: new Set() }, "args.s: a Set is not JSON. Pass [...set]"],
    [
      "a Buffer",
      { b: Buffer.from("a") },
      'args.b: a Buffer is not JSON. Pass base64 text, buffer.toString("base64")',
    ],
    [
      "a typed array",
      { b: new Uint8Array(1) },
      "args.b: a Uint8Array is not JSON. Pass base64 text, Buffer.from(bytes)",
    ],
    ["an ArrayBuffer", new ArrayBuffer(1), "args: an ArrayBuffer is not JSON. Pass base64 text"],
    ["a RegExp", { r: /a/ }, "args.r: a RegExp is not JSON. Pass its source."],
    ["an Error", { e: new TypeError("x") }, "args.e: an Error is not JSON. Pass error.message."],
    ["a Promise", { p: Promise.resolve(1) }, "args.p: a Promise is not JSON. Await it first."],
    ["a URL", { u: new URL("http://a/") }, "args.u: a URL is not JSON. Pass url.href"],
    [
      "an instance",
      { price: new Money() },
      "args.price: a Money is not JSON: its class would be lost. Pass a plain object",
    ],
    ["a boxed number", [Object(1)], "args[0]: a Number is not JSON"],
    [
      "an object with a prototype of its own",
      { o: Object.create({ a: 1 }) },
      "args.o: an Object is not JSON",
    ],
    ["a subclass of Array", { l: new (class List extends Array {})() }, "args.l: a List is not JSON"],
    // biome-ignore lint/suspicious/noSparseArray: the case
    ["a hole", [1, , 3], "args[1]: a hole in an array is not JSON. Fill it with null."],
    ["undefined in an array", { a: [undefined] }, "args.a[0]: undefined is not JSON. Pass null."],
    [
      "an own __proto__",
      JSON.parse('{"a":{"__proto__":{"admin":true}}}'),
      "args.a.__proto__: a key named __proto__ would",
    ],
    ["a toJSON method", { a: { toJSON: () => 1 } }, "args.a: an object with a toJSON method"],
    ["a circle", circular, "args.list[0].back: a circular reference, back to args, is not JSON. Pass an id"],
    [
      "a circle further in",
      { a: { b: circular } },
      "args.a.b.list[0].back: a circular reference, back to args.a.b,",
    ],
    ["101 levels", nested(101), "nesting deeper than 100 levels is refused"],
    ["a getter that throws", { bill: throwing }, 'args.bill.total: reading it threw "no total yet"'],
    ["a revoked proxy", { p: revoked.proxy }, "args.p: reading it threw"],
  ])("%s", (_, value, message) => {
    const error = refused(value);
    expect(error).toMatchObject({ name: "PunctualError", code: "INVALID_PAYLOAD" });
    expect(error.message).toMatch(/^Cannot dispatch args/);
    expect(error.message).toContain(message);
  });

  test("the path is that of the fault, whatever was visited before", () => {
    const value = { good: { deep: [[1], { a: [2] }] }, list: [{ a: [] }, { b: {}, bad: 1n }] };
    expect(refused(value).message).toContain("Cannot dispatch args.list[1].bad: a BigInt");
  });

  test("the path quotes keys that are no identifiers and stays short", () => {
    expect(refused({ "first name": { "": 1n } }).message).toContain('args["first name"][""]: a BigInt');
    expect(refused({ ["k".repeat(5000)]: 1n }).message.length).toBeLessThan(300);
    expect(refused(nested(101)).message.length).toBeLessThan(300);
  });

  test("the error of a getter is the cause", () => {
    expect(refused(throwing).cause).toBeInstanceOf(TypeError);
    expect("cause" in refused(1n)).toBe(false);
  });

  test("a value that changes between two reads is refused", () => {
    let reads = 0;
    const shifty = { get a() { return reads++ === 0 ? 1 : 2n } }; // biome-ignore format: short
    expect(refused(shifty).code).toBe("INVALID_PAYLOAD");
  });
});

describe("size", () => {
  test("is counted in bytes of UTF-8, and the limit itself is allowed", () => {
    expect(encodePayload("é".repeat(4), 10)).toBe('"éééé"');
    const error = refused("é".repeat(5), 10);
    expect(error.code).toBe("PAYLOAD_TOO_LARGE");
    expect(error.message).toMatch(
      /^Cannot dispatch args: 12 bytes of JSON, the limit is 10\. Pass a reference/,
    );
  });

  test("is 1 MiB by default", () => {
    expect(DEFAULT_MAX_PAYLOAD).toBe(1_048_576);
    expect(encodePayload("a".repeat(DEFAULT_MAX_PAYLOAD - 2))).toHaveLength(DEFAULT_MAX_PAYLOAD);
    expect(refused("a".repeat(DEFAULT_MAX_PAYLOAD - 1)).code).toBe("PAYLOAD_TOO_LARGE");
  });

  test("a small graph that expands endlessly is refused early", () => {
    let value: unknown = {};
    for (let level = 0; level < 90; level++) value = { left: value, right: value };
    const error = refused(value, 1000);
    expect(error.code).toBe("PAYLOAD_TOO_LARGE");
    expect(error.message).toContain("more than 8000 bytes");
  });
});

describe("decoding", () => {
  test("keeps __proto__ in the text as data", () => {
    const value = decodePayload('{"__proto__":{"admin":true}}') as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(["__proto__"]);
  });

  test.each(["", "{", "undefined", "{'a':1}"])("refuses %j", (text) => {
    expect(() => decodePayload(text)).toThrow(
      expect.objectContaining({
        code: "INVALID_PAYLOAD",
        message: expect.stringContaining(JSON.stringify(text)),
      }),
    );
  });
});

describe("results", () => {
  test("are kept if JSON can represent them", () => {
    expect(encodeResult({ sent: 3 })).toEqual({ json: '{"sent":3}' });
    expect(encodeResult(null)).toEqual({ json: "null" });
    expect(encodeResult(undefined)).toEqual({ json: null });
  });

  test("are dropped with a reason otherwise", () => {
    expect(encodeResult({ at: new Date(0) })).toEqual({
      json: null,
      dropped: expect.objectContaining({
        code: "INVALID_PAYLOAD",
        message: expect.stringMatching(/^Cannot keep result\.at: a Date is not JSON/),
      }),
    });
    expect(encodeResult("aaaa", 4)).toEqual({
      json: null,
      dropped: expect.objectContaining({
        code: "PAYLOAD_TOO_LARGE",
        message:
          "Cannot keep result: 6 bytes of JSON, the limit is 4. Store the data elsewhere and return a reference, such as an id or a path.",
      }),
    });
    expect(encodeResult(revoked.proxy).json).toBeNull();
    expect(encodeResult(throwing).dropped?.message).toContain("result.total: reading it threw");
  });
});
