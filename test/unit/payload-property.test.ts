import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PunctualError } from "../../src/errors.ts";
import { type Failure, failureText, readFailure, toFailure } from "../../src/run/failure.ts";
import { decodePayload, encodePayload, encodeResult } from "../../src/run/payload.ts";

/** Any UTF-16: NUL, control characters, lone surrogates. */
const rawText = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
});
const text = fc.oneof(rawText, fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }));
const key = text.filter((name) => name !== "__proto__");

const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("json"), { maxLength: 5 }),
    fc.dictionary(key, tie("json"), { maxKeys: 5, noNullPrototype: false }),
  ),
}));

const anything = fc.anything({
  maxDepth: 4,
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  withUnicodeString: true,
} as fc.ObjectConstraints);

/** The expected result: undefined properties removed, -0 as 0, plain prototypes. */
function expected(value: unknown): unknown {
  if (Object.is(value, -0)) return 0;
  if (Array.isArray(value)) return value.map(expected);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([name, item]) => [name, expected(item)]));
}

describe("payloads", () => {
  test("JSON is returned unchanged", () => {
    fc.assert(
      fc.property(json, (value) => {
        const encoded = encodePayload(value);
        expect(encoded).toBe(JSON.stringify(value));
        expect(encoded?.isWellFormed()).toBe(true);
        expect(encoded?.includes("\0")).toBe(false);
        expect(decodePayload(encoded)).toStrictEqual(expected(value));
      }),
      { numRuns: 500 },
    );
  });

  test("any value is returned whole or refused", () => {
    fc.assert(
      fc.property(anything, (value) => {
        let encoded: string | undefined;
        try {
          encoded = encodePayload(value);
        } catch (error) {
          expect(error).toBeInstanceOf(PunctualError);
          expect((error as PunctualError).code).toBe("INVALID_PAYLOAD");
          expect((error as PunctualError).message).toMatch(/^Cannot dispatch args[\s\S]*: [\s\S]+\.$/);
          return;
        }
        expect(decodePayload(encoded)).toStrictEqual(expected(value));
      }),
      { numRuns: 3000 },
    );
  });

  test("one invalid value is found anywhere", () => {
    const bad = fc.constantFrom<unknown>(1n, Number.NaN, Symbol("s"), () => 1, new Date(0), new Map(), /a/);
    const steps = fc.array(fc.oneof(fc.nat(3), key), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(bad, steps, json, (value, path, other) => {
        let whole = value;
        for (const step of path.toReversed()) {
          if (typeof step === "string") whole = { [`${step} before`]: other, [step]: whole };
          else whole = [...Array(step).fill(other), whole];
        }
        expect(() => encodePayload(whole)).toThrow(expect.objectContaining({ code: "INVALID_PAYLOAD" }));
        const message = expect.stringContaining("result");
        expect(encodeResult(whole)).toEqual({ json: null, dropped: expect.objectContaining({ message }) });
      }),
    );
  });

  test("a limit is exact to the byte", () => {
    fc.assert(
      fc.property(json, (value) => {
        const bytes = Buffer.byteLength(JSON.stringify(value));
        expect(encodePayload(value, bytes)).toBeDefined();
        expect(() => encodePayload(value, bytes - 1)).toThrow(
          expect.objectContaining({ code: "PAYLOAD_TOO_LARGE" }),
        );
        expect(() => encodePayload(value, Math.floor(bytes / 20))).toThrow(
          expect.objectContaining({ code: "PAYLOAD_TOO_LARGE" }),
        );
      }),
    );
  });

  test("a result never throws", () => {
    fc.assert(
      fc.property(anything, (value) => {
        const { json, dropped } = encodeResult(value);
        if (value !== undefined) expect(json === null).toBe(dropped !== undefined);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("failures", () => {
  /** Every text of a failure, causes included. */
  function texts(failure: Failure | null): string[] {
    if (!failure) return [];
    const { name, message, stack, code, cause } = failure;
    return [name, message, stack ?? "", code ?? "", ...texts(cause)];
  }

  const thrown = fc.oneof(
    anything,
    text.map((message) => new Error(message)),
    fc
      .record({
        message: fc.oneof(anything, text),
        stack: fc.oneof(anything, text),
        code: anything,
        cause: anything,
        name: anything,
      })
      .map((fields) => Object.assign(new Error(), fields)),
    fc.array(anything, { maxLength: 5 }).map((errors) => new AggregateError(errors)),
  );

  test("any thrown value is storable and readable", () => {
    fc.assert(
      fc.property(thrown, (value) => {
        const failure = toFailure(value);
        const stored = failureText(failure);
        for (const part of texts(failure)) expect(part.isWellFormed() && !part.includes("\0")).toBe(true);
        expect(readFailure(stored)).toStrictEqual(failure);
      }),
      { numRuns: 2000 },
    );
  });

  test("other text is kept", () => {
    fc.assert(
      fc.property(text, (value) => {
        const failure = readFailure(value);
        expect(readFailure(failureText(failure!))).toStrictEqual(failure);
      }),
    );
  });
});
