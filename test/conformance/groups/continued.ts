import { describe, expect, test } from "vitest";
import type { ClaimedRun, Store } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import { claimRequest, exchange, ids, insert, insertOne, settlement, times } from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** Large enough that a claim may continue where the one before it ended. */
const LARGE = 100;

/** Large claims after which a run that belongs before the last claimed one has been found (note 39). */
const WITHIN = 5;

/** Claims as a busy worker does: each claim settles the runs of the one before. */
class BusyWorker {
  #runs: ClaimedRun[] = [];
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async claim(limit: number): Promise<number[]> {
    const { claimed } = await exchange(this.#store, {
      settle: this.#runs.map((run) => settlement(run, "completed", { keep: 0 })),
      claim: claimRequest({ limit }),
    });
    this.#runs = claimed;
    return ids(claimed);
  }
}

export function continued(database: Database): void {
  describe("claims of a busy worker", () => {
    const at = fresh(database);

    test("take every run once, in the order of each queue", async () => {
      const inserted = await insert(
        at.store,
        ...times(3 * LARGE, (index) => ({ queue: index % 3 === 0 ? "a" : "b", priority: index % 2 })),
      );
      const worker = new BusyWorker(at.store);
      const taken: number[] = [];
      for (let more = await worker.claim(LARGE); more.length > 0; more = await worker.claim(LARGE)) {
        taken.push(...more);
      }
      const byPriority = [0, 1].flatMap((priority) => inserted.filter((_, index) => index % 2 === priority));
      expect(taken).toEqual(byPriority);
    });

    test("find a run of higher priority that was inserted meanwhile, within five claims", async () => {
      await insert(at.store, ...times((WITHIN + 2) * LARGE, () => ({})));
      const worker = new BusyWorker(at.store);
      // The first settles nothing, the second begins the series.
      await worker.claim(LARGE);
      await worker.claim(LARGE);
      const urgent = await insertOne(at.store, { priority: 1 });
      const taken: number[] = [];
      for (let claims = 0; claims < WITHIN; claims++) taken.push(...(await worker.claim(LARGE)));
      expect(taken).toContain(urgent);
    });

    test("find it at once if fewer runs than wanted are behind the last claimed one", async () => {
      await insert(at.store, ...times(2 * LARGE + 10, () => ({})));
      const worker = new BusyWorker(at.store);
      await worker.claim(LARGE);
      await worker.claim(LARGE);
      const urgent = await insertOne(at.store, { priority: 1 });
      const taken = await worker.claim(LARGE);
      expect(taken[0]).toBe(urgent);
      expect(taken).toHaveLength(11);
    });

    test("find a run that has become due at once", async () => {
      await insert(at.store, ...times(4 * LARGE, () => ({})));
      const due = await insertOne(at.store, { priority: 1, delay: 1000 });
      const worker = new BusyWorker(at.store);
      await worker.claim(LARGE);
      await worker.claim(LARGE);
      await at.clock.advance(1);
      expect((await worker.claim(LARGE))[0]).toBe(due);
    });

    test("find it at once if they take few runs", async () => {
      await insert(at.store, ...times(20, () => ({})));
      const worker = new BusyWorker(at.store);
      await worker.claim(5);
      await worker.claim(5);
      const urgent = await insertOne(at.store, { priority: 1 });
      expect((await worker.claim(5))[0]).toBe(urgent);
    });

    test("find it at once after a tenth of a second", async () => {
      await insert(at.store, ...times(4 * LARGE, () => ({})));
      const worker = new BusyWorker(at.store);
      await worker.claim(LARGE);
      await worker.claim(LARGE);
      const urgent = await insertOne(at.store, { priority: 1 });
      await at.clock.advance(0.1);
      expect((await worker.claim(LARGE))[0]).toBe(urgent);
    });
  });
}
