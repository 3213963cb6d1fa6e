import { afterEach, beforeEach, expect, test } from "vitest";
import type { Definition, Run } from "../../src/index.ts";
import { startServer, type TestServer } from "../servers/start.ts";
import { cameAbout } from "../support/came-about.ts";
import { eventually } from "../support/eventually.ts";
import { type Child, STACK_TRACE } from "../support/start-child.ts";
import { onOwnServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";
import type { Act } from "./support/server-worker.ts";

const NAMES = ["first", "second", "third"];

/** Most waiting runs: more would only lengthen the test. */
const AHEAD = 150;

/** Dispatches groups of runs one after the other, until it is stopped. */
class Dispatching {
  readonly ids: number[] = [];
  readonly #scene: Scene;
  readonly #job: Definition<Act>;
  readonly #args: () => Act;
  readonly #done: Promise<void>;
  readonly #besides: Promise<void>[] = [];
  #stopped = false;

  constructor(scene: Scene, args: () => Act) {
    this.#scene = scene;
    this.#args = args;
    const handler = () => {
      throw new Error("the test's own process does not work");
    };
    this.#job = scene.punctual().schedule<Act>("work", handler).concurrency(0);
    this.#done = this.#dispatch();
    // stop() reports it.
    this.#done.catch(() => {});
  }

  /** Dispatches a group now, without waiting for it. */
  besides(): void {
    const sent = this.#group();
    sent.catch(() => {});
    this.#besides.push(sent);
  }

  /** Dispatches one run; returns its id. */
  async one(args: Act): Promise<number> {
    const { id } = await this.#job.dispatch(args);
    this.ids.push(id);
    return id;
  }

  /** Fails if one of the dispatches did. */
  async stop(): Promise<number[]> {
    this.#stopped = true;
    await Promise.all([this.#done, ...this.#besides]);
    return this.ids.sort((a, b) => a - b);
  }

  async #dispatch(): Promise<void> {
    while (!this.#stopped) {
      await this.#group();
      const { journal } = this.#scene;
      const isRoom = () => this.#stopped || this.ids.length < journal.find({ what: "start" }).length + AHEAD;
      await eventually("runs to be started", isRoom);
    }
  }

  async #group(): Promise<void> {
    const group = Array.from({ length: 10 }, () => this.#job.dispatch(this.#args()) as PromiseLike<Run>);
    for (const { id } of await Promise.all(group)) this.ids.push(id);
  }
}

onOwnServer((kind) => {
  let server: TestServer;
  let scene: Scene;
  beforeEach(async () => {
    server = await startServer(kind);
    scene = await Scene.on(kind, server.url);
  });
  afterEach(async () => {
    await scene.clear();
    await server.stop();
  });

  const count = (what: string) => scene.journal.find({ what }).length;
  const untilMore = (what: string, more: number) => {
    const before = count(what);
    return eventually(
      () => `${more} more of ${what}, after ${count(what)}`,
      () => count(what) >= before + more,
    );
  };

  /** Expects that the processes are alive, exit in order, and have printed nothing. */
  async function expectWell(workers: Child[]): Promise<void> {
    for (const worker of workers) {
      expect(worker.isAlive, worker.stderr).toBe(true);
      worker.signal("SIGTERM");
      expect(await worker.exit()).toEqual({ code: 0, signal: null });
      expect(worker.stderr).not.toMatch(STACK_TRACE);
    }
  }

  test("a server that crashes under load: every run is executed, and none twice", {
    timeout: 120_000,
  }, async () => {
    const workers = NAMES.map((name) => scene.worker(name, { parallel: 5, lease: 60 }));
    const dispatching = new Dispatching(scene, () => ({ ms: Math.random() * 20 }));
    for (let crashes = 0; crashes < 2; crashes++) {
      await untilMore("run.completed", 200);
      await server.kill("SIGKILL");
      dispatching.besides();
      // The handlers have returned meanwhile, and their runs cannot be settled yet.
      await eventually("handlers to end", () => count("start") === count("end"));
      await server.restart();
    }
    await untilMore("run.completed", 200);
    const ids = await dispatching.stop();
    await scene.untilDrained();

    // No insert whose answer was lost was made twice, and none is missing.
    const history = await scene.history();
    expect(history.map(({ id }) => id)).toEqual(ids);
    expect(history.filter((run) => run.state !== 3 || run.attempts !== 1 || run.crashes !== 0)).toEqual([]);
    const starts = scene.starts();
    expect([...starts.keys()].sort((a, b) => a - b)).toEqual(ids);
    expect([...starts].filter(([, times]) => times !== 1)).toEqual([]);
    const sharers = NAMES.filter((by) => scene.journal.find({ what: "start", by }).length > 0);
    cameAbout("each worker ran some", sharers.length === NAMES.length);
    expect(count("run.lost") + count("run.reaped")).toBe(0);
    await expectWell(workers);
    expect(scene.errors()).toEqual([]);
  });

  test("a server that is away for longer than a lease: interrupted runs run again, all others once", {
    timeout: 120_000,
  }, async () => {
    const workers = NAMES.map((name) => scene.worker(name, { parallel: 5, lease: 3 }));
    const dispatching = new Dispatching(scene, () => ({ ms: 10 }));
    await untilMore("run.completed", 100);
    // At least one is running when the server stops, and outlives its lease.
    const long = await dispatching.one({ ms: 8000 });
    await eventually("the long one to start", () => scene.starts().has(long));
    await server.kill("SIGKILL");
    dispatching.besides();
    await untilMore("abort", 1);
    await server.restart();
    await untilMore("run.completed", 100);
    const ids = await dispatching.stop();
    await scene.untilDrained();

    const history = await scene.history();
    expect(history.map(({ id }) => id)).toEqual(ids);
    expect(history.filter(({ state }) => state !== 3)).toEqual([]);
    const starts = scene.starts();
    expect([...starts.keys()].sort((a, b) => a - b)).toEqual(ids);
    // Runs that were started from the buffer during the outage are lost without a charge: their attempts tell.
    const attempts = new Map(history.map((run) => [run.id, run.attempts]));
    expect([...starts].filter(([id, times]) => times > attempts.get(id)!)).toEqual([]);
    expect(history.find(({ id }) => id === long)!.crashes).toBeGreaterThan(0);
    await expectWell(workers);
  });
});
