import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createConnection } from "mysql2/promise";
import { findServer } from "./find.ts";
import { freePort } from "./free-port.ts";
import { findProgram, isRoot } from "./programs.ts";
import type { Command, Program } from "./server.ts";
import { startServer, type TestServer } from "./start.ts";

const PATIENCE = 120_000;

/** The folders in which distributions install Galera's library. */
const LIBRARIES = ["/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib64/galera", "/usr/lib/galera-4"];

/** Programs that a node runs when it joins. */
const HELPERS = ["rsync", "lsof"];

/** The packages of Debian that are needed beside MariaDB's. */
export const GALERA_PACKAGES: string[] = ["galera-4", "mariadb-server", ...HELPERS];

function findLibrary(): string | undefined {
  return LIBRARIES.map((folder) => join(folder, "libgalera_smm.so")).find((file) => existsSync(file));
}

export function hasGalera(): boolean {
  const programs = [...HELPERS, "wsrep_sst_rsync"];
  return (
    findServer("mariadb") !== undefined &&
    findLibrary() !== undefined &&
    programs.every((name) => findProgram(name) !== undefined)
  );
}

/** A user without privileges: as root, the copy that a joining node receives would have this owner, and fail. */
const NOBODY = { uid: 65_534, gid: 65_534 };

function nodeProgram(): Program {
  const program = findServer("mariadb")!;
  if (!isRoot()) return program;
  const withoutUser = ({ file, args }: Command) => ({
    file,
    args: args.filter((arg) => arg !== "--user=root"),
  });
  return {
    ...program,
    runAs: NOBODY,
    initialise: (dataDir) => withoutUser(program.initialise(dataDir)),
    serve: (place) => withoutUser(program.serve(place)),
  };
}

/** Makes a node the first one of a new cluster. */
const FOUNDS = "--wsrep-new-cluster";

/** Starts three nodes of MariaDB with Galera, each of which accepts writes. They end with this process. */
export async function startGalera(): Promise<TestServer[]> {
  const program = nodeProgram();
  const groupPorts = await Promise.all([freePort(), freePort(), freePort()]);
  const addresses = groupPorts.map((port) => `127.0.0.1:${port}`);
  const nodes: TestServer[] = [];
  const startNode = async (index: number) => {
    const isFirst = index === 0;
    const [transfer, changes] = [await freePort(), await freePort()];
    const args = [
      "--binlog-format=ROW",
      "--innodb-autoinc-lock-mode=2",
      "--innodb-buffer-pool-size=128M",
      "--wsrep-on=ON",
      `--wsrep-provider=${findLibrary()}`,
      "--wsrep-cluster-name=punctual",
      `--wsrep-cluster-address=gcomm://${addresses.join(",")}`,
      ...(isFirst ? [FOUNDS] : []),
      `--wsrep-node-name=node-${index + 1}`,
      "--wsrep-node-address=127.0.0.1",
      "--wsrep-sst-method=rsync",
      `--wsrep-sst-receive-address=127.0.0.1:${transfer}`,
      `--wsrep-provider-options=gmcast.listen_addr=tcp://${addresses[index]};ist.recv_addr=127.0.0.1:${changes};gcache.size=64M`,
    ];
    const node = await startServer("mariadb", { program, args });
    nodes[index] = node;
    // If it is started again, it joins the others.
    node.leaveOut(FOUNDS);
    await untilSynced(node);
  };
  try {
    await startNode(0);
    await Promise.all([startNode(1), startNode(2)]);
    return nodes;
  } catch (error) {
    await Promise.all(nodes.map((node) => node.stop()));
    throw error;
  }
}

/** A joining node closes its connections until it has the others' changes. */
export async function untilSynced({ url }: TestServer): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while ((await readState(url).catch(String)) !== "Synced") {
    if (performance.now() > deadline) throw new Error("A node of the Galera cluster does not join.");
    await sleep(20);
  }
}

async function readState(uri: string): Promise<string | undefined> {
  const connection = await createConnection({ uri });
  connection.on("error", () => {});
  try {
    const [rows] = await connection.query("show status like 'wsrep_local_state_comment'");
    return (rows as { Value: string }[])[0]?.Value;
  } finally {
    connection.destroy();
  }
}
