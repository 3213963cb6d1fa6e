import { expect, test } from "vitest";
import { digest } from "../../src/schedule/schedule.ts";

test("a digest never changes: rows that were written before are compared with it", () => {
  expect(digest('["0 30 9 * * *","Europe/Berlin"]').toString(36)).toBe("6xphxmgoe9");
});

test("texts that differ in one place have different digests", () => {
  const texts = Array.from({ length: 20_000 }, (_, n) => `{"cron":"${n % 60} ${n} * * * *"}`);
  expect(new Set(texts.map(digest)).size).toBe(texts.length);
});
