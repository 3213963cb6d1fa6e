import { describe, expect, test } from "vitest";
import { PunctualError } from "../../src/errors.ts";
import { type Failure, failureText, fingerprint, readFailure, toFailure } from "../../src/run/failure.ts";

const never = new Proxy(
  {},
  {
    get() {
      return () => {
        throw new Error("trap");
      };
    },
  },
);
const revoked = Proxy.revocable(new Error("gone"), {});
revoked.revoke();

function withGetter(...keys: string[]): Error {
  const error = new Error("secret");
  for (const key of keys) {
    Object.defineProperty(error, key, {
      get() {
        throw new Error(`${key} getter`);
      },
    });
  }
  return error;
}

function withStack(message: string, frame: string, name = "Error"): Failure {
  return { name, message, stack: `${name}: ${message}\n    at ${frame}`, code: null, cause: null };
}

/** Every text of a failure, causes included. */
function texts(failure: Failure | null): string[] {
  if (!failure) return [];
  const { name, message, stack, code, cause } = failure;
  return [name, message, stack ?? "", code ?? "", ...texts(cause)];
}

const cyclic = new Error("outer");
cyclic.cause = new Error("inner", { cause: cyclic });

const huge = new Error("x".repeat(10_000_000));
const hugeStack = new Error("short");
hugeStack.stack = `Error: short\n${"    at f (/a/b.ts:1:2)\n".repeat(500_000)}`;

class PaymentError extends Error {}

const selfish = new AggregateError([]);
selfish.errors = [selfish, selfish, selfish, selfish];

const surviving: [string, unknown, Partial<Failure>][] = [
  ["null", null, { name: "Error", message: "null was thrown", stack: null }],
  ["undefined", undefined, { name: "Error", message: "undefined was thrown" }],
  ["text", "boom", { name: "Error", message: "boom" }],
  ["a number", 42, { message: "42 was thrown" }],
  ["a BigInt", 1n, { message: "1 was thrown" }],
  ["a symbol", Symbol("s"), { message: "Symbol(s) was thrown" }],
  ["a function", function go() {}, { name: "Error", message: "[Function: go] was thrown" }],
  ["a frozen object", Object.freeze({ a: 1 }), { name: "Error", message: "{ a: 1 } was thrown" }],
  [
    "an error-like object",
    { message: "m", code: "E" },
    { name: "Error", message: "m", code: "E", stack: null },
  ],
  ["an object without prototype", Object.create(null), { message: "[Object: null prototype] {} was thrown" }],
  ["a proxy that throws on every trap", new Proxy({}, never), { name: "Error", message: "{} was thrown" }],
  ["an error behind such a proxy", new Proxy(new Error("in"), never), { stack: null, cause: null }],
  ["a revoked proxy", revoked.proxy, { message: "<Revoked Proxy> was thrown" }],
  ["a throwing message", withGetter("message"), { message: "(the message of this error cannot be read)" }],
  ["a throwing stack", withGetter("stack"), { message: "secret", stack: null }],
  ["a throwing cause", withGetter("cause"), { message: "secret", cause: null }],
  ["a throwing name and code", withGetter("name", "code", "constructor"), { name: "Error", code: null }],
  [
    "all of them throwing",
    withGetter("name", "message", "stack", "cause", "code", "constructor"),
    { stack: null },
  ],
  ["a throwing toString", { toString() { throw new Error("no") } }, { name: "Error" }], // biome-ignore format: one line per case
  ["a message that is no text", Object.assign(new Error("a"), { message: { a: 1 } }), { name: "Error" }],
  ["a stack that is no text", Object.assign(new Error("a"), { stack: 5 }), { message: "a", stack: null }],
  ["NUL", new Error("a\0b"), { message: "a\uFFFDb" }],
  ["a lone surrogate", new Error("a\ud83d!"), { message: "a\uFFFD!" }],
  ["a whole emoji", new Error("🎉"), { message: "🎉" }],
  ["a subclass that sets no name", new PaymentError("p"), { name: "PaymentError" }],
  ["a numeric code", Object.assign(new Error("a"), { code: 23505 }), { code: "23505" }],
  ["our own error", new PunctualError("LEASE_LOST", "l"), { name: "PunctualError", code: "LEASE_LOST" }],
  ["an empty message", new TypeError(), { name: "TypeError", message: "" }],
  ["a DOMException", new DOMException("stop", "AbortError"), { name: "AbortError", message: "stop" }],
  [
    "an error with a cause",
    new Error("a", { cause: "why" }),
    { cause: expect.objectContaining({ message: "why" }) },
  ],
  [
    "a cyclic cause",
    cyclic,
    { message: "outer", cause: expect.objectContaining({ message: "inner", cause: null }) },
  ],
  [
    "an aggregate",
    new AggregateError([new TypeError("a"), "b"], "all failed"),
    { message: "all failed (2 errors: TypeError: a; b)" },
  ],
  [
    "a wordless aggregate of many",
    new AggregateError([1, 2, 3, 4].map((n) => new Error(`e${n}`))),
    { message: " (4 errors: Error: e1; Error: e2; Error: e3; …)" },
  ],
  ["an aggregate of itself", selfish, { name: "AggregateError" }],
  [
    "an aggregate of nothing readable",
    Object.assign(new AggregateError([], "m"), { errors: revoked.proxy }),
    { message: "m" },
  ],
  ["a 10 MB message", huge, { name: "Error" }],
  ["a 10 MB stack", hugeStack, { message: "short" }],
];

