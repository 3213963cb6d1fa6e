import { expect, test } from "vitest";
import type { ServerKind } from "../servers/server.ts";
import { sharedServer } from "../servers/shared.ts";
import { eventually } from "../support/eventually.ts";
import { connect } from "./support/direct.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

/** Sessions of a database. */
const SESSIONS: Record<ServerKind, string> = {
  postgres: "select count(*)::int as n from pg_stat_activity where datname = ?",
  mysql: "select count(*) as n from information_schema.processlist where db = ?",
  mariadb: "select count(*) as n from information_schema.processlist where db = ?",
};

/** One for statements and, on PostgreSQL, one that listens; elsewhere a heartbeat may overlap with a poll. */
const IDLE = 2;

/** A pool closes a connection that it has not needed for 30 to 60 s. A busy machine may open another one meanwhile. */
const WITHIN = 150_000;

onEachServer((kind) => {
  test("a worker that has been busy and has nothing to do keeps two connections at most", async () => {
    const { url } = await sharedServer(kind);
    const scene = await Scene.on(kind, url);
    const admin = await connect(kind, url);
    const count = async () => Number((await admin.sql(SESSIONS[kind], scene.database))[0]!.n);
    const jobs = scene.punctual();
    const job = jobs
      .define("job", () => new Promise<void>((resolve) => setTimeout(resolve, 1)))
      .concurrency(0);
    const done = new Set<number>();
    jobs.on("run.completed", ({ id }) => done.add(id));
    void jobs.forever({ signals: false, parallel: 20 });
    const most: number[] = [];
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 20 }, () => job.dispatch()));
      most.push(await count());
    }
    await eventually("the runs to finish", () => done.size === 400);
    // Otherwise the pool would have had nothing to close.
    expect(Math.max(...most)).toBeGreaterThan(IDLE);
    await eventually("the pool to close its connections", async () => (await count()) <= IDLE, WITHIN);
    expect(await count()).toBeGreaterThan(0);
    await admin.end();
    await scene.clear();
  }, 240_000);
});
