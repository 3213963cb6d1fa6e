import { describe, expect, onTestFinished, test } from "vitest";
import { selected } from "../conformance/support/stores.ts";
import { isPatroniHere, PatroniCluster } from "../servers/patroni.ts";
import { eventually } from "../support/eventually.ts";
import { connect } from "./support/direct.ts";
import { Fleet } from "./support/fleet.ts";
import { keepDispatching } from "./support/load.ts";

const isSelected = selected.some(({ name }) => name === "postgres");

/** Patroni takes seconds to promote the standby, and more on a busy machine. */
const FAILOVER = 60_000;
const SOME = 20;

describe.runIf(isSelected && isPatroniHere())("PostgreSQL under Patroni, with a synchronous standby", () => {
  test("kill -9 of the leader loses and repeats nothing, also for processes that connect meanwhile", async () => {
    const cluster = await PatroniCluster.start();
    onTestFinished(() => cluster.stop());
    const fleet = new Fleet(cluster.url);
    await fleet.punctual().install();
    fleet.worker("worker", { brief: true, ticks: true });
    await fleet.journal.until({ what: "worker.started", by: "worker" });
    const load = [keepDispatching(fleet.punctual()), keepDispatching(fleet.punctual(cluster.list))];
    await eventually("runs before the failover", () => load.every(({ accepted }) => accepted.length > SOME));
    await cluster.killLeader();
    const before = load.map(({ accepted }) => accepted.length);
    const newcomers = [keepDispatching(fleet.punctual()), keepDispatching(fleet.punctual(cluster.list))];
    const all = [...load, ...newcomers];
    await eventually(
      "runs after the failover",
      () => all.every(({ accepted }, index) => accepted.length > (before[index] ?? 0) + SOME),
      FAILOVER,
    );
    for (const one of all) await one.stop();
    const accepted = all.flatMap((one) => one.accepted);
    expect(new Set(accepted).size).toBe(accepted.length);
    const direct = await connect("postgres", cluster.url);
    onTestFinished(() => direct.end());
    await fleet.expectEachOnce(direct, accepted);
  });
});

if (!isPatroniHere()) test.todo("Patroni, etcd or HAProxy is not here");
