import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fresh } from "../support/fresh.ts";
import { claim, claimOne, exchange, found, insert, insertOne, settlement } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** Any UTF-16; in JSON, NUL and lone surrogates are escapes. */
const text = fc.oneof(
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
  fc.string({ unit: "grapheme" }),
);
const json = fc
  .oneof(fc.jsonValue({ stringUnit: "binary", maxDepth: 3 }), text, fc.array(text), fc.dictionary(text, text))
  .map((value) => JSON.stringify(value));

export function payloads(database: Database): void {
  describe("payloads", () => {
    const at = fresh(database);

    test("are returned as they were sent: arguments, result, error, progress", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(json, { minLength: 1, maxLength: 20 }), async (payloads) => {
          const inserted = await insert(at.store, ...payloads.map((args) => ({ args })));
          const runs = await claim(at.store);
          expect(runs.map(({ args }) => args)).toEqual(payloads);
          await at.store.progress(runs[0]!, payloads[0]!);
          await exchange(at.store, {
            settle: runs.map((run, n) =>
              n % 2
                ? settlement(run, "failed", { error: payloads[n]! })
                : settlement(run, "completed", { result: payloads[n]! }),
            ),
          });
          for (const [n, id] of inserted.entries()) {
            const { args, result, error, progress } = await found(at.store, id);
            expect(args).toBe(payloads[n]);
            expect(n % 2 ? error : result).toBe(payloads[n]);
            if (n === 0) expect(progress).toBe(payloads[0]);
          }
        }),
        { numRuns: 100 },
      );
    });

    test.each([
      ["NUL", '"\\u0000"'],
      ["half a character", '"\\ud83d"'],
      ["both halves the wrong way round", '"\\udd70\\ud83d"'],
      ["an escape of an escape", '"\\\\u0000"'],
      ["line separators", '"\u2028\u2029"'],
      ["own properties with the names of others", '{"__proto__":1,"constructor":{"prototype":2}}'],
      ["numbers as they are written", "[1e400,0.1,-0,12345678901234567890]"],
      ["spaces as they are written", ' { "a" : [ 1 , 2 ] } '],
      ["keys in their order, and twice", '{"b":1,"a":2,"b":3}'],
    ])("with %s", async (_, args) => {
      const id = await insertOne(at.store, { args });
      expect((await claimOne(at.store)).args).toBe(args);
      expect((await found(at.store, id)).args).toBe(args);
    });

    test("of a mebibyte, of letters of one byte and of four", async () => {
      const plain = JSON.stringify("x".repeat(1024 * 1024 - 2));
      const wide = JSON.stringify("🕰".repeat(1024 * 256));
      const inserted = await insert(at.store, { args: plain }, { args: wide }, { args: "[3]" });
      const records = await Promise.all(inserted.map((id) => found(at.store, id)));
      expect(records.map(({ args }) => args)).toEqual([plain, wide, "[3]"]);
      const [run] = await claim(at.store);
      await exchange(at.store, { settle: [settlement(run!, "completed", { result: wide })] });
      expect((await found(at.store, inserted[0]!)).result).toBe(wide);
    });
  });
}
