import { afterEach, beforeEach } from "vitest";
import { TestClock } from "../../../src/testing/clock.ts";
import type { Database, Opened } from "./stores.ts";

export interface Fresh extends Opened {
  clock: TestClock;
}

/**
 * A database for each test of the surrounding group, with everything installed, no rows, and time standing still. If
 * tests leave very many rows behind, each should have one that no later test uses.
 */
export function fresh(database: Database, use: "again" | "once" = "again"): Fresh {
  const at = {} as Fresh;
  beforeEach(async () => {
    const clock = new TestClock();
    Object.assign(at, await database[use === "once" ? "open" : "openInstalled"](clock), { clock });
    if (use === "once") await at.store.install();
  });
  afterEach(() => at.teardown());
  return at;
}
