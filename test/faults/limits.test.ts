import { afterEach, beforeEach, expect, test } from "vitest";
import type { Store } from "../../src/store/store.ts";
import { systemClock } from "../../src/time.ts";
import {
  claim,
  claimOne,
  claimRequest,
  define,
  exchange,
  ids,
  insert,
  insertOne,
  list,
  names,
  newRun,
  settlement,
  times,
} from "../conformance/support/requests.ts";
import { type Opened, selected } from "../conformance/support/stores.ts";
import { type Interruption, openInterrupted } from "./support/between.ts";
import { onEachServer } from "./support/kinds.ts";

/** The statement that locks gates, and the one that takes the chosen runs. */
const GATES = /punctual_gates/;
const TAKE = /attempts = r\.attempts \+ 1/;
const GATES_OR_TAKE = /punctual_gates|attempts = r\.attempts \+ 1/;

onEachServer((kind) => {
  let at: Opened;
  let opened: Store[];
  beforeEach(async () => {
    opened = [];
    at = await selected.find(({ name }) => name === kind)!.openInstalled(systemClock);
  });
  afterEach(async () => {
    for (const store of opened) await store.close();
    await at.teardown();
  });

  const interrupting = async (...left: Interruption[]) => {
    const store = await openInterrupted(at.url, left);
    opened.push(store);
    return store;
  };
  const running = async (queue: string) => list(at.store, { states: ["running"], queue });

  test("a limit that appears between the look and the recount is not taken without its gate", async () => {
    const jobs = [
      { name: "one", limit: 5 },
      { name: "two", limit: 5 },
    ];
    await define(at.store, jobs);
    await insert(at.store, { name: "one" }, { name: "two" });
    const store = await interrupting(
      { before: GATES, act: () => define(at.store, jobs, { queues: [{ name: "default", limit: 1 }] }) },
      // No claim holds the gate of the queue, so this one counts none and takes one.
      { before: TAKE, act: () => claim(at.store, { worker: "w2", exclude: ["one"] }) },
    );
    await claim(store, { exclude: ["two"] });
    expect((await running("default")).length).toBeLessThanOrEqual(1);
    await claim(at.store, { worker: "w2" });
    expect(await running("default")).toHaveLength(1);
  });

  test("a run takes the slot of a settled one only in the same queue", async () => {
    await define(
      at.store,
      [
        { name: "one", limit: 1 },
        { name: "two", limit: 1 },
      ],
      { queues: [{ name: "small", limit: 1 }] },
    );
    await insertOne(at.store, { name: "one", queue: "large" });
    const before = await claimOne(at.store);
    await insert(at.store, { name: "one", queue: "small" }, { name: "two", queue: "small" });
    const store = await interrupting({
      before: GATES_OR_TAKE,
      act: () => claim(at.store, { worker: "w2", exclude: ["one"] }),
    });
    const { claimed } = await exchange(store, {
      settle: [settlement(before, "completed")],
      claim: claimRequest({ exclude: ["two"] }),
    });
    expect(claimed).toEqual([]);
    expect(names(await running("small"))).toEqual(["two"]);
  });

  test("a run takes the slot of a settled one only in the same lane", async () => {
    await define(at.store, [{ name: "job", keyLimit: 1 }]);
    await insertOne(at.store, { key: "a" });
    const before = await claimOne(at.store);
    await insert(at.store, { key: "b" }, { key: "b", queue: "other" });
    const store = await interrupting({
      before: GATES_OR_TAKE,
      act: () => claim(at.store, { worker: "w2", queues: ["other"] }),
    });
    const { claimed } = await exchange(store, {
      settle: [settlement(before, "completed")],
      claim: claimRequest({ queues: ["default"] }),
    });
    expect(claimed).toEqual([]);
    expect(await running("other")).toHaveLength(1);
  });

  test("a chain that continues keeps its slot in the exchange that settles a part of it", async () => {
    await define(at.store, [{ name: "job", limit: 2 }]);
    await insert(at.store, {}, {});
    const [head] = await claim(at.store, { limited: 1, behind: () => 1 });
    await insert(at.store, {}, { queue: "other" });
    const store = await interrupting({
      before: GATES_OR_TAKE,
      act: () => claim(at.store, { worker: "w2", queues: ["other"] }),
    });
    const { claimed } = await exchange(store, {
      settle: [settlement(head!, "completed")],
      claim: claimRequest({ queues: ["default"] }),
    });
    expect(claimed).toEqual([]);
    expect(await running("other")).toHaveLength(1);
  });

  test("a chain that ends frees one slot, however many of its runs end at once", async () => {
    await define(at.store, [{ name: "job", limit: 2 }]);
    await insert(at.store, {}, {});
    const chain = await claim(at.store, { limited: 1, behind: () => 1 });
    expect(chain).toHaveLength(2);
    await insert(at.store, {}, {}, { queue: "other" });
    const store = await interrupting({
      before: GATES_OR_TAKE,
      act: () => claim(at.store, { worker: "w2", queues: ["other"] }),
    });
    const { claimed } = await exchange(store, {
      settle: chain.map((run) => settlement(run, "completed")),
      claim: claimRequest({ queues: ["default"] }),
    });
    expect(claimed).toHaveLength(1);
    expect(await running("other")).toHaveLength(1);
  });

  test("a chain ends before a run that another transaction has locked", async () => {
    await define(at.store, [{ name: "job", limit: 1 }]);
    const all = await insert(at.store, {}, {}, {}, {});
    let claimed: number[] = [];
    const store = await interrupting({
      before: /into punctual_history/,
      act: async () => {
        claimed = ids(await claim(at.store, { behind: () => 9 }));
      },
    });
    expect(await store.cancel(all[2]!, null)).toBe("ended");
    expect(claimed).toEqual(all.slice(0, 2));
  });

  test("a limit that appears while a claim takes unlimited runs counts them", async () => {
    await define(at.store, [{ name: "job" }]);
    await insert(at.store, ...times(6, () => ({})));
    const store = await interrupting({
      before: TAKE,
      // Without the store, which would wait for the rows that the claim has locked.
      act: () => at.sql("update punctual_jobs set lim = 2 where name = 'job'"),
    });
    expect(await claim(store, { limit: 2 })).toHaveLength(2);
    expect(await claim(at.store, { worker: "w2" })).toEqual([]);
  });

  test("a limit that appears while a run is inserted holds the run", async () => {
    await define(at.store, [{ name: "job" }]);
    const callers = await at.begin();
    await at.store.insert(
      times(3, () => newRun()),
      callers.tx,
    );
    await define(at.store, [{ name: "job", limit: 1 }]);
    await callers.commit();
    expect(await claim(at.store)).toHaveLength(1);
    expect(await claim(at.store)).toEqual([]);
  });
});
