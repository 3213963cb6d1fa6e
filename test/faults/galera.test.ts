import type { PoolConnection } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { systemClock } from "../../src/time.ts";
import { claimOne, define, insertOne, list, settlement } from "../conformance/support/requests.ts";
import { selected } from "../conformance/support/stores.ts";
import { hasGalera, startGalera } from "../servers/galera.ts";
import { eventually } from "../support/eventually.ts";
import type { ClusterScene } from "./support/cluster-scene.ts";
import { testCluster } from "./support/cluster-tests.ts";

const isSelected = selected.some(({ name }) => name === "mariadb");

if (!isSelected || !hasGalera()) test.todo("MariaDB is not selected, or Galera is not installed");
else {
  describe("three nodes of Galera that all accept writes", () => {
    testCluster({
      start: startGalera,
      catchUp: "set session wsrep_sync_wait = 15",
      waves: 10,
      more: testHandlers,
    });
  });
}

function testHandlers(scene: () => ClusterScene): void {
  test("a rollback that a handler does not notice undoes everything that it has written", async () => {
    await scene().install();
    const store = await openStore(scene().url(0), { clock: systemClock, prefix: "punctual_" });
    const total = async () => {
      const [row] = await scene().sql<{ total: number }>("select total from accounts where id = 0");
      return row!.total;
    };
    try {
      await define(store, [{ name: "job" }]);
      await insertOne(store);
      const run = await claimOne(store);
      const working = store.transaction(settlement(run, "completed"), async (given) => {
        const tx = given as PoolConnection;
        await tx.execute("update accounts set total = total + 1 where id = ?", [0]);
        await scene().sql("update accounts set total = total + 10 where id = 0", 1);
        await eventually("the other node's change", async () => (await total()) === 10);
        // Whether these two report the rollback depends on the server's version.
        await tx.execute("select total from accounts where id = ?", [0]).catch(() => {});
        await tx.execute("insert into transfers (run, account) values (?, ?)", [run.id, 0]).catch(() => {});
      });
      await expect(working).rejects.toMatchObject({ code: "DATABASE_BUSY" });
      expect(await total()).toBe(10);
      expect(await scene().sql("select run from transfers")).toEqual([]);
      expect(await list(store, { states: ["running"] })).toHaveLength(1);
    } finally {
      await store.close();
    }
  });

  test("no statement is prepared in a transaction of ours", async () => {
    await scene().install();
    const store = await openStore(scene().url(1), { clock: systemClock, prefix: "punctual_" });
    const prepared = async () => {
      const [row] = await scene().sql<{ Value: string }>("show global status like 'Com_stmt_prepare'", 1);
      return Number(row!.Value);
    };
    try {
      await define(store, [{ name: "job" }]);
      await insertOne(store);
      const run = await claimOne(store);
      const before = await prepared();
      // In such a transaction each statement is a packet of its own; others are text anyway.
      expect(await store.transaction(settlement(run, "completed"), () => {})).toBe(true);
      expect(await prepared()).toBe(before);
    } finally {
      await store.close();
    }
  });
}
