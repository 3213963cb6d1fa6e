import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProxy, type TestProxy } from "../../servers/proxy.ts";
import type { ServerKind } from "../../servers/server.ts";
import { startServer, type TestServer } from "../../servers/start.ts";
import { type Access, openFileAccess, openServerAccess } from "./access.ts";
import { type ClusterName, openCluster } from "./clusters.ts";
import { LEDGER } from "./load.ts";
import { SmallDisk } from "./small-disk.ts";

export type DatabaseName = "sqlite" | ServerKind;

export type TargetName = DatabaseName | ClusterName;

export const databaseNames: DatabaseName[] = ["sqlite", "postgres", "mysql", "mariadb"];

export const clusterNames: ClusterName[] = ["galera", "group-replication", "patroni"];

/** Several servers of one database. */
export interface Cluster {
  /** Kills a server with kill -9. Resolves when it is a member again. */
  kill(node: number): Promise<void>;
  /** Stops a server for some time. Resolves when it is a member again. */
  freeze(node: number, ms: number): Promise<void>;
  size: number;
}

/** The database under a campaign. */
export interface Target {
  name: TargetName;
  kind: DatabaseName;
  /** The URLs for the fleet, whose processes use them in turn. */
  urls: string[];
  /** Connects past the proxies. */
  connect(): Promise<Access>;
  /** Null: a file, or a cluster. */
  server: TestServer | null;
  cluster: Cluster | null;
  /** Between the fleet and the servers. */
  proxies: TestProxy[];
  /** The disk under the data; null: it cannot be filled. */
  disk: SmallDisk | null;
  close(): Promise<void>;
}

const IDS: Record<DatabaseName, string> = {
  sqlite: "id integer primary key",
  postgres: "id bigint generated always as identity primary key",
  mysql: "id bigint auto_increment primary key",
  mariadb: "id bigint auto_increment primary key",
};

export async function openTarget(name: TargetName): Promise<Target> {
  const target = await open(name);
  await createLedger(target);
  return target;
}

export async function createLedger({ connect, kind }: Pick<Target, "connect" | "kind">): Promise<void> {
  const access = await connect();
  await access.all(`create table ${LEDGER} (${IDS[kind]}, run bigint not null)`);
  await access.close();
}

async function open(name: TargetName): Promise<Target> {
  if (name === "sqlite") return openFile();
  return name === "postgres" || name === "mysql" || name === "mariadb" ? openServer(name) : openCluster(name);
}

async function openFile(): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), "punctual-campaign-"));
  const disk = SmallDisk.under(folder);
  const file = join(folder, "jobs.db");
  return {
    name: "sqlite",
    kind: "sqlite",
    urls: [`sqlite:${file}`],
    connect: () => openFileAccess(file),
    server: null,
    cluster: null,
    proxies: [],
    disk,
    async close() {
      disk?.remove();
      rmSync(folder, { recursive: true });
    },
  };
}

async function openServer(kind: ServerKind): Promise<Target> {
  let disk: SmallDisk | null = null;
  const server = await startServer(kind, {
    async prepare(dataDir) {
      disk = SmallDisk.under(dataDir);
    },
  });
  const proxy = await startProxy(server.port);
  return {
    name: kind,
    kind,
    urls: [proxy.url(server.url)],
    connect: () => openServerAccess(kind, server.url),
    server,
    cluster: null,
    proxies: [proxy],
    disk,
    async close() {
      await proxy.close();
      (disk as SmallDisk | null)?.remove();
      await server.stop();
    },
  };
}
