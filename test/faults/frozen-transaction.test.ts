import type { PoolConnection, RowDataPacket } from "mysql2/promise";
import type { PoolClient } from "pg";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { PendingCalls } from "../../src/store/pending-calls.ts";
import type { JobMinute, Store } from "../../src/store/store.ts";
import { systemClock } from "../../src/time.ts";
import { minutely, tick } from "../conformance/support/minutely.ts";
import {
  beat,
  claim,
  define,
  exchange,
  finish,
  ids,
  insert,
  settlement,
} from "../conformance/support/requests.ts";
import type { ServerKind } from "../servers/server.ts";
import { eventually } from "../support/eventually.ts";
import { behindProxy } from "./support/behind-proxy.ts";
import { type Begun, begin } from "./support/direct.ts";
import { onEachServer } from "./support/kinds.ts";

const CAP = { isolated: 3, shared: 5 };
const LONG_AGO = 1;

const COUNTS: JobMinute = {
  name: "job",
  minute: 1,
  counts: { completed: 1 },
  busy: 1,
  lastRun: 1,
  lastFailure: null,
  last: null,
};

/** Reads the time after which the server ends the session of a transaction in which nothing happens. */
const TIME_LIMIT: Record<ServerKind, (tx: unknown) => Promise<unknown>> = {
  postgres: async (tx) => {
    const setting = "idle_in_transaction_session_timeout";
    return (await (tx as PoolClient).query(`show ${setting}`)).rows[0][setting];
  },
  mysql: waitTimeout,
  mariadb: waitTimeout,
};

async function waitTimeout(tx: unknown): Promise<unknown> {
  const [rows] = await (tx as PoolConnection).query<RowDataPacket[]>("select @@wait_timeout as seconds");
  return rows[0]!.seconds;
}

/**
 * A worker was frozen during a transaction, which holds rows while it is frozen. A duty that waited for one of them
 * would not return before the test ends: no lock is released before.
 */
