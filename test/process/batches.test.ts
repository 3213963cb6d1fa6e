import { join } from "node:path";
import { test } from "vitest";
import { temporaryFolder } from "../api/support/child.ts";
import { runBatches } from "../faults/support/batch-fleet.ts";

test("batches of processes that die have exact counts, and each callback is dispatched once", async () => {
  const url = `sqlite:${join(temporaryFolder(), "jobs.db")}`;
  await runBatches({ url, direct: url, processes: 4, batches: 100, harm: () => {} });
}, 300_000);
