import { describe, expect, test } from "vitest";
import { type LaneWeight, Rotation } from "../../../src/run/rotation.ts";
import type { ClaimedRun } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  type ClaimFields,
  claim,
  claimRequest,
  define,
  exchange,
  found,
  ids,
  insert,
  insertOne,
  type RunFields,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

/** More than any claim reads in order. */
const MANY = 300;

/** Lanes that one claim does not list. */
const MANY_LANES = 40;

const queue = "imports";

/** The turns of one worker. It begins at the first lane, unless `random` says otherwise. */
function rotationOf(weight: LaneWeight | null = null, random = () => 0.999): Rotation {
  return new Rotation(new Map([[queue, weight]]), random);
}

const keysOf = (runs: ClaimedRun[]) => runs.map(({ lane }) => lane.slice("job|".length)).join("");

export function fairness(database: Database): void {
  describe("fair queues", () => {
    const at = fresh(database);
    const fill = (key: string, count: number, fields: RunFields = {}) =>
      insert(at.store, ...times(count, () => ({ queue, key, ...fields })));

    /** Claims, and settles what was claimed with the next claim. */
    function worker(rotation: Rotation, fields: ClaimFields = {}) {
      let settle: ReturnType<typeof settlement>[] = [];
      return async (limit: number): Promise<ClaimedRun[]> => {
        const claimed = claimRequest({ rotation, limit, ...fields });
        const answer = await exchange(at.store, { settle, claim: claimed });
        settle = answer.claimed.map((run) => settlement(run, "completed", { keep: 0 }));
        return answer.claimed;
      };
    }

    for (const [kind, limits] of [
      ["without limits", {}],
      ["under limits", { limit: 1000 }],
    ] as const) {
      describe(kind, () => {
        const prepare = () => define(at.store, [{ name: "job", ...limits }]);

        test("lanes take turns within a claim, and a claim goes on where the last one ended", async () => {
          await prepare();
          await fill("a", MANY);
          await fill("b", 5);
          await fill("c", 5);
          const take = worker(rotationOf());
          expect(keysOf(await take(7))).toBe("abcabca");
          expect(keysOf(await take(1))).toBe("b");
          expect(keysOf(await take(4))).toBe("cabc");
        });

        test("a single run of another lane is next, however many wait", async () => {
          await prepare();
          await fill("a", MANY);
          const take = worker(rotationOf());
          await take(20);
          const [id] = await fill("b", 1);
          expect(ids(await take(1))).toEqual([id]);
        });

        test("lanes leave nothing to others that have no more runs", async () => {
          await prepare();
          await fill("a", MANY);
          await fill("b", 2);
          const take = worker(rotationOf());
          expect(keysOf(await take(12))).toBe("ababaaaaaaaa");
          expect(keysOf(await take(MANY))).toBe("a".repeat(MANY - 10));
        });

        test("a lane starts as many runs in its turn as it weighs, also over several claims", async () => {
          await prepare();
          await fill("a", MANY);
          await fill("b", MANY);
          const take = worker(rotationOf((key) => (key === "a" ? 3 : 1)));
          expect(keysOf(await take(6))).toBe("aaabaa");
          const next = [];
          for (let n = 0; n < 4; n++) next.push(keysOf(await take(1)));
          expect(next.join("")).toBe("abaa");
          expect(keysOf(await take(40))).toBe(`a${"baaa".repeat(9)}baa`);
        });

        test("take turns within a priority; more important runs come first", async () => {
          await prepare();
          await fill("a", 4);
          await fill("b", 4);
          await fill("b", 5, { priority: 1 });
          await fill("c", 1, { priority: 1 });
          const take = worker(rotationOf());
          expect(keysOf(await take(5))).toBe("bcbbb");
          expect(keysOf(await take(5))).toBe("babab");
        });

        test("every one of many lanes has its turn, in small claims", async () => {
          await prepare();
          const keys = times(MANY_LANES, (index) => `k${String(index).padStart(2, "0")}`);
          for (const key of keys) await fill(key, 3);
          const take = worker(rotationOf());
          const rounds: string[][] = [];
          for (let round = 0; round < 3; round++) {
            const taken: string[] = [];
            while (taken.length < MANY_LANES) taken.push(...(await take(4)).map(({ lane }) => lane.slice(4)));
            rounds.push(taken);
          }
          expect(rounds[0]!.toSorted()).toEqual(keys);
          expect(rounds).toEqual([rounds[0], rounds[0], rounds[0]]);
          expect(await take(4)).toEqual([]);
        });

        test("two streams take turns together, and no run twice", async () => {
          await prepare();
          await fill("a", 100);
          await fill("b", 100);
          const rotation = rotationOf();
          const claims = await Promise.all(
            [0, 1].map((stream) =>
              exchange(at.store, {
                stream: stream as 0 | 1,
                claim: claimRequest({ rotation, limit: 20 }),
              }),
            ),
          );
          for (const { claimed } of claims) {
            // On a server under a limit, the second one may find the gate held.
            if (claimed.length === 0) continue;
            expect(claimed.filter(({ lane }) => lane === "job|a")).toHaveLength(10);
          }
          const all = claims.flatMap(({ claimed }) => ids(claimed));
          expect(new Set(all).size).toBe(all.length);
          expect(all.length).toBeGreaterThanOrEqual(20);
        });
      });
    }

    test("lanes with and without limits take turns", async () => {
      await define(at.store, [{ name: "slow", limit: 1000 }]);
      await fill("a", 50, { name: "slow" });
      await fill("b", 50);
      const claimed = await worker(rotationOf())(6);
      const [first, second] = claimed.map(({ name }) => name);
      expect([first, second].toSorted()).toEqual(["job", "slow"]);
      expect(claimed.map(({ name }) => name)).toEqual([first, second, first, second, first, second]);
    });

    test("a lane at its limit is passed, and loses no turn to itself", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      for (const key of ["a", "b", "c"]) await fill(key, MANY);
      const rotation = rotationOf();
      expect(keysOf(await claim(at.store, { rotation, limit: 9 }))).toBe("abc");
      await fill("d", 1);
      expect(keysOf(await claim(at.store, { rotation, limit: 9 }))).toBe("d");
      expect(await claim(at.store, { rotation, limit: 9 })).toEqual([]);
    });

    test("an open lane is found behind many blocked ones", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      const keys = times(MANY_LANES, (index) => `k${String(index).padStart(2, "0")}`);
      for (const key of keys) await fill(key, 2);
      const rotation = rotationOf();
      for (let taken = 0; taken < MANY_LANES; )
        taken += (await claim(at.store, { rotation, limit: 4 })).length;
      const [id] = await fill("z", 1);
      expect(ids(await claim(at.store, { rotation, limit: 1 }))).toEqual([id]);
    });

    test("a chain is no longer than the turn of its lane", async () => {
      await define(at.store, [{ name: "job", limit: 1 }]);
      await fill("a", 20);
      await fill("b", 20);
      const take = worker(
        rotationOf((key) => (key === "a" ? 3 : 1)),
        { behind: () => 10 },
      );
      expect(keysOf(await take(10))).toBe("aaa");
      expect(keysOf(await take(10))).toBe("b");
      expect(keysOf(await take(10))).toBe("aaa");
    });

    test("a chain is no longer than the turn of its lane, although no other lane waits for its slot", async () => {
      await define(at.store, [{ name: "job", keyLimit: 1 }]);
      await fill("a", 20);
      await fill("b", 20);
      const weight = (key: string) => (key === "a" ? 3 : 1);
      const take = worker(rotationOf(weight), { behind: () => 10 });
      expect(keysOf(await take(10))).toBe("aaab");
      expect(keysOf(await take(10))).toBe("aaab");
    });

    test("runs of jobs that are not defined here are passed, however many keys they have", async () => {
      const keys = times(MANY_LANES, (index) => `k${String(index).padStart(2, "0")}`);
      await insert(at.store, ...keys.map((key) => ({ queue, name: "foreign", key })));
      const mine = await insertOne(at.store, { queue, key: "z" });
      const rotation = rotationOf();
      expect(ids(await claim(at.store, { rotation, limit: 2, exclude: ["foreign"] }))).toEqual([mine]);
    });

    test("the order between queues stays: by priority and due time", async () => {
      const now = at.clock.now();
      await fill("a", 2, { runAt: now - 500 });
      await insert(at.store, { queue: "other", runAt: now - 400 });
      await fill("b", 1, { runAt: now - 300 });
      await insert(at.store, { queue: "other", runAt: now - 200 });
      const claimed = await claim(at.store, { rotation: rotationOf() });
      expect(claimed.map((run) => `${run.queue} ${run.lane}`)).toEqual([
        `${queue} job|a`,
        `${queue} job|b`,
        "other job",
        `${queue} job|a`,
        "other job",
      ]);
    });

    test("shares of queues and turns of lanes apply together", async () => {
      await fill("a", 20);
      await fill("b", 20);
      await insert(at.store, ...times(20, () => ({ queue: "other", priority: -5 })));
      const stride = (name: string) => (name === queue ? 1 : 1.6);
      const claimed = await claim(at.store, { rotation: rotationOf(), stride, limit: 5 });
      expect(claimed.map((run) => (run.queue === queue ? run.lane.at(-1) : "-")).join("")).toBe("a-ba-");
    });

    test("a process begins at any lane", async () => {
      for (const key of ["a", "b", "c"]) await fill(key, 9);
      const first = [];
      for (const random of [0, 0.4, 0.9]) {
        const rotation = rotationOf(null, () => random);
        first.push(keysOf(await claim(at.store, { rotation, limit: 1 })));
      }
      expect(first).toEqual(["b", "c", "a"]);
    });

    test("a woken worker goes on with the next lane, also by an immediate claim", async () => {
      await fill("a", 20);
      await fill("b", 20);
      // An immediate claim needs the row of its stream.
      await beat(at.store, "w1");
      const rotation = rotationOf();
      const immediately = (limit: number) => claim(at.store, { rotation, limit, immediate: true });
      expect(keysOf(await immediately(1))).toBe("a");
      expect(keysOf(await immediately(3))).toBe("bab");
    });

    test("runs without a key are a lane of their job", async () => {
      await insert(at.store, ...times(5, () => ({ queue, name: "one" })));
      await insert(at.store, ...times(5, () => ({ queue, name: "two" })));
      const claimed = await claim(at.store, { rotation: rotationOf(), limit: 4 });
      expect(claimed.map(({ name }) => name)).toEqual(["one", "two", "one", "two"]);
    });

    test("other queues are claimed as before", async () => {
      const all = await insert(at.store, ...["a", "a", "b"].map((key) => ({ queue: "other", key })));
      expect(ids(await claim(at.store, { rotation: rotationOf() }))).toEqual(all);
    });

    for (const [kind, limits] of [
      ["without limits", {}],
      ["under limits", { limit: 1000 }],
    ] as const) {
      test(`a claim reads as many rows of a lane with 20,000 runs as of one with 1,000: ${kind}`, async () => {
        await define(at.store, [{ name: "job", ...limits }]);
        const limited = "limit" in limits ? 1 : 0;
        const seed = async (first: number, count: number) => {
          await at.sql(
            `insert into punctual_runs (id, name, queue, lane, limited, priority, created_at, run_at, state)
             select ${first} + n, 'job', '${queue}', 'job|m', ${limited}, 100, 1, 1 + n, 1 from ${at.series(count)} s`,
          );
        };
        for (const key of "abcdex") await fill(key, 20);
        const read = async () => {
          const plans = await at.plans(async (store) => {
            const claimed = await claim(store, { rotation: rotationOf(), limit: 14 });
            expect(keysOf(claimed)).toBe("abcdemxabcdemx");
          });
          return plans.reduce((sum, plan) => sum + plan.read, 0);
        };
        await seed(1_000_000, 1000);
        const few = await read();
        await seed(2_000_000, 19_000);
        const many = await read();
        expect(many).toBeLessThanOrEqual(few * 1.5 + 50);
      });
    }
  });

  describe("patience", () => {
    const at = fresh(database);
    const minute = 60_000;

    test("raises runs that have waited longer to the best priority that waits, limited or not", async () => {
      await define(at.store, [{ name: "slow", limit: 1 }]);
      const now = at.clock.now();
      const runAt = now - 11 * minute;
      const [best] = await insert(at.store, { queue, priority: 3 });
      const late = await insert(
        at.store,
        { queue, priority: 100, runAt },
        { queue, priority: 50, runAt, name: "slow" },
      );
      const others = await insert(
        at.store,
        { queue, priority: 100, runAt: now - 9 * minute },
        { queue, priority: 100, runAt: now + minute },
        { queue: "other", priority: 100, runAt },
      );
      expect(await at.store.raise(queue, 10 * minute, 1000)).toBe(2);
      const priorities = async (some: number[]) =>
        Promise.all(some.map(async (id) => (await found(at.store, id)).priority));
      expect(await priorities(late)).toEqual([3, 3]);
      expect(await priorities(others)).toEqual([100, 100, 100]);
      expect(
        ids(await claim(at.store))
          .slice(0, 3)
          .sort(),
      ).toEqual([...late, best].sort());
      expect(await at.store.raise(queue, 10 * minute, 1000)).toBe(0);
    });

    test("raises at most as many as it may, the oldest first", async () => {
      const now = at.clock.now();
      await insert(at.store, { queue, priority: 1 });
      const late = await insert(
        at.store,
        ...times(6, (n) => ({ queue, priority: 10 + (n % 3), runAt: now - (20 + n) * minute })),
      );
      expect(await at.store.raise(queue, minute, 4)).toBe(4);
      const raised = [];
      for (const id of late) if ((await found(at.store, id)).priority === 1) raised.push(id);
      expect(raised).toEqual(late.slice(2));
    });

    test("leaves runs alone that wait behind no other, run, or belong to a process", async () => {
      const runAt = at.clock.now() - 60 * minute;
      await insert(at.store, { queue, priority: 10, runAt }, { queue, priority: 90, runAt, owner: "w9" });
      expect(await at.store.raise(queue, minute, 1000)).toBe(0);
      await insert(at.store, { queue, priority: 20, runAt });
      await claim(at.store);
      await insert(at.store, { queue, priority: 1 });
      expect(await at.store.raise(queue, minute, 1000)).toBe(0);
    });
  });

  describe("the order of a queue", () => {
    const at = fresh(database);
    const sync = (worker: string, startedAt: number, order: { fair: boolean; patience: number | null }) =>
      at.store.syncJobs({ worker, startedAt, jobs: [], queues: [], orders: [{ name: queue, ...order }] });

    test("is in the status, and of two workers that of the later one", async () => {
      const order = async () => {
        const one = (await at.store.status()).queues.find(({ name }) => name === queue);
        return one && [one.fair, one.patience, one.limit];
      };
      const now = at.clock.now();
      await at.store.syncJobs({
        worker: "w1",
        startedAt: now,
        jobs: [],
        queues: [{ name: queue, limit: 3 }],
      });
      expect(await order()).toEqual([false, null, 3]);
      await sync("w1", now, { fair: true, patience: 600_000 });
      expect(await order()).toEqual([true, 600_000, 3]);
      await sync("w2", now + 1, { fair: false, patience: null });
      expect(await order()).toEqual([false, null, 3]);
    });
  });
}