onEachServer((kind) => {
  const at = behindProxy(kind);
  let store: Store;
  let pending: PendingCalls;
  let frozen: Begun;

  beforeEach(async () => {
    pending = new PendingCalls();
    store = await openStore(at.scene.url, { clock: systemClock, prefix: "punctual_", pending });
    await beat(store, "w1");
    await beat(store, "w2");
    frozen = await begin(kind, at.scene.direct, "read committed");
  });
  afterEach(async () => {
    await frozen.commit();
    await store.close();
  });

  const prune = () =>
    store.prune({
      finishedFor: 0,
      jobsUnseenFor: null,
      orphansOlderThan: null,
      batch: 10,
      states: ["completed"],
    });

  test("an exchange that froze blocks no duty of other workers, and no claim of other runs", async () => {
    await define(store, [{ name: "job" }, { name: "limited", limit: 1 }]);
    await finish(store, "completed");
    await insert(store, ...Array.from({ length: 200 }, () => ({})), { delay: 1 }, { owner: "w1" });
    await claim(store, { limit: 20 });
    await frozen.sql("select id from punctual_runs order by id for update");
    await frozen.sql("select seq from punctual_exchanges where worker = 'w1' for update");
    await frozen.sql("select id from punctual_gates for update");
    const fresh = await insert(store, {}, {});

    await beat(store, "w2");
    const claimed = await claim(store, { worker: "w2", limit: 300 });
    expect(ids(claimed)).toEqual(fresh);
    expect(
      (
        await store.renew(
          "w2",
          claimed.map((run) => ({ ...run, lease: 60_000 })),
        )
      ).held.size,
    ).toBe(2);
    const settle = claimed.map((run) => settlement(run, "completed"));
    expect((await exchange(store, { worker: "w2", settle })).settled).toEqual([true, true]);
    expect(await store.reap(100, CAP, "crashed", null)).toEqual([]);
    expect(await store.reapOwnerless("w2", "gone", null)).toEqual([]);
    expect(await store.disown("w1", "gone", null)).toEqual([]);
    await prune();
    await store.status();
  });

  test("a reap that froze blocks neither the reaps of others nor the end of the worker's row", async () => {
    const [id] = await insert(store, {});
    await claim(store, { lease: 1 });
    await beat(store, "dead");
    const aside = await begin(kind, at.scene.direct, "read committed");
    await aside.sql(`update punctual_workers set seen_at = ${LONG_AGO} where id in ('w1', 'dead')`);
    await aside.commit();
    await frozen.sql("select id from punctual_workers where id = 'w1' for update");
    await frozen.sql(`select id from punctual_runs where id = ${id} for update`);
    expect(await store.reap(100, CAP, "crashed", null)).toEqual([]);
    await beat(store, "w2");
    expect(await store.forgetWorkers()).toBe(1);
  });

  test("a prune that froze does not block the prunes of others", async () => {
    const first = await finish(store, "completed", {}, { keep: 1 });
    const second = await finish(store, "completed", {}, { keep: 1 });
    await frozen.sql(`select id from punctual_history where id = ${first} for update`);
    await prune();
    expect(await store.find(second)).toBeNull();
    expect(await store.find(first)).not.toBeNull();
  });

  test("a tick that froze does not block the ticks of other schedules", async () => {
    await define(store, [
      { name: "one", schedules: [minutely()] },
      { name: "two", schedules: [minutely()] },
    ]);
    await frozen.sql("select id from punctual_schedules where job = 'one' for update");
    const aside = await begin(kind, at.scene.direct, "read committed");
    await aside.sql("update punctual_schedules set next_tick = 60000 where job = 'two'");
    await aside.commit();
    expect((await tick(store)).ticked.map(({ job }) => job)).toEqual(["two"]);
  });

  /** Waits until the store has ended a try because of a lock, and released its own locks, while the other is frozen. */
  const lockTimedOut = () =>
    vi.waitFor(() => expect(String(pending.fault)).toMatch(/lock_timeout|lock wait timeout/i), {
      timeout: 30_000,
    });

  test("a write of counts that froze makes others give up their place in the lock queue, and retry", async () => {
    await define(store, [{ name: "job" }]);
    await store.flush([COUNTS]);
    await frozen.sql("select name from punctual_minutes for update");
    const flushed = store.flush([COUNTS]);
    await lockTimedOut();
    await frozen.sql("commit");
    await flushed;
    expect(await at.scene.sql("select completed from punctual_minutes")).toEqual([{ completed: 2 }]);
  });

  test("a sync of jobs that froze makes others give up their place in the lock queue, and retry", async () => {
    await define(store, [{ name: "job" }]);
    await frozen.sql("select name from punctual_jobs for update");
    const synced = define(store, [{ name: "job", limit: 2 }]);
    await lockTimedOut();
    await frozen.sql("commit");
    await synced;
    expect(await store.job("job")).toMatchObject({ limit: 2 });
  });

  test("the server ends the transaction of a host that is silent, and others get its runs and its limits", {
    timeout: 120_000,
  }, async () => {
    await define(store, [{ name: "limited", limit: 1 }]);
    const [id] = await insert(store, { name: "limited" });
    const silent = at.proxy.pauseWhen((sent) => /\bcommit\b/.test(sent.toString("latin1")));
    const claiming = claim(store);
    await silent;
    const other = await openStore(at.scene.direct, { clock: systemClock, prefix: "punctual_" });
    try {
      const claimed = await eventually(
        "the locks",
        async () => {
          const runs = await claim(other, { worker: "w2" });
          return runs.length > 0 && runs;
        },
        60_000,
      );
      expect(ids(claimed)).toEqual([id]);
    } finally {
      at.proxy.resume();
      await other.close();
    }
    expect(await claiming).toEqual([]);
  });

  test("a transaction of a handler's may be silent for long, also on a connection that is idle after a transaction of ours", async () => {
    await define(store, [{ name: "limited", limit: 1 }]);
    await insert(store, { name: "limited" });
    const [run] = await claim(store);
    let found: unknown;
    await store.transaction(settlement(run!, "completed"), async (given) => {
      found = await TIME_LIMIT[kind](given);
    });
    expect(found).toBe(kind === "postgres" ? "0" : 28_800);
  });
});
