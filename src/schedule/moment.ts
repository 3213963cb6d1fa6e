import type { Store } from "../store/store.ts";
import type { Clock } from "../time.ts";

/** A moment of the database's time on the monotonic clock: the wall clock of this host may say anything. */
export async function monotonicOf(
  moment: number | null,
  { store, clock }: { store: Store; clock: Clock },
): Promise<number | null> {
  return moment === null ? null : clock.monotonic() + moment - (await store.now());
}
