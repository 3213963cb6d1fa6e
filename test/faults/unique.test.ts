import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import type { Settlement, Store } from "../../src/store/store.ts";
import { systemClock } from "../../src/time.ts";
import { beat, claimOne, claimRequest, newRun, settlement } from "../conformance/support/requests.ts";
import type { ServerKind } from "../servers/server.ts";
import { sharedServer } from "../servers/shared.ts";
import { eventually } from "../support/eventually.ts";
import { begin } from "./support/direct.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

/** Not `innodb_trx`: the server refreshes that table only if it was not read for 0.1 s, and the test polls faster. */
const IN_PROCESSES = `select 1 from information_schema.processlist
  where db = database() and time >= 1 and info like 'insert into punctual_runs%'`;

/** A row for each statement in this database that waits for a lock. */
const WAITING: Record<ServerKind, string> = {
  postgres: "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  mariadb: IN_PROCESSES,
  mysql: IN_PROCESSES,
};

const HOUR = 3_600_000;

/** A run that holds its key for an hour after its dispatch, also when it has finished. */
const once = (key: string) => newRun({ unique: { key, until: "finished", for: HOUR } });

onEachServer((kind) => {
  let server: string;
  let scene: Scene;
  const stores: Store[] = [];

  const open = async () => {
    const store = await openStore(scene.url, { clock: systemClock, prefix: "punctual_" });
    stores.push(store);
    return store;
  };

  beforeAll(async () => {
    server = (await sharedServer(kind)).url;
  });
  beforeEach(async () => {
    scene = await Scene.on(kind, server);
  });
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
    await scene.clear();
  });

  /**
   * Calls `act` before the statement with this number is sent on the connection. The result stops that, and says
   * whether it did.
   */
  function interrupt(
    connection: object,
    number: number,
    act: (sent: string[]) => Promise<void>,
  ): () => boolean {
    const sent: string[] = [];
    let acted: Promise<void> | null = null;
    for (const method of ["query", "execute"]) {
      const original = Reflect.get(connection, method) as undefined | ((...args: unknown[]) => unknown);
      if (!original) continue;
      Reflect.set(connection, method, async (...args: [{ text?: string; sql?: string }]) => {
        if (sent.length + 1 === number) acted ??= act(sent);
        sent.push(args[0].text ?? args[0].sql ?? String(args[0]));
        await acted;
        return original.apply(connection, args);
      });
    }
    return () => {
      for (const method of ["query", "execute"]) Reflect.deleteProperty(connection, method);
      return acted !== null;
    };
  }

  async function finish(store: Store): Promise<void> {
    const run = await claimOne(store, { worker: "finisher" });
    await store.exchange({
      worker: "finisher",
      stream: 0,
      seq: 1,
      again: false,
      settle: [settlement(run, "completed")],
      started: [],
      claim: null,
    });
  }

  describe.each(["read committed", "repeatable read", "a handler's"])("in a transaction: %s", (level) => {
    let store: Store;
    let other: Store;
    beforeEach(async () => {
      store = await open();
      other = await open();
      await beat(other, "finisher");
    });

    /** Inserts in a transaction; `act` is called before its statement with this number. */
    async function insert(key: string, number: number, act: (sent: string[]) => Promise<void>) {
      if (level !== "a handler's") {
        const { connection, commit, sql } = await begin(kind, scene.direct, level);
        // At repeatable read the snapshot is taken here.
        await sql("select 1 from punctual_runs");
        const reached = interrupt(connection, number, act);
        const [inserted] = await store.insert([once(key)], connection);
        await commit();
        return { ...inserted!, reached: reached() };
      }
      await store.insert([newRun({ name: "handler" })]);
      const mine = await claimOne(store, { worker: "inserter" });
      let answer: { id: number; inserted: boolean; reached: boolean } | undefined;
      await store.transaction(settlement(mine, "completed"), async (tx) => {
        const reached = interrupt(tx as object, number, act);
        const [inserted] = await store.insert([once(key)], tx);
        answer = { ...inserted!, reached: reached() };
      });
      return answer!;
    }

    test("a run that finishes between any two statements keeps its key", async () => {
      for (let number = 1; ; number++) {
        const key = `key ${number}`;
        const [holder] = await store.insert([once(key)]);
        const { reached, ...answer } = await insert(key, number, () => finish(other));
        expect(answer, `it finished before statement ${number}`).toEqual({ id: holder!.id, inserted: false });
        if (!reached) {
          expect(number).toBeGreaterThan(2);
          break;
        }
      }
    });

    test("a run that was dispatched and finished between any two statements keeps its key", async () => {
      for (let number = 1; ; number++) {
        const key = `key ${number}`;
        let holder = 0;
        let isLast = false;
        const { reached, ...answer } = await insert(key, number, async (sent) => {
          // Once the key is inserted, any other dispatch waits for the end of this transaction.
          isLast = sent.some((text) => /insert into \S*punctual_runs/.test(text));
          if (isLast) return;
          const [inserted] = await other.insert([once(key)]);
          holder = inserted!.id;
          await finish(other);
        });
        if (isLast || !reached) {
          expect(answer.inserted).toBe(true);
          expect(number).toBeGreaterThan(2);
          break;
        }
        expect(answer, `it was there before statement ${number}`).toEqual({ id: holder, inserted: false });
      }
    });
  });

  test("a run that is revived while an open transaction takes its key is revived without it", async () => {
    const store = await open();
    const other = await open();
    const key = { unique: { key: "once", until: "finished", for: 0 } } as const;
    const [first] = await store.insert([newRun(key)]);
    await beat(store, "finisher");
    await finish(store);
    const { connection, commit } = await begin(kind, scene.direct, "read committed");
    const [second] = await store.insert([newRun(key)], connection);
    const reviving = other.revive(first!.id);
    const blocked = eventually("a statement that waits for the key", async () =>
      (await scene.sql(WAITING[kind])).length > 0 ? "blocked" : null,
    );
    const early = await Promise.race([reviving, blocked]);
    await commit();
    expect([early, await reviving]).toEqual(["blocked", "revived"]);
    expect(await store.find(first!.id)).toMatchObject({ state: "ready", uniqueKey: null });
    expect(await store.find(second!.id)).toMatchObject({ state: "ready", uniqueKey: "once" });
  });

  test("twelve dispatchers with short runs insert one run for each key", async () => {
    const until = systemClock.monotonic() + 3000;
    const answers = { found: 0, inserted: 0 };
    const race = async (name: string) => {
      const store = await open();
      await beat(store, name);
      let settle: Settlement[] = [];
      for (let seq = 1; systemClock.monotonic() < until; seq++) {
        const key = `key ${Math.floor(systemClock.monotonic() / 20)}`;
        const [answer] = await store.insert([once(key)]);
        answers[answer!.inserted ? "inserted" : "found"]++;
        const { claimed } = await store.exchange({
          worker: name,
          stream: 0,
          seq,
          again: false,
          settle,
          started: [],
          claim: claimRequest({ owner: name, limit: 4 }),
        });
        settle = claimed.map((run) => settlement(run, "completed"));
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, n) => race(`racer ${n}`)));
    const rows = await scene.sql<{ unique_key: string }>(
      "select unique_key from punctual_runs where unique_key is not null union all select unique_key from punctual_history where unique_key is not null",
    );
    const byKey = Map.groupBy(rows, ({ unique_key }) => unique_key);
    const twice = [...byKey].filter(([, of]) => of.length > 1).map(([key]) => key);
    expect(twice).toEqual([]);
    expect(answers.inserted).toBe(byKey.size);
    expect(answers.inserted).toBeGreaterThan(10);
    expect(answers.found).toBeGreaterThan(10);
  });
});
