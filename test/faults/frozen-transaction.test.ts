import { afterEach, beforeEach, expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { systemClock } from "../../src/time.ts";
import { beat, claim, insert } from "../conformance/support/requests.ts";
import { behindProxy } from "./support/behind-proxy.ts";
import { begin } from "./support/direct.ts";
import { onEachServer } from "./support/kinds.ts";

const CAP = { isolated: 3, shared: 5 };

/** A worker was frozen during a transaction, which holds rows of runs while it is frozen. */
onEachServer((kind) => {
  const at = behindProxy(kind);
  let store: Store;

  beforeEach(async () => {
    store = await openStore(at.scene.url, { clock: systemClock, prefix: "punctual_" });
    await beat(store, "w1");
  });
  afterEach(async () => {
    await store.close();
  });

  test("the transaction of a frozen worker does not block the duties of others", async () => {
    await insert(store, ...Array.from({ length: 500 }, () => ({})));
    await claim(store, { limit: 2 });
    const frozen = await begin(kind, at.scene.direct, "read committed");
    await frozen.sql("select id from punctual_runs order by id for update");
    expect(await store.reapOwnerless("w2", "gone", null)).toEqual([]);
    expect(await store.disown("w2", "gone", null)).toEqual([]);
    expect(await store.reap(100, CAP, "crashed", null)).toEqual([]);
    await frozen.commit();
  });
});
