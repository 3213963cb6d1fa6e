import { afterEach, beforeEach, expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { type Clock, systemClock } from "../../src/time.ts";
import { claimOne, found, insertOne, settle } from "../conformance/support/requests.ts";
import { sharedServer } from "../servers/shared.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

const PAUSE = 5000;

onEachServer((kind) => {
  let scene: Scene;
  let store: Store;
  let other: Store;
  let missed: { wall: number; monotonic: number };
  beforeEach(async () => {
    scene = await Scene.on(kind, (await sharedServer(kind)).url);
    missed = { wall: 0, monotonic: 0 };
    const clock: Clock = {
      ...systemClock,
      now: () => systemClock.now() - missed.wall,
      monotonic: () => systemClock.monotonic() - missed.monotonic,
    };
    const prefix = "punctual_";
    store = await openStore(scene.direct, { clock, prefix });
    other = await openStore(scene.direct, { clock: systemClock, prefix });
  });
  afterEach(async () => {
    await store.close();
    await other.close();
    await scene.clear();
  });

  // A suspended Linux wakes with the right wall clock; a virtual machine that was paused may wake with neither.
  test.each([
    { how: "suspended", wall: 0 },
    { how: "paused, and no clock of it shows it", wall: PAUSE },
  ])("a host that was $how claims and renews with full leases", async ({ wall }) => {
    await insertOne(store);
    const id = await insertOne(store);
    await claimOne(store);
    missed = { wall, monotonic: PAUSE };
    const run = await claimOne(store, { lease: 2000 });
    expect((await found(other, id)).lockedUntil).toBeGreaterThan((await other.now()) - 1000);
    missed = { wall: 2 * wall, monotonic: 2 * PAUSE };
    await store.renew("w1", [{ ...run, lease: 3000 }]);
    expect((await found(other, id)).lockedUntil).toBeGreaterThan(await other.now());
  });

  test("a host that was suspended writes outcomes with the database's time", async () => {
    const id = await insertOne(store);
    const run = await claimOne(store);
    missed = { wall: 0, monotonic: PAUSE };
    await settle(store, run, "retried", { delay: 3000 });
    expect((await found(other, id)).runAt).toBeGreaterThan(await other.now());
  });
});
