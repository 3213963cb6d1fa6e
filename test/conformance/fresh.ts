import { afterEach, beforeEach } from "vitest";
import { TestClock } from "../../src/testing/clock.ts";
import type { Database, Opened } from "./stores.ts";

export interface Fresh extends Opened {
  clock: TestClock;
}

/** A new database for each test of the surrounding group, with everything installed and time standing still. */
export function fresh(database: Database): Fresh {
  const at = {} as Fresh;
  beforeEach(async () => {
    const clock = new TestClock();
    Object.assign(at, await database.open(clock), { clock });
    await at.store.install();
  });
  afterEach(() => at.teardown());
  return at;
}
