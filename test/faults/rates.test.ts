import { afterEach, beforeEach, expect, test } from "vitest";
import type { ClaimedRun, Store } from "../../src/store/store.ts";
import { TestClock } from "../../src/testing/index.ts";
import {
  claim,
  claimRequest,
  define,
  exchange,
  insert,
  settlement,
  times,
} from "../conformance/support/requests.ts";
import { type Opened, selected } from "../conformance/support/stores.ts";
import { type Interruption, openInterrupted } from "./support/between.ts";
import { onEachServer } from "./support/kinds.ts";

onEachServer((kind) => {
  let at: Opened;
  let clock: TestClock;
  let store: Store;
  let left: Interruption[];
  beforeEach(async () => {
    clock = new TestClock();
    left = [];
    at = await selected.find(({ name }) => name === kind)!.openInstalled(clock);
    store = await openInterrupted(at.url, left, clock);
  });
  afterEach(async () => {
    await store.close();
    await at.teardown();
  });

  const slowDown = (run: ClaimedRun, ms: number) =>
    exchange(store, { settle: [settlement(run, "snoozed", { slowDown: ms })] });

  test("a rate that another claim has used up since the look admits no run", async () => {
    const rates = { job: { limit: 3, per: 1000, burst: null }, key: null };
    await define(at.store, [{ name: "job", rates }]);
    await insert(at.store, ...times(6, () => ({})));
    left.push({
      before: /punctual_gates/,
      act: async () => expect(await claim(at.store, { worker: "w2", limit: 2 })).toHaveLength(2),
    });
    // The look of this claim saw the runs that the other one has taken as well.
    expect((await claim(store)).length).toBeLessThanOrEqual(1);
    expect(left).toEqual([]);
    await claim(at.store);
    expect(await at.store.rates({ most: 1 })).toMatchObject([{ spent: 3 }]);
  });

  test("no run starts between the read and the write of a rate that is slowed down", async () => {
    await define(at.store, [
      { name: "job", rates: { job: { limit: 5, per: 1000, burst: null }, key: null } },
    ]);
    await insert(at.store, ...times(4, () => ({})));
    const [run] = await claim(at.store, { limit: 1 });
    let between: ClaimedRun[] | null = null;
    left.push({
      before: /^update punctual_rates/,
      act: async () => {
        between = (await exchange(at.store, { worker: "w2", claim: claimRequest() })).claimed;
      },
    });
    await slowDown(run!, 5000);
    expect(between).toEqual([]);
    expect(await at.store.rates({ most: 1 })).toMatchObject([{ spent: 1, slowedUntil: clock.now() + 5000 }]);
  });

  test("a slow-down that has waited for its gate forgets no start that was made meanwhile", async () => {
    await define(at.store, [
      { name: "job", rates: { job: { limit: 2, per: 60_000, burst: null }, key: null } },
    ]);
    await insert(at.store, ...times(4, () => ({})));
    const [run] = await claim(at.store, { limit: 1 });
    left.push({
      before: /punctual_gates/,
      act: async () => {
        await clock.advance(50);
        expect(await claim(at.store, { worker: "w2" })).toHaveLength(1);
      },
    });
    await slowDown(run!, 1000);
    expect(left).toEqual([]);
    const opensAt = clock.now() + 10_000;
    expect(await at.store.rates({ most: 1 })).toMatchObject([
      { spent: 2, slowedUntil: clock.now() + 1000, opensAt },
    ]);
  });
});
