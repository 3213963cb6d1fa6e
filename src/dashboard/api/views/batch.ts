import type { BatchInfo } from "../../../run/batch.ts";
import type { BatchView } from "../contract.ts";
import { iso, isoOrNull } from "./times.ts";

export function toBatchView(batch: BatchInfo): BatchView {
  const { id, name, state, total, unfinished, completed, failed, cancelled, skipped } = batch;
  return {
    id,
    name,
    state,
    total,
    unfinished,
    completed,
    failed,
    cancelled,
    skipped,
    createdAt: iso(batch.createdAt),
    sealedAt: isoOrNull(batch.sealedAt),
    failedAt: isoOrNull(batch.failedAt),
    cancelledAt: isoOrNull(batch.cancelledAt),
    finishedAt: isoOrNull(batch.finishedAt),
  };
}
