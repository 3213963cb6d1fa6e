import { setTimeout as pause } from "node:timers/promises";
import { startGalera, untilSynced } from "../../servers/galera.ts";
import { rejoinGroup, startGroup } from "../../servers/group-replication.ts";
import { PatroniCluster } from "../../servers/patroni.ts";
import { startProxy } from "../../servers/proxy.ts";
import type { TestServer } from "../../servers/start.ts";
import { openServerAccess } from "./access.ts";
import type { Cluster, Target } from "./target.ts";

export type ClusterName = "galera" | "group-replication" | "patroni";

const DATABASE = "campaign";

/** A cluster whose servers all accept writes. */
interface WriterCluster {
  name: ClusterName;
  kind: "mysql" | "mariadb";
  start(): Promise<TestServer[]>;
  /** Makes a session wait until its server has everything that was committed before. */
  catchUp: string;
  /** Resolves when a server that was away is a member again. */
  rejoin(node: TestServer): Promise<void>;
}

const writerClusters: Record<"galera" | "group-replication", WriterCluster> = {
  galera: {
    name: "galera",
    kind: "mariadb",
    start: startGalera,
    catchUp: "set session wsrep_sync_wait = 15",
    rejoin: untilSynced,
  },
  "group-replication": {
    name: "group-replication",
    kind: "mysql",
    start: startGroup,
    catchUp: "set session group_replication_consistency = 'BEFORE'",
    rejoin: rejoinGroup,
  },
};

export function openCluster(name: ClusterName): Promise<Target> {
  return name === "patroni" ? openPatroni() : openWriters(writerClusters[name]);
}

/** Each process of the fleet writes to one of three servers, through a proxy. */
async function openWriters({ name, kind, start, catchUp, rejoin }: WriterCluster): Promise<Target> {
  const servers = await start();
  const proxies = await Promise.all(servers.map(({ port }) => startProxy(port)));
  const inDatabase = (server: string) => {
    const url = new URL(server);
    url.pathname = DATABASE;
    return url.href;
  };
  const first = await openServerAccess(kind, servers[0]!.url);
  await first.all(`create database ${DATABASE}`);
  await first.close();
  const cluster: Cluster = {
    size: servers.length,
    async kill(index) {
      const server = servers[index]!;
      await server.kill();
      await server.start();
      await rejoin(server);
    },
    async freeze(index, ms) {
      const server = servers[index]!;
      await server.kill("SIGSTOP");
      await pause(ms);
      await server.kill("SIGCONT");
      await rejoin(server);
    },
  };
  return {
    name,
    kind,
    urls: servers.map(({ url }, index) => inDatabase(proxies[index]!.url(url))),
    async connect() {
      const access = await openServerAccess(kind, ...servers.map(({ url }) => inDatabase(url)));
      await access.all(catchUp);
      return access;
    },
    server: null,
    cluster,
    proxies,
    disk: null,
    async close() {
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

/** Half of the fleet uses HAProxy, the other half a list of hosts. */
async function openPatroni(): Promise<Target> {
  const patroni = await PatroniCluster.start();
  return {
    name: "patroni",
    kind: "postgres",
    urls: [patroni.url, `${patroni.list}?target_session_attrs=read-write`],
    connect: () => openServerAccess("postgres", patroni.url),
    server: null,
    cluster: {
      size: 1,
      async kill() {
        await patroni.killLeader();
        await patroni.untilReplicated();
      },
      async freeze(_, ms) {
        await patroni.freezeLeader(ms);
        await patroni.untilReplicated();
      },
    },
    proxies: [],
    disk: null,
    close: () => patroni.stop(),
  };
}
