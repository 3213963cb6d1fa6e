import { afterEach, beforeEach, describe, test } from "vitest";
import { systemClock } from "../../../src/time.ts";
import { raceForStarts } from "../support/rate-race.ts";
import type { Database, Opened } from "../support/stores.ts";

export function racingRates(database: Database): void {
  describe("processes that race for starts, and are killed", () => {
    let at: Opened;
    beforeEach(async () => {
      at = await database.open(systemClock);
      await at.store.install();
    });
    afterEach(() => at.teardown());

    test("no window has more starts than the rate", () => raceForStarts(at, [at.url]));
  });
}
