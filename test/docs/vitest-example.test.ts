import { afterEach, expect, test, vi } from "vitest";
import { Punctual } from "../../src/index.ts";
import { drain, TestClock } from "../../src/testing/index.ts";

afterEach(() => vi.useRealTimers());

test("a handler that reads Date", async () => {
  const clock = new TestClock("2026-12-01T09:00:00Z");
  vi.useFakeTimers({ toFake: ["Date"], now: clock.now() });
  const jobs = new Punctual("sqlite::memory:", { clock, logger: false });
  const seen: string[] = [];
  jobs.define("stamp", async () => seen.push(new Date().toISOString()));

  await jobs.dispatch("stamp").delay("1 hour");
  await clock.advance("1 hour");
  vi.setSystemTime(clock.now());
  await drain(jobs);
  expect(seen).toEqual(["2026-12-01T10:00:00.000Z"]);
  await jobs.stop();
});
