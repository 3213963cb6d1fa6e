import { describe, expect, test } from "vitest";
import type { NewLogLine } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  cap,
  claim,
  claimOne,
  finish,
  found,
  insert,
  insertOne,
  reap,
  settle,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

export function logging(database: Database): void {
  describe("lines that handlers logged", () => {
    const at = fresh(database);
    let position = 0;
    const line = (runId: number, message = "said", fields: Partial<NewLogLine> = {}): NewLogLine => {
      position++;
      return { runId, position, attempt: 1, at: position, message, data: null, ...fields };
    };
    const said = async (id: number) =>
      (await at.store.logs(id, 0, 1000)).map(({ message, attempt }) => `${attempt} ${message}`);
    const left = () =>
      at.sql<{ run_id: number; message: string }>(
        "select run_id, message from punctual_logs order by run_id, position",
      );
    const prune = (fields = {}) =>
      at.store.prune({
        finishedFor: null,
        jobsUnseenFor: null,
        orphansOlderThan: null,
        batch: 1000,
        ...fields,
      });

    test("are returned unchanged, in order, after a position", async () => {
      const id = await insertOne(at.store);
      const [other] = await insert(at.store, { name: "other" });
      const when = Date.UTC(2026, 10, 16);
      const first = {
        position: when * 1000,
        attempt: 1,
        at: when,
        message: '🕰️ "ü" \\ \n it\'s',
        data: '{"a":[1,"\\u0000"]}',
      };
      const second = { position: when * 1000 + 1, attempt: 2, at: when, message: "", data: null };
      await at.store.log([
        { runId: id, ...second },
        { runId: other!, ...first },
        { runId: id, ...first },
      ]);
      expect(await at.store.logs(id, 0, 10)).toEqual([first, second]);
      expect(await at.store.logs(id, 0, 1)).toEqual([first]);
      expect(await at.store.logs(id, first.position, 10)).toEqual([second]);
      expect(await at.store.logs(other!, 0, 10)).toEqual([first]);
      expect(await at.store.countLogs(id)).toBe(2);
      expect(await at.store.countLogs(other! + 1)).toBe(0);
    });

    test("that are written again, because the answer was lost, exist once", async () => {
      const id = await insertOne(at.store);
      const lines = times(3, (index) => line(id, `line ${index}`));
      await at.store.log(lines);
      await at.store.log([...lines, line(id, "one more")]);
      expect(await said(id)).toEqual(["1 line 0", "1 line 1", "1 line 2", "1 one more"]);
    });

    test("of many runs are written in one call, without those of a run that does not exist", async () => {
      const ids = await insert(at.store, ...times(50, () => ({})));
      const done = await finish(at.store, "completed");
      await at.store.log([...ids, done, done + 1000].flatMap((id) => times(10, () => line(id))));
      for (const id of [...ids, done]) expect(await at.store.countLogs(id)).toBe(10);
      expect(await at.store.countLogs(done + 1000)).toBe(0);
    });

    test("stay with the run in history, and a retry appends to them", async () => {
      await insertOne(at.store);
      const run = await claimOne(at.store);
      await at.store.log([line(run.id, "first try")]);
      await settle(at.store, run, "failed", { logged: 1 });
      await at.store.revive(run.id);
      const again = await claimOne(at.store);
      expect(again).toMatchObject({ attempts: 2, logged: 0 });
      await at.store.log([line(run.id, "second try", { attempt: again.attempts })]);
      expect(await said(run.id)).toEqual(["1 first try", "2 second try"]);
    });

    test("are written although another worker holds the run by now", async () => {
      await insertOne(at.store);
      const run = await claimOne(at.store, { lease: 1000 });
      await at.clock.advance(5);
      await reap(at.store);
      await claimOne(at.store, { worker: "w2" });
      await at.store.log([line(run.id, "late")]);
      expect(await said(run.id)).toEqual(["1 late"]);
    });

    test("are deleted with a run that is not kept; those of other runs stay", async () => {
      const [one, two] = await insert(at.store, {}, {});
      const runs = await claim(at.store);
      await at.store.log([line(one!), line(two!, "stays")]);
      await settle(at.store, runs[0]!, "completed", { keep: 0, logged: 1 });
      await settle(at.store, runs[1]!, "completed", { keep: 1000, logged: 1 });
      expect(await left()).toEqual([{ run_id: two, message: "stays" }]);
    });

    test.each(["retried", "snoozed", "released"] as const)(
      "of an attempt that was %s are deleted with a run that is not kept",
      async (outcome) => {
        const id = await insertOne(at.store);
        await at.store.log([line(id)]);
        await settle(at.store, await claimOne(at.store), outcome, { logged: 1 });
        await settle(at.store, await claimOne(at.store), "completed", { keep: 0 });
        expect(await left()).toEqual([]);
      },
    );

    test("of attempts that do not count are carried on to the next one", async () => {
      await insertOne(at.store);
      await settle(at.store, await claimOne(at.store), "snoozed", { logged: 3 });
      await settle(at.store, await claimOne(at.store), "released", { logged: 7 });
      const third = await claimOne(at.store);
      expect(third).toMatchObject({ attempts: 2, logged: 7 });
      await settle(at.store, third, "retried", { logged: 9 });
      expect(await claimOne(at.store)).toMatchObject({ attempts: 3, logged: 0 });
    });

    test("of a run that was released, cancelled and revived are deleted with it", async () => {
      const id = await insertOne(at.store);
      await at.store.log([line(id)]);
      await settle(at.store, await claimOne(at.store), "released", { logged: 1 });
      await at.store.cancel(id, null);
      await at.store.revive(id);
      const run = await claimOne(at.store);
      expect(run.logged).toBe(1);
      await settle(at.store, run, "completed", { keep: 0 });
      expect(await left()).toEqual([]);
    });

    test("of a run that was released and is cancelled are deleted if it is not kept", async () => {
      const id = await insertOne(at.store);
      await at.store.log([line(id)]);
      await settle(at.store, await claimOne(at.store), "released", { logged: 1 });
      await at.store.cancel(id, 0);
      expect(await left()).toEqual([]);
    });

    test("are deleted with a run that its crashes end, if it is not kept", async () => {
      const id = await insertOne(at.store);
      await claimOne(at.store, { lease: 1000 });
      await at.store.log([line(id)]);
      await at.clock.advance(5);
      await at.store.reap(10, cap(1), "crashed", 0);
      expect(await at.store.find(id)).toBeNull();
      expect(await left()).toEqual([]);
    });

    test("are deleted when the run is removed", async () => {
      const [gone, stays] = [await finish(at.store, "failed"), await finish(at.store, "failed")];
      await at.store.log([line(gone), line(stays)]);
      expect(await at.store.remove(gone)).toBe("removed");
      expect(await left()).toEqual([{ run_id: stays, message: "said" }]);
    });

    test("are deleted when the retention ends, also if there are very many", async () => {
      const over = [];
      for (let index = 0; index < 3; index++)
        over.push(await finish(at.store, "completed", {}, { keep: 1000 }));
      const stays = await finish(at.store, "completed", {}, { keep: 10_000_000 });
      for (const id of [...over, stays]) {
        for (let index = 0; index < 10; index++) await at.store.log(times(900, () => line(id)));
      }
      await at.clock.advance(60);
      expect(await prune()).toMatchObject({ history: 3 });
      expect(await at.sql("select distinct run_id from punctual_logs")).toEqual([{ run_id: stays }]);
      expect((await found(at.store, stays)).state).toBe("completed");
    });

    test("without a run are deleted by a sweep, some with each prune", async () => {
      const kept = await finish(at.store, "completed", {}, { keep: null });
      const waiting = await insertOne(at.store);
      const gone = [await insertOne(at.store), await insertOne(at.store)];
      await at.store.log([kept, waiting, ...gone].map((id) => line(id)));
      for (const id of gone) await at.sql("delete from punctual_runs where id = ?", id);
      await prune();
      expect((await left()).map(({ run_id }) => run_id)).toEqual([kept, waiting]);
      await at.store.log([line(waiting)]);
      await at.sql("delete from punctual_runs where id = ?", waiting);
      await prune();
      await prune();
      expect((await left()).map(({ run_id }) => run_id)).toEqual([kept]);
    });

    test("without a run are all deleted when a person prunes", async () => {
      const gone = await insert(at.store, ...times(30, () => ({})));
      for (const id of gone) await at.store.log(times(400, () => line(id)));
      await at.sql("delete from punctual_runs");
      await prune({ orphansOlderThan: 1000 });
      expect(await left()).toEqual([]);
    });
  });

  describe("lines among very many", () => {
    const at = fresh(database, "once");

    test("are written, read, counted and deleted by their run alone", async () => {
      const id = await finish(at.store, "failed");
      const far = 1_000_000_000;
      await at.sql(
        `insert into punctual_logs (run_id, position, attempt, at, message)
         select ${far} + s.n % 1000, s.n, 1, 1, 'said' from ${at.series(30_000)} s`,
      );
      await at.sql(
        `insert into punctual_history (id, name, queue, lane, limited, priority, run_at, state, attempts, crashes, finished_at, created_at)
         select ${far} + s.n, 'job', 'default', 'job', 0, 1, 1, 3, 1, 0, 1, 1 from ${at.series(30_000)} s`,
      );
      await insert(at.store, {}, {});
      const lines = (run: number) =>
        times(
          100,
          (n): NewLogLine => ({ runId: run, position: n, attempt: 1, at: n, message: "m", data: "1" }),
        );
      const plans = await at.plans(async (store) => {
        const [one, two] = await claim(store);
        await store.log([...lines(id), ...lines(one!.id), ...lines(two!.id)]);
        expect(await store.logs(id, 10, 1000)).toHaveLength(89);
        expect(await store.countLogs(id)).toBe(100);
        await settle(store, one!, "completed", { keep: 0, logged: 100 });
        await settle(store, two!, "completed", { logged: 100 });
        await store.revive(two!.id);
        await store.remove(id);
      });
      expect(plans.length).toBeGreaterThan(5);
      expect(plans.filter(({ faults }) => faults.length > 0)).toEqual([]);
    });
  });
}
