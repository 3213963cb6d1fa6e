import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { openStore } from "../../../src/store/open.ts";
import { systemClock } from "../../../src/time.ts";
import { raceForStarts } from "../../conformance/support/rate-race.ts";
import { times } from "../../conformance/support/requests.ts";
import { startProxy, type TestProxy } from "../../servers/proxy.ts";
import type { TestServer } from "../../servers/start.ts";
import { cameAbout } from "../../support/came-about.ts";
import { eventually } from "../../support/eventually.ts";
import { ACCOUNTS, type Task } from "./cluster-jobs.ts";
import { ClusterScene } from "./cluster-scene.ts";

/** Starting three nodes takes a while, and so does their copying from one another. */
const START = 120_000;

/** Only a failure takes this long; on a busy machine three nodes need more time than one. */
const LOAD = 240_000;

export interface ClusterKind {
  /** Starts three nodes. */
  start(): Promise<TestServer[]>;
  /** Makes a session wait until its node has everything that was committed before. */
  catchUp: string;
  /** How much work there is: this many times 170 runs at each node, for example. */
  waves: number;
  /** Tests of this kind alone. */
  more?(scene: () => ClusterScene): void;
}

/** The tests of a cluster whose nodes all accept writes. */
export function testCluster({ start, catchUp, waves, more }: ClusterKind): void {
  let nodes: TestServer[] = [];
  let scene: ClusterScene;
  const proxies: TestProxy[] = [];
  beforeAll(async () => {
    nodes = await start();
  }, START);
  afterAll(() => Promise.all(nodes.map((node) => node.stop())), START);
  beforeEach(async () => {
    scene = await ClusterScene.on(nodes, catchUp);
  });
  afterEach(async () => {
    await scene.clear();
    for (const proxy of proxies.splice(0)) await proxy.close();
  });

  const tasks = (count: number, task: (n: number) => Task = () => ({})) => times(count, task);

  test("every run executes once, within its limits, and every tick is made once", {
    timeout: LOAD,
  }, async () => {
    await scene.install();
    for (const node of [0, 1, 2]) await scene.worker(`worker ${node}`, scene.url(node));
    const dispatched = await Promise.all(
      [0, 1, 2].map(async (node) => {
        const { plain, few, keyed, narrow } = scene.jobsAt(scene.url(node));
        const ids: number[] = [];
        for (let wave = 0; wave < waves; wave++) {
          const runs = await Promise.all([
            plain.dispatchMany(tasks(130)),
            few.dispatchMany(tasks(12)),
            keyed.dispatchMany(tasks(16, (n) => ({ key: `key ${n % 4}` }))),
            narrow.dispatchMany(tasks(12)),
          ]);
          ids.push(...runs.flat().map(({ id }) => id!));
        }
        return ids;
      }),
    );
    const ids = dispatched.flat();
    await scene.untilDrained();
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(3 * 170 * waves);
    expect(scene.repeated(ids)).toEqual([]);
    expect(scene.excesses()).toEqual([]);
    expect(scene.errors()).toEqual([]);
    const ticks = scene.journal.find({ what: "start", job: "beat" }).map(({ text }) => Date.parse(text!));
    const first = Math.min(...ticks);
    expect(ticks.sort((a, b) => a - b)).toEqual(ticks.map((_, index) => first + 1000 * index));
  });

  test("run.transaction commits exactly once, whatever other nodes commit meanwhile", {
    timeout: LOAD,
  }, async () => {
    await scene.install();
    for (const node of [0, 1, 2]) await scene.worker(`worker ${node}`, scene.url(node));
    const { transfer } = scene.jobsAt(scene.url(0));
    const runs = await transfer.dispatchMany(tasks(6 * waves, (n) => ({ account: n % ACCOUNTS })));
    await scene.untilDrained();
    const [counted] = await scene.sql<{ total: number }>("select sum(total) as total from accounts");
    const moved = await scene.sql<{ run: number }>("select run from transfers order by run");
    expect(moved.map(({ run }) => run)).toEqual(runs.map(({ id }) => id));
    expect(Number(counted!.total)).toBe(runs.length);
    // Otherwise no transaction met another.
    cameAbout("conflicts", scene.journal.find({ what: "start", job: "transfer" }).length > runs.length);
  });

  test("a unique key has one holder, wherever it is dispatched", async () => {
    await scene.install();
    const jobs = [0, 1, 2].map((node) => scene.punctual(scene.url(node)).declare("keyed elsewhere"));
    const keys = times(100, (n) => `key ${n}`);
    const runs = await Promise.all(jobs.flatMap((job) => keys.map((key) => job.dispatch({}).unique(key))));
    expect(new Set(runs.map(({ id }) => id)).size).toBe(keys.length);
    const rows = await scene.sql("select id from punctual_runs");
    expect(rows).toHaveLength(keys.length);
  });

  test("no window has more starts than a rate, whichever nodes the starts are counted on", {
    timeout: LOAD,
  }, async () => {
    await scene.install();
    const store = await openStore(scene.url(0), { clock: systemClock, prefix: "punctual_" });
    try {
      await raceForStarts(
        { store, sql: (text) => scene.sql(text) },
        [0, 1, 2].map((node) => scene.url(node)),
      );
    } finally {
      await store.close();
    }
  });

  test("a batch whose members end on every node counts each, and dispatches its callback once", {
    timeout: LOAD,
  }, async () => {
    await scene.install();
    for (const node of [0, 1, 2]) await scene.worker(`worker ${node}`, scene.url(node));
    const instances = [0, 1, 2].map((node) => scene.punctual(scene.url(node)));
    const batches = await Promise.all(
      times(3 * waves, async (n) => {
        const jobs = instances[n % 3]!;
        const members = times(30, () => jobs.declare("plain").draft());
        const callback = jobs
          .declare("few")
          .draft()
          .args({ key: `callback ${n}` });
        return await jobs
          .batch(`batch ${n}`)
          .add(...members)
          .onSuccess(callback);
      }),
    );
    for (const batch of batches) {
      expect(await batch.wait()).toMatchObject({ state: "finished", total: 30, completed: 30 });
    }
    const readCallbacks = () =>
      scene.sql<{ args: string }>("select args from punctual_history where name = 'few'");
    // A batch that has finished has dispatched its callback, which a worker of another node may execute.
    await eventually("the callbacks", async () => (await readCallbacks()).length >= batches.length);
    await scene.untilDrained();
    const callbacks = await readCallbacks();
    expect(callbacks.map(({ args }) => JSON.parse(args).key).sort()).toEqual(
      batches.map((_, n) => `callback ${n}`).sort(),
    );
  });

  test("install() may run on every node at once", async () => {
    const instances = [0, 1, 2].map((node) => scene.punctual(scene.url(node)));
    await Promise.all(instances.map((jobs) => jobs.install()));
    const numbers = await scene.sql<{ number: number }>(
      "select number from punctual_migrations order by number",
    );
    expect(numbers.map(({ number }) => number)).toEqual(numbers.map((_, index) => index + 1));
    const gates = await scene.sql("select id from punctual_gates");
    expect(gates).toHaveLength(256);
    for (const jobs of instances) await jobs.declare("any").dispatch({});
  });

  test("a worker whose connections reach different nodes keeps its leases", { timeout: LOAD }, async () => {
    await scene.install();
    const proxy = await startProxy(nodes[0]!.port);
    proxies.push(proxy);
    proxy.spread(nodes.map(({ port }) => port));
    await scene.worker("worker", proxy.url(scene.url(0)));
    const { plain } = scene.jobsAt(scene.url(0));
    const ids: number[] = [];
    for (let wave = 0; wave < 30; wave++) {
      for (const { id } of await plain.dispatchMany(tasks(10))) ids.push(id!);
    }
    await scene.untilDrained();
    expect(scene.repeated(ids)).toEqual([]);
    expect(scene.journal.find({ what: "run.lost" })).toEqual([]);
  });

  more?.(() => scene);

  // The last test: two nodes are left.
  test("nothing is lost or doubled when a node is killed under load", { timeout: LOAD }, async () => {
    await scene.install();
    const proxy = await startProxy(nodes[2]!.port);
    proxies.push(proxy);
    const urls = [scene.url(0), scene.url(1), proxy.url(scene.url(2))];
    for (const [node, url] of urls.entries()) await scene.worker(`worker ${node}`, url);
    const accepted = new Set<number>();
    const killed = Promise.withResolvers<void>();
    const dispatching = urls.map(async (url) => {
      const { plain } = scene.jobsAt(url);
      for (let wave = 0; wave < 4 * waves; wave++) {
        for (const { id } of await plain.dispatchMany(tasks(20))) accepted.add(id!);
        if (wave === waves) killed.resolve();
      }
    });
    await killed.promise;
    proxy.redirect(nodes[0]!.port);
    await nodes[2]!.kill();
    await Promise.all(dispatching);
    await scene.untilDrained();
    expect(accepted.size).toBe(3 * 20 * 4 * waves);
    expect(scene.repeated([...accepted])).toEqual([]);
    const finished = await scene.sql<{ id: number }>("select id from punctual_history where name = 'plain'");
    expect(finished).toHaveLength(accepted.size);
  });
}
