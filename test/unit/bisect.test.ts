import { describe, expect, test } from "vitest";
import { bisect } from "../../src/bisect.ts";

/** Sends numbers to a receiver that refuses a call with a number of `bad` in it. */
async function send(count: number, bad: number[], { divides = (): boolean => true } = {}) {
  const calls: number[][] = [];
  const received: number[] = [];
  const refused: number[][] = [];
  const items = Array.from({ length: count }, (_, n) => n);
  await bisect(items, {
    send: async (part) => {
      calls.push(part);
      if (part.some((item) => bad.includes(item))) throw new Error("refused");
      for (const item of part) received.push(item);
    },
    divides,
    refused: (part) => {
      refused.push(part);
    },
  });
  return { calls, received, refused };
}

describe("bisect", () => {
  test("sends everything in one call if nothing is refused", async () => {
    expect(await send(5, [])).toMatchObject({ calls: [[0, 1, 2, 3, 4]], refused: [] });
  });

  test.each([[[0]], [[4]], [[8]], [[0, 8]], [[3, 4]]])(
    "of 9 items finds %j, and sends the others in order",
    async (bad) => {
      const { received, refused } = await send(9, bad);
      expect(refused).toEqual(bad.map((item) => [item]));
      expect(received).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8].filter((item) => !bad.includes(item)));
    },
  );

  test("needs two calls for each halving to find one of 1,000", async () => {
    const { calls } = await send(1000, [617]);
    expect(calls.length).toBeLessThanOrEqual(1 + 2 * Math.ceil(Math.log2(1000)));
  });

  test("keeps items together whose error does not divide them", async () => {
    const { calls, refused } = await send(4, [2], { divides: () => false });
    expect(calls).toHaveLength(1);
    expect(refused).toEqual([[0, 1, 2, 3]]);
  });

  test("passes on an error that `refused` throws", async () => {
    const sending = bisect([1, 2], {
      send: async () => {
        throw new Error("unavailable");
      },
      divides: () => false,
      refused: (_, error) => {
        throw error;
      },
    });
    await expect(sending).rejects.toThrow("unavailable");
  });
});
