import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { systemClock } from "../../src/time.ts";
import { beat, claim, exchange, ids, insert, settlement } from "../conformance/requests.ts";
import { startProxy, type TestProxy } from "../servers/proxy.ts";
import { sharedServer } from "../servers/shared.ts";
import { commitOf } from "./commits.ts";
import { onEachServer } from "./kinds.ts";
import { Scene } from "./scene.ts";

/** The answer to a commit is lost, and so is the connection on which it is sent again. */
onEachServer((kind) => {
  let server: string;
  let proxy: TestProxy;
  let scene: Scene;
  let store: Store;

  beforeAll(async () => {
    server = (await sharedServer(kind)).url;
  });
  beforeEach(async () => {
    proxy = await startProxy(Number(new URL(server).port), new URL(server).hostname);
    scene = await Scene.on(kind, server, { through: (url) => proxy.url(url) });
    store = await openStore(scene.url, { clock: systemClock, prefix: "punctual_" });
    await beat(store, "w1");
  });
  afterEach(async () => {
    await store.close();
    await scene.clear();
    await proxy.close();
  });

  /** The commit of a claim leaves together with what is written by it. */
  function commitOfClaim(): (sent: Buffer) => boolean {
    let seen = false;
    return (sent) => {
      const text = sent.toString("latin1");
      seen ||= /lease_token = v\.token/.test(text);
      return seen && text.includes("commit");
    };
  }

  /** The commit arrives; whatever is sent next does not. */
  async function loseTwice<Result>(
    commit: (sent: Buffer) => boolean,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const committed = proxy.cutWhen(commit, { deliver: true });
    const working = work();
    await committed;
    await proxy.cutWhen(() => true, { deliver: false });
    return working;
  }

  test("a claim gives what the first try has claimed", async () => {
    await insert(store, {}, {}, {}, {});
    const claimed = await loseTwice(commitOfClaim(), () => claim(store, { limit: 2 }));
    expect(claimed).toHaveLength(2);
    const running = await scene.sql("select id from punctual_runs where state = 2 order by id");
    expect(running.map(({ id }) => id)).toEqual(ids(claimed));
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
});
