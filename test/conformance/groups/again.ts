import { beforeEach, describe, expect, test } from "vitest";
import { type Outcome, outcomeRules } from "../../../src/run/states.ts";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  claim,
  claimOne,
  claimRequest,
  defineLimited,
  exchange,
  found,
  ids,
  insert,
  insertOne,
  LIMITED,
  settlement,
  times,
} from "../support/requests.ts";
import { everythingOf } from "../support/rows.ts";
import type { Database } from "../support/stores.ts";

const outcomes = Object.keys(outcomeRules) as Outcome[];

export function sendingAgain(database: Database): void {
  describe("an exchange whose answer was lost", () => {
    const at = fresh(database);
    beforeEach(() => beat(at.store, "w1"));

    test.each(outcomes)("%s that is sent again takes effect once", async (outcome) => {
      const id = await insertOne(at.store);
      const run = await claimOne(at.store);
      const request = { seq: 1000, settle: [settlement(run, outcome, { error: "why", delay: 0 })] };
      expect((await exchange(at.store, request)).settled).toEqual([true]);
      const before = await everythingOf(at, id);
      await at.clock.advance(1);
      expect((await exchange(at.store, { ...request, again: true })).settled).toEqual([true]);
      expect((await exchange(at.store, { ...request, again: true })).settled).toEqual([true]);
      expect(await everythingOf(at, id)).toEqual(before);
    });

    test("is known to be written even if the row is gone", async () => {
      await insert(at.store, {}, {});
      const runs = await claim(at.store);
      const settle = runs.map((run) => settlement(run, "completed", { keep: 0 }));
      await exchange(at.store, { seq: 1000, settle });
      expect((await exchange(at.store, { seq: 1000, again: true, settle })).settled).toEqual([true, true]);
    });

    test("is known to be written even if another worker has the run by now", async () => {
      const id = await insertOne(at.store);
      const request = { seq: 1000, settle: [settlement(await claimOne(at.store), "retried")] };
      await exchange(at.store, request);
      await claimOne(at.store, { worker: "w2" });
      const before = await everythingOf(at, id);
      expect((await exchange(at.store, { ...request, again: true })).settled).toEqual([true]);
      expect(await everythingOf(at, id)).toEqual(before);
    });

    test("is written by the second try if the first never arrived", async () => {
      const id = await insertOne(at.store);
      const settle = [settlement(await claimOne(at.store), "completed")];
      expect((await exchange(at.store, { seq: 1000, again: true, settle })).settled).toEqual([true]);
      expect((await found(at.store, id)).state).toBe("completed");
    });

    test("does not hide the worker's next exchange", async () => {
      const [one, two] = await insert(at.store, {}, {});
      const runs = await claim(at.store);
      await exchange(at.store, { seq: 1000, settle: [settlement(runs[0]!, "completed")] });
      await exchange(at.store, { seq: 1001, again: true, settle: [settlement(runs[1]!, "completed")] });
      expect((await found(at.store, one!)).state).toBe("completed");
      expect((await found(at.store, two!)).state).toBe("completed");
    });

    test("does not affect an exchange of another worker with the same number", async () => {
      await beat(at.store, "w2");
      const [one, two] = await insert(at.store, {}, {});
      const [first] = await claim(at.store, { limit: 1 });
      const [second] = await claim(at.store, { limit: 1, worker: "w2" });
      await exchange(at.store, { seq: 1000, settle: [settlement(first!, "completed")] });
      const theirs = { worker: "w2", seq: 1000, again: true, settle: [settlement(second!, "completed")] };
      await exchange(at.store, theirs);
      expect((await found(at.store, one!)).state).toBe("completed");
      expect((await found(at.store, two!)).state).toBe("completed");
    });

    test("does not affect an exchange of the other stream with the same number", async () => {
      const [one, two] = await insert(at.store, {}, {});
      const [first, second] = await claim(at.store);
      await exchange(at.store, { stream: 1, seq: 1001, settle: [settlement(first!, "completed")] });
      const late = { stream: 0, seq: 1000, again: true, settle: [settlement(second!, "completed")] };
      expect((await exchange(at.store, late)).settled).toEqual([true]);
      expect((await found(at.store, one!)).state).toBe("completed");
      expect((await found(at.store, two!)).state).toBe("completed");
    });

    test("is sent again by one stream while the other stream continues", async () => {
      await insert(at.store, ...times(8, () => ({})));
      const [lost, ...others] = await claim(at.store, { limit: 4 });
      const request = {
        stream: 1,
        seq: 1000,
        settle: [settlement(lost!, "retried", { delay: 60_000 })],
        claim: claimRequest({ limit: 2 }),
      };
      const first = await exchange(at.store, request);
      const answers = await Promise.all([
        exchange(at.store, { ...request, again: true }),
        ...others.map((run, index) =>
          exchange(at.store, { stream: 0, seq: 1001 + index, settle: [settlement(run, "completed")] }),
        ),
        exchange(at.store, { ...request, again: true }),
      ]);
      expect(answers.map(({ settled }) => settled)).toEqual(answers.map(() => [true]));
      expect(ids(answers[0]!.claimed)).toEqual(ids(first.claimed));
      expect(ids(answers.at(-1)!.claimed)).toEqual(ids(first.claimed));
      expect((await found(at.store, lost!.id)).attempts).toBe(1);
    });

    test("a worker that leaves deletes the numbers of its own streams only", async () => {
      await beat(at.store, "w2");
      await at.store.leave("w1");
      const rows = await at.sql<{ worker: string; stream: number }>(
        "select worker, stream from punctual_exchanges order by stream",
      );
      expect(rows.map(({ worker, stream }) => [worker, Number(stream)])).toEqual([
        ["w2", 0],
        ["w2", 1],
      ]);
    });

    test("a heartbeat of the worker keeps the number", async () => {
      const id = await insertOne(at.store);
      const settle = [settlement(await claimOne(at.store), "completed", { keep: 0 })];
      await exchange(at.store, { seq: 1000, settle });
      await beat(at.store, "w1");
      expect((await exchange(at.store, { seq: 1000, again: true, settle })).settled).toEqual([true]);
      expect(await at.store.find(id)).toBeNull();
    });

    test("a claim that is sent again under its token returns the same runs", async () => {
      await defineLimited(at.store);
      await insert(at.store, { priority: 3 }, { priority: 1, ...LIMITED }, { priority: 2 }, { priority: 4 });
      const request = claimRequest({ limit: 3, start: 2 });
      const first = await exchange(at.store, { claim: request });
      await at.clock.advance(1);
      const second = await exchange(at.store, { claim: request, again: true });
      const asBefore = first.claimed.map(({ claimedAt: _, ...run }) => run);
      expect(second.claimed.map(({ claimedAt: _, ...run }) => run)).toEqual(asBefore);
      expect(asBefore).toHaveLength(3);
      expect(asBefore.map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
      expect(ids(await claim(at.store))).toHaveLength(1);
    });

    test("a claim whose first try never arrived claims runs", async () => {
      const id = await insertOne(at.store);
      const { claimed } = await exchange(at.store, { claim: claimRequest(), again: true });
      expect(ids(claimed)).toEqual([id]);
    });

    test("a claim does not return another worker's runs under an equal token", async () => {
      await insertOne(at.store);
      const request = claimRequest();
      await exchange(at.store, { claim: request });
      const { claimed } = await exchange(at.store, { worker: "w2", claim: request, again: true });
      expect(claimed).toEqual([]);
    });
  });
}
