import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, createConnection } from "mysql2/promise";
import { findServer } from "./find.ts";
import { freePort } from "./free-port.ts";
import { mysqlRoot } from "./mysql.ts";
import { startServer, type TestServer } from "./start.ts";

/** The folders in which MySQL keeps its plugins. */
const PLUGINS = [
  join(mysqlRoot(), "usr/lib/mysql/plugin"),
  "/usr/lib/mysql/plugin",
  "/usr/lib64/mysql/plugin",
];

function findPlugins(): string | undefined {
  return PLUGINS.find((folder) => existsSync(join(folder, "group_replication.so")));
}

export function hasGroupReplication(): boolean {
  return findServer("mysql") !== undefined && findPlugins() !== undefined;
}

/** Far more than a node takes to join on a busy machine. */
const PATIENCE = 120_000;

/** Any name for the group. */
const GROUP = "5d3a2f70-2b0e-4b57-9f0c-6f3f5c1f7e10";

/** Starts three nodes of MySQL with Group Replication, each of which accepts writes. They end with this process. */
export async function startGroup(): Promise<TestServer[]> {
  const addresses = (await Promise.all([freePort(), freePort(), freePort()])).map(
    (port) => `127.0.0.1:${port}`,
  );
  const started = await Promise.allSettled(addresses.map((_, index) => startNode(addresses, index)));
  const nodes = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  try {
    for (const one of started) if (one.status === "rejected") throw one.reason;
    for (const [index, node] of nodes.entries()) await joinGroup(node, index === 0);
    return nodes;
  } catch (error) {
    await Promise.all(nodes.map((node) => node.stop()));
    throw error;
  }
}

async function startNode(addresses: string[], index: number): Promise<TestServer> {
  const port = await freePort();
  return startServer("mysql", {
    port,
    args: [
      "--innodb-buffer-pool-size=128M",
      "--performance-schema=ON",
      "--log-bin=binlog",
      // As for the tables: a commit reaches the system, and need not reach the disk.
      "--sync-binlog=0",
      "--gtid-mode=ON",
      "--enforce-gtid-consistency=ON",
      `--server-id=${index + 1}`,
      "--report-host=127.0.0.1",
      `--report-port=${port}`,
      `--plugin-dir=${findPlugins()}`,
      "--plugin-load-add=group_replication.so",
      `--group-replication-group-name=${GROUP}`,
      "--group-replication-start-on-boot=OFF",
      `--group-replication-local-address=${addresses[index]}`,
      `--group-replication-group-seeds=${addresses.join(",")}`,
      "--group-replication-single-primary-mode=OFF",
      "--group-replication-enforce-update-everywhere-checks=ON",
    ],
    // It has the id of the server, which must differ.
    prepare: (dataDir) => rm(join(dataDir, "auto.cnf"), { force: true }),
  });
}

/** Brings a node back that was killed, or that the others expelled while it was frozen. */
export async function rejoinGroup(node: TestServer): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    try {
      if ((await stateOf(node)) === "ONLINE") return;
      if ((await stateOf(node)) !== "RECOVERING") await joinGroup(node, false);
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    if (performance.now() > deadline) throw new Error("A node of the group does not join.");
    await sleep(500);
  }
}

async function stateOf({ url }: TestServer): Promise<string | undefined> {
  const connection = await createConnection({ uri: url });
  connection.on("error", () => {});
  try {
    return await readState(connection);
  } finally {
    connection.destroy();
  }
}

async function readState(connection: Connection): Promise<string | undefined> {
  const [rows] = await connection.query(
    "select member_state as state from performance_schema.replication_group_members where member_id = @@server_uuid",
  );
  return (rows as { state: string }[])[0]?.state;
}

async function joinGroup({ url }: TestServer, isFirst: boolean): Promise<void> {
  const connection = await createConnection({ uri: url });
  connection.on("error", () => {});
  try {
    await connection.query("stop group_replication");
    await connection.query(
      "change replication source to source_user = 'root' for channel 'group_replication_recovery'",
    );
    await connection.query(`set global group_replication_bootstrap_group = ${isFirst ? "ON" : "OFF"}`);
    await connection.query("start group_replication");
    await connection.query("set global group_replication_bootstrap_group = OFF");
    const deadline = performance.now() + PATIENCE;
    while ((await readState(connection)) !== "ONLINE") {
      if (performance.now() > deadline) throw new Error("A node of the group does not join.");
      await sleep(50);
    }
  } finally {
    connection.destroy();
  }
}
