import { afterEach, beforeEach, expect, test } from "vitest";
import type { Run } from "../../src/index.ts";
import { startServer, type TestServer } from "../servers/start.ts";
import { eventually } from "../support/eventually.ts";
import { STACK_TRACE } from "../support/start-child.ts";
import { connect } from "./support/direct.ts";
import { onOwnServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";
import type { Act } from "./support/server-worker.ts";

onOwnServer((kind) => {
  let server: TestServer;
  let scene: Scene;
  beforeEach(async () => {
    server = await startServer(kind);
    // A superuser may write even to a read-only server.
    if (kind !== "postgres") {
      await administer(
        "create user 'app'@'%' identified by 'secret'",
        "grant all on `faults\\_%`.* to 'app'@'%'",
      );
    }
    const through = (url: string) => (kind === "postgres" ? url : url.replace("root@", "app:secret@"));
    scene = await Scene.on(kind, server.url, { through });
  });
  afterEach(async () => {
    await scene.clear();
    await server.stop();
  });

  async function administer(...statements: string[]): Promise<void> {
    const admin = await connect(kind, server.url);
    for (const statement of statements) await admin.sql(statement);
    await admin.end();
  }

  /** As after a failover, when a server has become the standby of another. */
  async function setReadOnly(on: boolean): Promise<void> {
    if (kind === "mariadb") return administer(`set global read_only = ${on ? 1 : 0}`);
    if (kind === "mysql") return administer(`set global ${on ? "super_read_only = 1" : "read_only = 0"}`);
    await administer(
      `alter system set default_transaction_read_only = ${on ? "on" : "off"}`,
      "select pg_reload_conf()",
      "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname is not null and pid <> pg_backend_pid()",
    );
    const [setting, wanted] = ["default_transaction_read_only", on ? "on" : "off"];
    await eventually("the server to have read its settings", async () => {
      const admin = await connect(kind, server.url);
      const [found] = await admin.sql(`select current_setting('${setting}') as value`);
      await admin.end();
      return found!.value === wanted;
    });
  }

  test("a server that is read-only for a while makes workers wait; no run is lost or repeated", async () => {
    const names = ["first", "second"];
    const workers = names.map((name) => scene.worker(name, { parallel: 3 }));
    for (const by of names) await scene.journal.until({ what: "worker.started", by });
    const job = scene
      .punctual()
      .schedule<Act>("work", () => {})
      .concurrency(0);
    const before = await job.dispatchMany([1, 2, 3, 4].map(() => ({ held: true })));
    for (const { id } of before) await scene.journal.until({ what: "start", run: id });

    await setReadOnly(true);
    const later = [1, 2, 3, 4].map(() => job.dispatch({}) as PromiseLike<Run>);
    const dispatched = Promise.all(later);
    let done = false;
    void dispatched.then(
      () => (done = true),
      () => (done = true),
    );
    for (const worker of workers) worker.send({});
    for (const { id } of before) await scene.journal.until({ what: "end", run: id });
    // The settlements have been refused by now, or will be.
    const [left] = await scene.sql<{ n: number }>("select count(*) as n from punctual_runs where state = 2");
    expect(left!.n).toBe(before.length);
    expect(done).toBe(false);
    await setReadOnly(false);

    const runs = [...before, ...(await dispatched)];
    for (const { id } of runs) await scene.journal.until({ what: "run.completed", run: id });
    const ids = runs.map(({ id }) => id).sort((a, b) => a - b);
    const history = await scene.history();
    expect(history.map(({ id, attempts, crashes }) => ({ id, attempts, crashes }))).toEqual(
      ids.map((id) => ({ id, attempts: 1, crashes: 0 })),
    );
    expect([...scene.starts().values()]).toEqual(ids.map(() => 1));
    for (const worker of workers) {
      expect(worker.isAlive, worker.stderr).toBe(true);
      worker.signal("SIGTERM");
      expect(await worker.exit()).toEqual({ code: 0, signal: null });
      expect(worker.stderr).not.toMatch(STACK_TRACE);
    }
    expect(scene.errors()).toEqual([]);
  });
});
