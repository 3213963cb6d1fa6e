import { join } from "node:path";
import { test } from "vitest";
import { temporaryFolder } from "../api/support/child.ts";
import { finishedWithin, runBatches } from "../faults/support/batch-fleet.ts";

/** `BATCHES=2000` is a longer proof. */
const BATCHES = Number(process.env.BATCHES ?? 100);

test(
  "batches of processes that die have exact counts, and each callback is dispatched once",
  async () => {
    const url = `sqlite:${join(temporaryFolder(), "jobs.db")}`;
    await runBatches({ url, direct: url, processes: 4, batches: BATCHES, harm: () => {} });
  },
  2 * finishedWithin(BATCHES),
);
