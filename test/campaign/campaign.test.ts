import { describe, expect, test } from "vitest";
import { findServer } from "../servers/find.ts";
import { runCampaign } from "./support/campaign.ts";
import { summarise } from "./support/summary.ts";
import { databaseNames } from "./support/target.ts";

/** Long enough for every kind of fault; `npm run campaign` runs for longer. */
const SECONDS = Number(process.env.CAMPAIGN_SECONDS ?? 180);
const SEED = 20_261_117;

// Together: a fleet waits more than it computes.
describe.concurrent("a campaign", () => {
  for (const target of databaseNames) {
    const isHere = target === "sqlite" || findServer(target) !== undefined;
    test.runIf(isHere)(
      `on ${target} loses, doubles and exceeds nothing`,
      async () => {
        const report = await runCampaign({ target, seconds: SECONDS, seed: SEED, print: () => {} });
        if (report.violations.length > 0) throw new Error(summarise(report));
        expect(report.accepted).toBeGreaterThan(0);
      },
      (SECONDS + 420) * 1000,
    );
  }
});