describe("any thrown value", () => {
  test.each(surviving)("%s", (_, thrown, expected) => {
    const failure = toFailure(thrown);
    expect(failure).toMatchObject(expected);
    for (const text of texts(failure)) {
      expect(text.isWellFormed()).toBe(true);
      expect(text.includes("\0")).toBe(false);
    }
    expect(Buffer.byteLength(failure.message)).toBeLessThanOrEqual(8 * 1024);
    expect(Buffer.byteLength(failure.stack ?? "")).toBeLessThanOrEqual(16 * 1024);
    expect(readFailure(failureText(failure))).toEqual(failure);
    expect(fingerprint(failure)).toMatch(/^[0-9a-f]{16}$/);
  });

  test("a long message leaves the frames in the stack", () => {
    const failure = toFailure(huge);
    expect(failure.message.endsWith("… (cut)")).toBe(true);
    expect(failure.stack).toContain("failure.test.ts");
  });

  test("a cut does not split a character", () => {
    for (let shift = 0; shift < 4; shift++) {
      const { message } = toFailure(new Error("a".repeat(shift) + "🎉".repeat(5000)));
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(8 * 1024);
      expect(message).toMatch(/^a*(?:🎉)+… \(cut\)$/u);
    }
  });

  test("an aggregate's errors are kept beside its long message", () => {
    const { message } = toFailure(new AggregateError([new Error("told")], "x".repeat(100_000)));
    expect(message).toMatch(/… \(cut\) \(1 errors: Error: told\)$/);
  });

  test("five causes are kept", () => {
    let error = new Error("0");
    for (let level = 1; level <= 20; level++) error = new Error(String(level), { cause: error });
    const messages: string[] = [];
    for (let at: Failure | null = toFailure(error); at; at = at.cause) messages.push(at.message);
    expect(messages).toEqual(["20", "19", "18", "17", "16", "15"]);
  });
});

