import { afterEach, beforeEach, expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { sleepReal, systemClock } from "../../src/time.ts";
import {
  beat,
  claim,
  claimRequest,
  exchange,
  ids,
  insert,
  settlement,
} from "../conformance/support/requests.ts";
import { behindProxy } from "./support/behind-proxy.ts";
import { commitOf } from "./support/commits.ts";
import { begin } from "./support/direct.ts";
import { onEachServer } from "./support/kinds.ts";

const HOLD_STREAM = "select seq from punctual_exchanges where worker = 'w1' and stream = 0 for update";

/** Loses the answer to a commit, and the connection on which it is sent again. */
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

  /** The commit of a claim is sent together with its writes. */
  function commitOfClaim(): (sent: Buffer) => boolean {
    let seen = false;
    return (sent) => {
      const text = sent.toString("latin1");
      seen ||= /lease_token = (?!null)/.test(text);
      return seen && text.includes("commit");
    };
  }

  /** The commit arrives; the next packet does not. */
  async function loseTwice<Result>(
    commit: (sent: Buffer) => boolean,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const committed = at.proxy.cutWhen(commit, { deliver: true });
    const working = work();
    await committed;
    await at.proxy.cutWhen(() => true, { deliver: false });
    return working;
  }

  test("a claim that is sent again returns the runs that its first try claimed", async () => {
    await insert(store, {}, {}, {}, {});
    const claimed = await loseTwice(commitOfClaim(), () => claim(store, { limit: 2 }));
    expect(claimed).toHaveLength(2);
    const running = await at.scene.sql("select id from punctual_runs where state = 2 order by id");
    expect(running.map(({ id }) => id)).toEqual(ids(claimed));
  });

  /** Returns a store that has seen runs in the queue. */
  async function remember(): Promise<void> {
    await insert(store, {});
    const settle = (await claim(store)).map((run) => settlement(run, "completed", { keep: 0 }));
    await exchange(store, { settle });
  }

  test("an immediate claim that is sent again returns the runs that its first try claimed", async () => {
    await remember();
    await insert(store, {}, {}, {}, {});
    const request = { seq: 1000, claim: claimRequest({ immediate: true, limit: 2 }) };
    const { claimed } = await loseTwice(commitOfClaim(), () => exchange(store, request));
    expect(claimed).toHaveLength(2);
    const running = await at.scene.sql("select id from punctual_runs where state = 2 order by id");
    expect(running.map(({ id }) => id)).toEqual(ids(claimed));
  });

  test("an immediate claim that the server executes late takes nothing", async () => {
    await remember();
    await insert(store, {});
    const again = await begin(kind, at.scene.direct, "read committed");
    await again.sql(HOLD_STREAM);
    const late = exchange(store, { seq: 1000, claim: claimRequest({ immediate: true }) });
    expect(await isWaiting(late)).toBe(true);
    await again.sql("update punctual_exchanges set seq = 1000 where worker = 'w1' and stream = 0");
    await again.commit();
    // The ordinary claim behind it has taken the run: an immediate one would have said that its answer is partial.
    const { claimed, isPartial } = await late;
    expect([claimed.length, isPartial]).toEqual([1, undefined]);
  });

  test("a claim that is sent again writes its number", async () => {
    await exchange(store, { seq: 1000, claim: claimRequest({ immediate: true }), again: true });
    const [row] = await at.scene.sql("select seq from punctual_exchanges where worker = 'w1' and stream = 0");
    expect(Number(row!.seq)).toBe(1000);
  });

  test("an outcome that the first try has written counts as written", async () => {
    await insert(store, {}, {});
    const [run] = await claim(store, { limit: 1 });
    const settle = [settlement(run!, "completed", { keep: 1000 })];
    const { settled } = await loseTwice(commitOf(kind, "completion"), () =>
      exchange(store, { seq: 1000, settle }),
    );
    expect(settled).toEqual([true]);
  });

  /** Whether the call has ended after a moment, which is enough unless something blocks it. */
  async function isWaiting(work: Promise<unknown>): Promise<boolean> {
    const waits = sleepReal(500).then(() => true);
    return Promise.race([work.then(() => false), waits]);
  }

  test("a claim that is sent again waits for its first try, which the server is still committing", async () => {
    await insert(store, {}, {}, {}, {});
    const first = await begin(kind, at.scene.direct, "read committed");
    await first.sql(HOLD_STREAM);
    await first.sql(
      "update punctual_runs set state = 2, attempts = 1, lease_token = 'token', locked_by = 'w1', locked_until = 9000000000000 where id in (1, 2)",
    );
    const again = exchange(store, { claim: claimRequest({ token: "token", limit: 2 }), again: true });
    expect(await isWaiting(again)).toBe(true);
    await first.commit();
    expect(ids((await again).claimed)).toEqual([1, 2]);
    expect(await at.scene.sql("select id from punctual_runs where state = 2")).toHaveLength(2);
  });

  test("an outcome that is sent again waits for its first try too", async () => {
    await insert(store, {});
    const [run] = await claim(store, { limit: 1 });
    const first = await begin(kind, at.scene.direct, "read committed");
    await first.sql("update punctual_exchanges set seq = 1000 where worker = 'w1' and stream = 0");
    await first.sql("delete from punctual_runs");
    const settle = [settlement(run!, "completed")];
    const again = exchange(store, { seq: 1000, settle, again: true });
    expect(await isWaiting(again)).toBe(true);
    await first.commit();
    expect((await again).settled).toEqual([true]);
  });

  test("a claim without outcomes locks the row that its second try waits for", async () => {
    await insert(store, {});
    const other = await begin(kind, at.scene.direct, "read committed");
    await other.sql(HOLD_STREAM);
    const claiming = claim(store);
    expect(await isWaiting(claiming)).toBe(true);
    await other.commit();
    expect(await claiming).toHaveLength(1);
  });
});
