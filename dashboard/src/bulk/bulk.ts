import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { BulkOperation } from "../../../src/dashboard/api/contract.ts";
import { request } from "../api/client.ts";
import { bulkOperations, noteBulk, status } from "../live/live.ts";

/** Ids of the operations that were started in this tab and are still shown. */
const followed: Signal<readonly string[]> = signal([]);

/** The operations of this tab, the oldest first. */
export const operations: ReadonlySignal<readonly BulkOperation[]> = computed(() =>
  followed.value.flatMap((id) => bulkOperations.value.get(id) ?? []),
);

const READ_EVERY = 1_000;

/** Shows an operation until the user closes it. Its progress comes by the event stream, or else by reading it. */
export function followBulk(operation: BulkOperation): void {
  noteBulk(operation);
  followed.value = [...followed.value.filter((id) => id !== operation.id), operation.id];
  setTimeout(() => readOn(operation.id), READ_EVERY);
}

async function readOn(id: string): Promise<void> {
  if (bulkOperations.peek().get(id)?.state !== "running" || !followed.peek().includes(id)) return;
  // Also now and then beside a live stream: an event that was lost would leave the bar where it is.
  if (status.peek() !== "live" || Math.random() < 0.2) {
    try {
      noteBulk(await request("GET /bulk/:id", { params: { id } }));
    } catch {
      // The next read tells.
    }
  }
  setTimeout(() => readOn(id), READ_EVERY);
}

export function closeBulk(id: string): void {
  followed.value = followed.value.filter((other) => other !== id);
}

const DONE = { retry: "retried", cancel: "cancelled", delete: "deleted" } as const;

/** Returns the result in words: `198 retried, 16 skipped (already running)`. */
export function resultText({
  action,
  done,
  requested,
  skipped,
}: Pick<BulkOperation, "action" | "done" | "requested" | "skipped">): string {
  const parts = [`${done} ${DONE[action]}`];
  if (requested > 0) parts.push(`${requested} running asked to stop`);
  const reasons = Object.entries(skipped).filter(([, count]) => count > 0);
  const total = reasons.reduce((sum, [, count]) => sum + count, 0);
  const why = reasons.map(([reason, count]) =>
    reasons.length === 1 ? reasonText(reason) : `${count} ${reasonText(reason)}`,
  );
  if (total > 0) parts.push(`${total} skipped (${why.join(", ")})`);
  return parts.join(", ");
}

function reasonText(reason: string): string {
  return reason === "gone" ? "deleted meanwhile" : `already ${reason}`;
}
