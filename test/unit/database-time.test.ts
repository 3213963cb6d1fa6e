import { describe, expect, test } from "vitest";
import { DatabaseTime } from "../../src/store/server/time.ts";
import type { Sql } from "../../src/store/sql/database.ts";
import type { Clock } from "../../src/time.ts";

/** A host with two clocks, and a database with a third. Each call of the database takes twice `way` milliseconds. */
function scene(way = 10) {
  const real = { database: 1_700_000_000_000, wall: 1_000_000, monotonic: 5000 };
  const pass = (ms: number) => {
    real.database += ms;
    real.wall += ms;
    real.monotonic += ms;
  };
  const clock: Clock = {
    manual: false,
    now: () => real.wall,
    monotonic: () => real.monotonic,
    after: () => () => {},
  };
  const trips: (() => void)[] = [];
  let questions = 0;
  const sql = {
    all: async () => {
      questions++;
      pass(way);
      const now = real.database;
      // Called during the next answer.
      trips.shift()?.();
      pass(way);
      return [{ now }];
    },
  } as unknown as Sql;
  const time = new DatabaseTime(clock, "select now");
  return {
    pass,
    trips,
    now: () => time.now(sql),
    read: () => time.read(sql),
    observed: (told: number) => time.observe(told),
    real,
    questions: () => questions,
    /** The host is suspended; on Linux its monotonic clock stands still. */
    suspend(ms: number) {
      real.database += ms;
      real.wall += ms;
    },
    setClock(ms: number) {
      real.wall += ms;
    },
  };
}

describe("the database's time between two readings", () => {
  test("is never ahead of the database, however long the reading took", async () => {
    const { now, pass, real } = scene(100);
    for (const ms of [0, 1, 50, 99, 5000]) {
      pass(ms);
      const carried = await now();
      expect(carried).toBeLessThanOrEqual(real.database);
      expect(carried).toBeGreaterThanOrEqual(real.database - 200);
    }
  });

  test("is read once in ten seconds", async () => {
    const { now, pass, questions } = scene();
    for (let second = 0; second < 30; second++) {
      await now();
      pass(1000);
    }
    expect(questions()).toBe(3);
  });

  test("is read again after the host was suspended, even for a moment", async () => {
    for (const ms of [150, 2000, 8 * 3_600_000]) {
      const { now, pass, real, suspend, questions } = scene();
      await now();
      pass(1000);
      suspend(ms);
      expect(real.database - (await now())).toBeLessThanOrEqual(20);
      expect(questions()).toBe(2);
    }
  });

  test("is read again when short suspensions add up", async () => {
    const { now, pass, real, suspend } = scene();
    await now();
    for (let round = 0; round < 50; round++) {
      pass(100);
      suspend(40);
      expect(real.database - (await now())).toBeLessThanOrEqual(120);
    }
  });

  test.each([3_600_000, -3_600_000])("is read once more if the wall clock is set by %i ms", async (ms) => {
    const { now, pass, real, setClock, questions } = scene();
    await now();
    pass(1000);
    setClock(ms);
    for (let times = 0; times < 5; times++) {
      expect(real.database - (await now())).toBeLessThanOrEqual(20);
      pass(100);
    }
    expect(questions()).toBe(2);
  });

  test.each(["suspended", "stopped"])(
    "is read again if the process was %s during the reading",
    async (how) => {
      const { now, pass, real, suspend, trips, questions } = scene();
      trips.push(() => (how === "suspended" ? suspend(60_000) : pass(60_000)));
      expect(real.database - (await now())).toBeLessThanOrEqual(60_040);
      expect(real.database - (await now())).toBeLessThanOrEqual(20);
      expect(questions()).toBe(2);
    },
  );

  test("is read at most twice from a database far away", async () => {
    const { now, pass, questions } = scene(300);
    for (let second = 0; second < 9; second++) {
      await now();
      pass(1000);
    }
    expect(questions()).toBe(2);
  });

  test("takes a later time that came with another answer, and no earlier one", async () => {
    const { now, pass, observed, real, questions } = scene();
    await now();
    // The whole machine was paused, and neither of its clocks shows it.
    real.database += 60_000;
    expect(observed(real.database - 5)).toBe(real.database - 5);
    pass(1000);
    expect(observed(real.database - 5000)).toBe(real.database - 5);
    expect(await now()).toBe(real.database - 5);
    expect(questions()).toBe(1);
  });

  test("is read if it must be exact", async () => {
    const { now, read, real, questions } = scene();
    await now();
    real.database += 60_000;
    expect(real.database - (await read())).toBeLessThanOrEqual(10);
    expect(real.database - (await now())).toBeLessThanOrEqual(10);
    expect(questions()).toBe(2);
  });
});
