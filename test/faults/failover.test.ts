import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { Punctual, PunctualError } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import { ID_GAP } from "../../src/store/server/ids.ts";
import type { InsertResult, Store } from "../../src/store/store.ts";
import { TestClock } from "../../src/testing/clock.ts";
import { newRun } from "../conformance/support/requests.ts";
import { findServer } from "../servers/find.ts";
import { startProxy } from "../servers/proxy.ts";
import type { ServerKind } from "../servers/server.ts";
import { startServer } from "../servers/start.ts";
import { eventually } from "../support/eventually.ts";
import { behindProxy } from "./support/behind-proxy.ts";
import { commitOf, isInsert } from "./support/commits.ts";
import { begin, connect } from "./support/direct.ts";
import { onEachServer } from "./support/kinds.ts";

/** Reserved ids expire by this clock, which stands still. */
const clock = new TestClock();
const options = { clock, prefix: "punctual_" };

const stores: Store[] = [];

async function open(url: string): Promise<Store> {
  const store = await openStore(url, options);
  stores.push(store);
  return store;
}

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

const MARK = "dispatched here";

/** Makes one insert after the other, and returns the ids that were accepted. */
async function dispatch(store: Store, count: number, key?: string): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < count; n++) {
    const unique = key === undefined ? null : { key: `${key} ${n}`, until: "finished" as const, for: 0 };
    const [{ id, inserted }] = (await store.insert([newRun({ unique, args: `["${MARK}"]` })])) as [
      InsertResult,
    ];
    expect(inserted).toBe(true);
    ids.push(id);
  }
  return ids;
}

/** Also if its text is prepared already, and only the values are sent. */
const isDispatch = (sent: Buffer) => isInsert(sent) || sent.includes(MARK);

/** Enough inserts to make a store reserve far more ids than it uses. */
const SOME = 30;
/** More ids than a store has reserved. */
const MANY = 150;

onEachServer((kind) => {
  const at = behindProxy(kind);
  let survivor: Store;
  let other: Store;

  beforeEach(async () => {
    survivor = await open(at.scene.url);
    other = await open(at.scene.direct);
  });
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  /** Leaves the database as a replica that has received only rows up to this id. */
  async function rewind(last: number): Promise<void> {
    for (const table of ["runs", "receipts"]) {
      await at.scene.sql(`delete from punctual_${table} where id > ?`, last);
    }
    if (kind === "postgres") await at.scene.sql("select setval('punctual_runs_id_seq', ?)", last);
    else await at.scene.sql("update punctual_ids set next = ? where id = 1", last);
  }

  async function expectAll(accepted: number[]): Promise<void> {
    const rows = await at.scene.sql<{ id: number }>("select id from punctual_runs order by id");
    expect(rows.map(({ id }) => id)).toEqual([...accepted].sort((a, b) => a - b));
    expect(new Set(accepted).size).toBe(accepted.length);
  }

  test("ids that were reserved before a connection was lost are discarded", async () => {
    const [first] = await dispatch(survivor, SOME);
    at.proxy.cut();
    await rewind(first!);
    const accepted = [first!, ...(await dispatch(survivor, 5)), ...(await dispatch(other, MANY))];
    await expectAll([...accepted, ...(await dispatch(survivor, 5))]);
  });

  test.each([undefined, "key"])(
    "a dispatch with the key %s whose id is taken gets another id",
    async (key) => {
      const [first] = await dispatch(survivor, SOME);
      // No connection was lost, as behind a pooler that hides the loss.
      await rewind(first!);
      const theirs = await dispatch(other, MANY);
      await expectAll([first!, ...theirs, ...(await dispatch(survivor, SOME, key))]);
    },
  );

  test("ids that runs have and the new primary has not reached yet are skipped", async () => {
    const [first] = await dispatch(survivor, SOME);
    await rewind(first!);
    const ours = await dispatch(survivor, 5);
    await expectAll([first!, ...ours, ...(await dispatch(await open(at.scene.direct), MANY))]);
  });

  test("ids are skipped once when another server has assigned the last ones", async () => {
    const [before] = await dispatch(survivor, 1);
    const column = kind === "postgres" ? "timeline" : "mark";
    await at.scene.sql(`update punctual_ids set ${column} = 'another server' where id = 1`);
    const stores = [await open(at.scene.direct), await open(at.scene.direct), await open(at.scene.direct)];
    const after = await Promise.all(stores.map((store) => dispatch(store, 5)));
    const ids = after.flat();
    expect(Math.min(...ids)).toBeGreaterThan(before! + ID_GAP);
    expect(Math.max(...ids)).toBeLessThan(before! + 2 * ID_GAP);
    await expectAll([before!, ...ids]);
  });

  test("in a caller's transaction an id that is taken is an error, and the next try gets another", async () => {
    const [first] = await dispatch(survivor, SOME);
    await rewind(first!);
    const theirs = await dispatch(other, MANY);
    const tries = async () => {
      const { connection, commit } = await begin(kind, at.scene.direct, "read committed");
      const inserting = survivor.insert([newRun()], connection);
      // PostgreSQL rolls back with the commit.
      await inserting.catch(() => {});
      await commit();
      return (await inserting)[0]!.id;
    };
    await expect(tries()).rejects.toThrow(PunctualError);
    await expectAll([first!, ...theirs, await tries()]);
  });

  test.each([undefined, "key"])(
    "the receipt of another insert is not taken for one's own: with the key %s",
    async (key) => {
      const [first] = await dispatch(survivor, SOME);
      const cut = at.proxy.cutWhen(key ? commitOf(kind, "insert") : isDispatch, { deliver: true });
      const inFlight = dispatch(survivor, 1, key);
      await cut;
      at.proxy.pause();
      await rewind(first!);
      const theirs = await dispatch(other, MANY);
      at.proxy.resume();
      await expectAll([first!, ...theirs, ...(await inFlight)]);
    },
  );

  test.each([undefined, "key"])("an insert with the key %s that is sent again takes new ids", async (key) => {
    const [first] = await dispatch(survivor, SOME);
    const cut = at.proxy.cutWhen(key ? commitOf(kind, "insert") : isDispatch, { deliver: true });
    const inFlight = dispatch(survivor, 1, key);
    await cut;
    at.proxy.pause();
    await rewind(first!);
    at.proxy.resume();
    const ours = await inFlight;
    await expectAll([first!, ...ours, ...(await dispatch(other, MANY))]);
    // Lost runs had the ids up to here.
    expect(ours[0]).toBeGreaterThan(SOME);
  });
});