describe("text for the database", () => {
  /** Each control character takes six bytes in JSON. */
  function longest(level: number): Failure {
    const cause = level > 0 ? longest(level - 1) : null;
    return {
      name: "\u0001".repeat(256),
      message: "\u0001".repeat(8192),
      stack: "\u0001".repeat(16_384),
      code: null,
      cause,
    };
  }

  test("never exceeds 64 KiB", () => {
    const text = failureText(longest(5));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(64 * 1024);
    expect(readFailure(text)?.cause?.cause?.cause?.cause?.cause).toMatchObject({ cause: null });
  });

  test("cuts the causes before the error", () => {
    const level = (cause: Failure | null): Failure => ({
      name: "E",
      message: "m".repeat(8192),
      stack: "s".repeat(16_384),
      code: null,
      cause,
    });
    const back = readFailure(failureText(level(level(level(level(null))))));
    expect(back?.message).toHaveLength(8192);
    expect(back?.stack).toHaveLength(16_384);
    expect(back?.cause?.stack?.length).toBeLessThan(16_384);
  });

  test("cleans a failure that was made by hand, also a circular one", () => {
    const failure: Failure = { name: "E\0", message: "\ud800", stack: null, code: null, cause: null };
    failure.cause = failure;
    expect(readFailure(failureText(failure))).toMatchObject({ name: "E\uFFFD", message: "\uFFFD" });
  });

  test.each(["", "boom", "null", "[]", '{"a":1}', '{"name":1,"message":"m"}', "{"])(
    "%j is not a stored failure",
    (text) => {
      expect(readFailure(text)).toEqual({
        name: "Error",
        message: text,
        stack: null,
        code: null,
        cause: null,
      });
    },
  );

  test("null stays null, and unknown fields are left out", () => {
    expect(readFailure(null)).toBeNull();
    expect(readFailure('{"name":"E","message":"m","stack":5,"code":{},"cause":"c","more":1}')).toEqual({
      name: "E",
      message: "m",
      stack: null,
      code: null,
      cause: null,
    });
  });
});

describe("fingerprint", () => {
  const frame = "send (/srv/app/mail.ts:10:5)";

  test.each<[string, string, string]>([
    ["numbers", "timeout after 1500 ms", "timeout after 20 ms"],
    ["UUIDs", "no user 0197f1d2-93ab-7cde-8f01-23456789abcd", "no user 0297f1d2-a3ab-7cde-8f01-23456789abce"],
    ["hex ids", "no file 507f1f77bcf86cd799439011", "no file abcdef77bcf86cd799439022"],
    ["double quotes", 'no job "a"', 'no job "b c"'],
    ["single quotes", "can't open 'a.txt'", "can't open 'b.txt'"],
    ["backticks", "no column `a`", "no column `b`"],
  ])("is the same with other %s", (_, one, other) => {
    expect(fingerprint(withStack(one, frame))).toBe(fingerprint(withStack(other, frame)));
  });

  test.each<[string, string, string]>([
    ["lines", "send (/srv/app/mail.ts:10:5)", "send (/srv/app/mail.ts:99:1)"],
    ["folders", "send (/srv/releases/7/mail.ts:10:5)", "send (C:\\app\\mail.ts:10:5)"],
    ["a query in the file", "send (file:///app/mail.ts?t=1:10:5)", "send (file:///app/mail.ts?t=2:10:5)"],
    ["async", "async send (/a/mail.ts:1:1)", "send (/a/mail.ts:1:1)"],
    ["no function", "/a/mail.ts:1:1", "file:///b/mail.ts:2:2"],
  ])("is the same with other %s in the frame", (_, one, other) => {
    expect(fingerprint(withStack("m", one))).toBe(fingerprint(withStack("m", other)));
  });

  test("differs by name, words, function, file", () => {
    const all = [
      withStack("m", frame),
      withStack("n", frame),
      withStack("m", frame, "TypeError"),
      withStack("m", "receive (/srv/app/mail.ts:10:5)"),
      withStack("m", "send (/srv/app/post.ts:10:5)"),
      { ...withStack("m", frame), stack: null },
    ].map(fingerprint);
    expect(new Set(all).size).toBe(all.length);
  });

  test("is the same in every release", () => {
    expect(fingerprint(withStack("m", frame))).toBe("32c6971405ff0996");
  });
});
