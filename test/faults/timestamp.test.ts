import { expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { systemClock } from "../../src/time.ts";
import { newRun } from "../conformance/support/requests.ts";
import { sharedServer } from "../servers/shared.ts";
import { begin, NOW } from "./support/direct.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

const HOUR = 3_600_000;

/** Statements that set another time for a session, on servers that have any. */
const ELSEWHEN = { postgres: "select 1", mysql: "set timestamp = 86400", mariadb: "set timestamp = 86400" };

onEachServer((kind) => {
  test("the time that a caller has set for its session is not taken for the database's time", async () => {
    const scene = await Scene.on(kind, (await sharedServer(kind)).url);
    const store = await openStore(scene.url, { clock: systemClock, prefix: "punctual_" });
    const { connection, commit, sql } = await begin(kind, scene.direct, "read committed");
    await sql(ELSEWHEN[kind]);
    // The first reading of the time by this store goes through the caller's connection.
    const [inserted] = await store.insert([newRun()], connection);
    await commit();
    const [{ now }] = (await scene.sql<{ now: number }>(NOW[kind])) as [{ now: number }];
    const run = await store.find(inserted!.id);
    expect(Math.abs(run!.createdAt - now)).toBeLessThan(HOUR);
    expect(Math.abs((await store.now()) - now)).toBeLessThan(HOUR);
    await store.close();
    await scene.clear();
  });
});
