import { afterAll, describe } from "vitest";
import type { Database } from "../support/stores.ts";
import { sendingAgain } from "./again.ts";
import { agreeing } from "./agreement.ts";
import { audit } from "./audit.ts";
import { agreeingOnBatches } from "./batch-agreement.ts";
import { batches } from "./batches.ts";
import { chaining } from "./chains.ts";
import { children } from "./children.ts";
import { claiming } from "./claim.ts";
import { continued } from "./continued.ts";
import { control } from "./control.ts";
import { deciding } from "./decided.ts";
import { fairness } from "./fairness.ts";
import { fencing } from "./fencing.ts";
import { formerly } from "./formerly.ts";
import { gone } from "./gone.ts";
import { growing } from "./growth.ts";
import { claimingImmediately } from "./immediate.ts";
import { inserting } from "./insert.ts";
import { installing } from "./install.ts";
import { invariance } from "./invariants.ts";
import { isolation } from "./isolation.ts";
import { jobs } from "./jobs.ts";
import { lanes } from "./lanes.ts";
import { leases } from "./leases.ts";
import { limits } from "./limits.ts";
import { listing } from "./list.ts";
import { logging } from "./logs.ts";
import { manyQueues } from "./many-queues.ts";
import { migratedMeanwhile } from "./migrated.ts";
import { mutes } from "./mutes.ts";
import { namedLimits } from "./named-limits.ts";
import { unicodeNames } from "./names.ts";
import { payloads } from "./payloads.ts";
import { promotion } from "./promotion.ts";
import { pruning } from "./prune.ts";
import { queues } from "./queues.ts";
import { racing } from "./racing.ts";
import { racingRates } from "./racing-rates.ts";
import { rates } from "./rates.ts";
import { reports } from "./reports.ts";
import { rollups } from "./rollups.ts";
import { scale } from "./scale.ts";
import { searching } from "./search.ts";
import { seen } from "./seen.ts";
import { settling } from "./settle.ts";
import { shares } from "./shares.ts";
import { slowDowns } from "./slow-downs.ts";
import { status } from "./status.ts";
import { tallies } from "./tallies.ts";
import { ticking } from "./tick.ts";
import { tickingInSlices } from "./tick-slices.ts";
import { transactions } from "./transactions.ts";
import { uniqueness } from "./uniqueness.ts";
import { volume } from "./volume.ts";
import { watching } from "./watch.ts";
import { workers } from "./workers.ts";

/** Slow tests that rarely fail alone: `npm run check` leaves them out. */
const slow = [racing, racingRates, scale, agreeing, agreeingOnBatches, volume, growing];

/** All tests of the store's contract, on one database. */
export function exercise(database: Database): void {
  afterAll(() => database.end());
  describe(database.name, () => {
    for (const group of [
      installing,
      inserting,
      claiming,
      continued,
      claimingImmediately,
      promotion,
      settling,
      sendingAgain,
      fencing,
      limits,
      rates,
      namedLimits,
      slowDowns,
      deciding,
      lanes,
      chaining,
      uniqueness,
      leases,
      children,
      gone,
      isolation,
      control,
      jobs,
      seen,
      formerly,
      queues,
      shares,
      fairness,
      manyQueues,
      ticking,
      tickingInSlices,
      logging,
      tallies,
      rollups,
      audit,
      mutes,
      batches,
      reports,
      invariance,
      workers,
      listing,
      searching,
      status,
      pruning,
      unicodeNames,
      payloads,
      transactions,
      migratedMeanwhile,
      watching,
      ...(process.env.PUNCTUAL_TEST_FAST ? [] : slow),
    ]) {
      group(database);
    }
  });
}
