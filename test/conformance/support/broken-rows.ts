import { beforeEach, describe, expect, test } from "vitest";
import type { Invariant, InvariantReport } from "../../../src/store/invariants.ts";
import { readBucket, writeBucket } from "../../../src/store/rate.ts";
import type { Fresh } from "./fresh.ts";
import { claim, claimOne, define, exchange, insert, newRun, rate, settlement, times } from "./requests.ts";

/** A store, and looks at its invariants. */
export interface InvariantScene {
  at: Fresh;
  check(): Promise<InvariantReport>;
  /** Returns the invariants that are broken, with their subjects. */
  broken(): Promise<string[][]>;
  /** Expects this violation alone. */
  breaks(invariant: Invariant, subject: string): Promise<void>;
}

export function batchInvariance({ at, check, broken, breaks }: InvariantScene): void {
  describe("batches", () => {
    const callback = (on: "finish" | "success" | "failure") => ({ on, run: newRun({ name: "called" }) });
    const newBatch = (...callbacks: ReturnType<typeof callback>[]) => ({
      name: "batch",
      cancels: false,
      callbacks,
    });
    const create = async (members: number, ...callbacks: ReturnType<typeof callback>[]) => {
      const runs = times(members, () => newRun());
      return (await at.store.batches.create(newBatch(...callbacks), runs, { seal: true })).id;
    };
    const finishMember = async (outcome: "completed" | "failed" = "completed") => {
      const run = await claimOne(at.store);
      await exchange(at.store, { settle: [settlement(run, outcome, { batchId: run.batchId })] });
      return run.id;
    };

    test("whose members are not those that they count", async () => {
      const id = await create(2);
      await at.sql("delete from punctual_batch_members where run_id = (select max(id) from punctual_runs)");
      expect(await broken()).toContainEqual(["batches", `batch ${id}`]);
    });

    test("that are finished and miscount their members", async () => {
      const id = await create(1);
      const run = await finishMember();
      expect(await broken()).toEqual([]);
      // A retry of a single member leaves the batch finished, and counts.
      await at.store.revive(run);
      expect(await broken()).toEqual([]);
      await at.sql("delete from punctual_batch_counts");
      await breaks("batches", `batch ${id}`);
      await at.sql("delete from punctual_runs");
      await at.sql("update punctual_batches set completed = 0");
      await breaks("batches", `batch ${id}`);
    });

    test("beyond the first page", async () => {
      const first = await create(1);
      for (let made = 0; made < 200; made++) await create(1);
      expect(await broken()).toEqual([]);
      await at.sql("update punctual_batches set added = 2 where id = ?", first);
      await breaks("batches", `batch ${first}`);
    });

    test("that do not exist", async () => {
      const id = await create(1);
      await at.sql("delete from punctual_batches");
      const [row] = await at.sql<{ id: number }>("select id from punctual_runs");
      expect(await broken()).toEqual([
        ["members", `run ${row!.id}`],
        ["members", `batch ${id}`],
      ]);
      await at.sql("delete from punctual_runs");
      await breaks("members", `batch ${id}`);
    });

    test("whose members do not know them", async () => {
      const id = await create(1);
      await at.sql("update punctual_batch_members set run_id = run_id + 1000");
      expect(await broken()).toContainEqual(["members", expect.stringMatching(/^run /)]);
      expect((await check()).violations[0]!.message).toContain(`batch ${id}`);
    });

    test.each([
      ["finish", "completed"],
      ["success", "completed"],
      ["failure", "failed"],
    ] as const)("that have not dispatched their callback of %s", async (on, outcome) => {
      const id = await create(1, callback(on));
      await finishMember(outcome);
      expect(await broken()).toEqual([]);
      await at.sql("update punctual_batches set callbacks = ?", JSON.stringify([callback(on)]));
      await breaks("callbacks", `batch ${id}, ${on}`);
    });

    test("but not by a callback of success that a later retry would have made due", async () => {
      await create(1, callback("success"));
      const run = await finishMember("failed");
      await at.store.revive(run);
      await finishMember();
      expect(await broken()).toEqual([]);
    });
  });
}

export function rateInvariance({ at, broken, breaks }: InvariantScene): void {
  describe("a rate", () => {
    const names = { job: "j:job", key: "k:3:job|a", queue: "q:default", named: "r:api" };
    const under = { limit: "api", hasCost: false };
    const defineRates = (limit: number, startedAt = 1) =>
      define(at.store, [{ name: "job", rates: { job: rate(limit), key: rate(limit), under } }], {
        startedAt,
        queues: [{ name: "default", limit: 0, rate: rate(limit) }],
        limits: [{ name: "api", limit: 0, rate: rate(limit) }],
      });
    const startThree = async () => {
      await defineRates(3);
      await insert(at.store, ...times(4, () => ({ key: "a", cost: 1 })));
      expect(await claim(at.store)).toHaveLength(3);
    };
    beforeEach(() => at.clock.advance(120));

    test.each(Object.entries(names))("of a %s that has counted too many starts", async (_, name) => {
      await startThree();
      expect(await broken()).toEqual([]);
      const [row] = await at.sql<{ starts: string }>(
        "select starts from punctual_rates where name = ?",
        name,
      );
      const bucket = readBucket(row!.starts);
      const spent = bucket.spent.map(([time]) => [time, 4] as const);
      await at.sql(
        "update punctual_rates set starts = ? where name = ?",
        writeBucket({ ...bucket, spent }),
        name,
      );
      await breaks("rates", `rate ${name}`);
    });

    test("that has counted starts in the future", async () => {
      await startThree();
      at.clock.set(new Date(at.clock.now() - 60_000));
      expect(await broken()).toEqual([]);
      at.clock.set(new Date(at.clock.now() - 1000));
      expect((await broken()).map(([, subject]) => subject).sort()).toEqual(
        Object.values(names).map((name) => `rate ${name}`),
      );
    });

    test("but not one that was lowered since", async () => {
      await startThree();
      await defineRates(2, at.clock.now());
      expect(await broken()).toEqual([]);
    });

    test("in as many rows as allowed", async () => {
      await startThree();
      await at.sql("delete from punctual_runs");
      expect((await at.store.checkInvariants(4)).complete).toBe(true);
      expect((await at.store.checkInvariants(3)).complete).toBe(false);
    });
  });
}