const isHere = findServer("postgres") !== undefined && !/sqlite|mysql|mariadb/.test(process.env.STORES ?? "");

describe.runIf(isHere)("PostgreSQL with a standby that lags when it is promoted", () => {
  const kind: ServerKind = "postgres";

  test("has every dispatch that was accepted afterwards, and each run runs once", async () => {
    const primary = await startServer(kind);
    onTestFinished(() => primary.stop());
    const link = await startProxy(primary.port);
    const standby = await startServer(kind, { standbyOf: link.port });
    onTestFinished(() => standby.stop());
    const network = await startProxy(primary.port);
    onTestFinished(() => network.close());

    const survivor = await open(network.url(primary.url));
    await survivor.install();
    const before = await dispatch(survivor, 1);
    const direct = await connect(kind, standby.url);
    onTestFinished(() => direct.end());
    await eventually("the standby to have the first run", async () => {
      const found = await direct.sql("select to_regclass('punctual_runs') as runs");
      if (found[0]!.runs === null) return false;
      return (await direct.sql("select id from punctual_runs")).length === 1;
    });
    await link.close();
    await dispatch(survivor, 2 * MANY);
    const cut = network.cutWhen(isDispatch, { deliver: true });
    const inFlight = dispatch(survivor, 1);
    await cut;
    network.pause();
    await primary.kill();
    await direct.sql("select pg_promote()");
    const other = await open(standby.url);
    const theirs = await dispatch(other, 3 * MANY);
    network.redirect(standby.port);
    network.resume();
    network.cut();
    const accepted = [
      ...before,
      ...theirs,
      ...(await inFlight),
      ...(await dispatch(survivor, SOME)),
      ...(await dispatch(other, MANY)),
      ...(await dispatch(survivor, SOME, "key")),
    ];
    expect(new Set(accepted).size).toBe(accepted.length);

    const ran: number[] = [];
    const jobs = new Punctual(standby.url, { logger: false });
    onTestFinished(() => jobs.stop());
    jobs.schedule("job", (_, run) => void ran.push(run.id)).concurrency(0);
    while ((await jobs.run({ batch: 1000 })) > 0);
    const inOrder = (ids: number[]) => [...ids].sort((a, b) => a - b);
    expect(inOrder(ran)).toEqual(inOrder(accepted));
    const history = await direct.sql<{ id: number }>("select id from punctual_history order by id");
    expect(history.map(({ id }) => id)).toEqual(inOrder(accepted));
  });
});
