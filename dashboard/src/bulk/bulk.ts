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
  skipped,
}: Pick<BulkOperation, "action" | "done" | "skipped">): string {
  const reasons = Object.entries(skipped).filter(([, count]) => count > 0);
  const total = reasons.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return `${done} ${DONE[action]}`;
  const why =
    reasons.length === 1 ? reasons[0]![0] : reasons.map(([reason, count]) => `${count} ${reason}`).join(", ");
  return `${done} ${DONE[action]}, ${total} skipped (${why})`;
}
