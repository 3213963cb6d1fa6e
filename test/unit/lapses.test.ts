import { describe, expect, test } from "vitest";
import { TestClock } from "../../src/testing/clock.ts";
import type { Clock } from "../../src/time.ts";
import { Lapses } from "../../src/worker/lapses.ts";

function scene() {
  const clock = new TestClock();
  let late = 0;
  // Timers and clocks of a process that did not run for a while: due timers fire late.
  const own: Clock = {
    manual: true,
    now: () => clock.now() + late,
    monotonic: () => clock.monotonic() + late,
    after: (ms, callback) => clock.after(ms, callback),
  };
  let count = 0;
  const lapses = new Lapses(own, () => count++);
  lapses.start();
  return {
    clock,
    lapses,
    lapsed: () => count,
    freeze: (ms: number) => {
      late += ms;
    },
    wallJumps: (ms: number) => clock.set(new Date(clock.now() + ms)),
  };
}

describe("a lapse", () => {
  test("is not reported while time passes normally", async () => {
    const { clock, lapsed } = scene();
    await clock.advance("10m");
    expect(lapsed()).toBe(0);
  });

  test.each([3_600_000, 600, -3_600_000])(
    "is reported once if the wall clock has moved by %i ms more than the monotonic one",
    async (ms) => {
      const { clock, lapsed, wallJumps } = scene();
      await clock.advance("2500ms");
      wallJumps(ms);
      await clock.advance("10s");
      expect(lapsed()).toBe(1);
    },
  );

  test("is reported if the process was stopped, or its event loop blocked", async () => {
    const { clock, lapsed, freeze } = scene();
    freeze(4000);
    await clock.advance("2s");
    expect(lapsed()).toBe(0);
    freeze(6000);
    await clock.advance("10s");
    expect(lapsed()).toBe(1);
  });

  test("is reported at once to the first caller, and not a second time", async () => {
    const { clock, lapses, lapsed, wallJumps } = scene();
    wallJumps(5000);
    lapses.check();
    expect(lapsed()).toBe(1);
    await clock.advance("10s");
    expect(lapsed()).toBe(1);
  });

  test("is not reported after stop()", async () => {
    const { clock, lapses, lapsed, wallJumps } = scene();
    lapses.stop();
    wallJumps(5000);
    await clock.advance("10s");
    expect(lapsed()).toBe(0);
  });
});
