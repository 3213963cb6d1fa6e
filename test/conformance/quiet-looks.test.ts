import { expect, test } from "vitest";
import { fresh } from "./support/fresh.ts";
import {
  beat,
  beatFor,
  type ClaimFields,
  claim,
  claimRequest,
  define,
  exchange,
  ids,
  insert,
  insertOne,
  rate,
  settle,
  times,
} from "./support/requests.ts";
import { sqlite } from "./support/sqlite-database.ts";
import { selected } from "./support/stores.ts";

if (selected.includes(sqlite)) withRates();
else test.todo("SQLite is not selected");

/** On SQLite every commit of another process is reported to a worker, although most concern no run. */
function withRates(): void {
  const at = fresh(sqlite);

  const sync = (census: string | null, limit = 1) =>
    define(
      at.store,
      [
        { name: "job", fingerprint: `${limit}`, rates: { job: rate(limit, 60_000), key: null } },
        { name: "limited", fingerprint: "code", limit: 9 },
      ],
      { startedAt: 1, census },
    );

  /** A worker that has found only runs above their rate, and another process beside it. */
  async function scene() {
    await sync(null);
    const held = await insertOne(at.store, { name: "limited", priority: -1 });
    await insert(at.store, ...times(150, () => ({})));
    const other = await at.another();
    const [run] = await claim(other, { worker: "w2", limit: 1 });
    expect(run!.id).toBe(held);
    expect(await claim(at.store)).toHaveLength(1);
    await look();
    return { other, run: run! };
  }
  /** A look after a commit of another process was reported. */
  const look = (fields: ClaimFields = {}) =>
    exchange(at.store, { claim: claimRequest({ immediate: true, ...fields }) });
  /** Whether a look succeeds although another connection holds the write lock. */
  const looksWithoutLock = async () => {
    const { tx, rollback } = await at.begin();
    (tx as { exec(text: string): void }).exec("rollback; begin immediate");
    const looking = look().then(({ claimed }) => claimed.length);
    const answer = await Promise.race([looking, waited("lock")]);
    await rollback();
    await looking;
    return answer === 0;
  };
  /** Long enough for an exchange that needs no lock: it is one read in this process. */
  const waited = <Value>(value: Value) =>
    new Promise<Value>((resolve) => {
      let turns = 0;
      const turn = () => (++turns < 100 ? setImmediate(turn) : resolve(value));
      turn();
    });

  test("a heartbeat of another process does not make a worker look at runs above their rate", async () => {
    const { other } = await scene();
    expect(await looksWithoutLock()).toBe(true);
    await beat(other, "w2");
    expect(await looksWithoutLock()).toBe(true);
    await insertOne(other, { name: "free", delay: 3_600_000 });
    expect(await looksWithoutLock()).toBe(false);
  });

  test("a sync that changes nothing does not make a worker look at runs above their rate", async () => {
    await scene();
    await beatFor(at.store, "w1");
    await sync(null);
    const { census } = await sync(null);
    await look();
    expect(await sync(census)).toMatchObject({ isUnchanged: true });
    expect(await looksWithoutLock()).toBe(true);
    await sync(null, 2);
    expect((await look()).claimed).toHaveLength(1);
  });

  test("a run that another process inserts is found at once", async () => {
    const { other } = await scene();
    const id = await insertOne(other, { name: "limited" });
    expect(ids((await look()).claimed)).toEqual([id]);
  });

  test("a run that another process gives back is found at once", async () => {
    const { other, run } = await scene();
    await settle(other, run, "released");
    expect(ids((await look()).claimed)).toEqual([run.id]);
  });

  test("a run that an operator retries in another process is found at once", async () => {
    const { other, run } = await scene();
    await settle(other, run, "failed");
    await look();
    await other.revive(run.id);
    await other.recordAction({
      ...{ user: "ada", role: null, source: "cli" },
      ...{ action: "run.retry", target: `run ${run.id}`, details: null },
    });
    expect(ids((await look()).claimed)).toEqual([run.id]);
  });

  test("a run that this process retries is found at once", async () => {
    const { other, run } = await scene();
    await settle(other, run, "failed");
    await look();
    await at.store.revive(run.id);
    expect(ids((await look()).claimed)).toEqual([run.id]);
  });

  test("a run that the code of another process retries is found after some seconds", async () => {
    const { other, run } = await scene();
    await settle(other, run, "failed");
    await look();
    await other.revive(run.id);
    expect((await look()).claimed).toEqual([]);
    await at.clock.advance(5);
    expect(ids((await look()).claimed)).toEqual([run.id]);
  });
}
