import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { eventually } from "../support/eventually.ts";
import { askVersion } from "./ask-version.ts";
import { childrenOf, tryKill } from "./children.ts";
import { findServer } from "./find.ts";
import { freePort } from "./free-port.ts";
import type { Launch, Report } from "./keeper.ts";
import { findProgram } from "./programs.ts";
import type { Program } from "./server.ts";

/** Debian's packages of Patroni and what it needs. */
export const PATRONI_PACKAGES: string[] = [
  "patroni",
  "etcd-server",
  "haproxy",
  "python3-etcd",
  "python3-psycopg2",
];

const programs = () => ["patroni", "etcd", "haproxy"].map((name) => findProgram(name));

export function isPatroniHere(): boolean {
  return findServer("postgres") !== undefined && programs().every((file) => file !== undefined);
}

interface Node {
  name: string;
  port: number;
  /** The port of Patroni's REST API. */
  api: number;
  dataDir: string;
}

/** Far more than a cluster takes to start or to fail over on a busy machine. */
const PATIENCE = 60_000;

/**
 * Two PostgreSQL servers under Patroni with a synchronous standby, etcd, and HAProxy, which sends connections to the
 * leader. All end with this process.
 */
export class PatroniCluster {
  readonly #folder: string = mkdtempSync(join(tmpdir(), "punctual-patroni-"));
  readonly #program: Program = findServer("postgres")!;
  readonly #keepers: ChildProcess[] = [];
  readonly #nodes: Node[] = [];
  #proxyPort = 0;

  static async start(): Promise<PatroniCluster> {
    const cluster = new PatroniCluster();
    try {
      await cluster.#start();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** The URL of HAProxy. */
  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.#proxyPort}/postgres`;
  }

  /** The URL that lists both servers. */
  get list(): string {
    const hosts = this.#nodes.map(({ port }) => `127.0.0.1:${port}`);
    return `postgres://postgres@${hosts.join()}/postgres`;
  }

  /** Kills the PostgreSQL server of the leader, with its helpers. */
  async killLeader(): Promise<void> {
    for (const pid of await this.#processesOfLeader()) tryKill(pid, "SIGKILL");
  }

  /** Stops the PostgreSQL server of the leader, with its helpers, for some time. */
  async freezeLeader(ms: number): Promise<void> {
    const pids = await this.#processesOfLeader();
    for (const pid of pids) tryKill(pid, "SIGSTOP");
    await sleep(ms);
    for (const pid of pids) tryKill(pid, "SIGCONT");
  }

  /** Waits until there are a leader and a synchronous standby: before that, another failure would lose data. */
  async untilReplicated(): Promise<void> {
    const isReplicated = async () => {
      const { leader, hasSynchronousStandby } = await this.#members();
      return leader !== null && hasSynchronousStandby;
    };
    await eventually("a synchronous standby", () => isReplicated().catch(() => false), 2 * PATIENCE);
  }

  async #processesOfLeader(): Promise<number[]> {
    const { leader } = await this.#members();
    const { dataDir } = this.#nodes.find(({ name }) => name === leader)!;
    const pid = Number(readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n")[0]);
    return [pid, ...childrenOf(pid)];
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#keepers.splice(0).map(async (keeper) => {
        if (keeper.exitCode !== null || keeper.signalCode !== null) return;
        keeper.ref();
        const exited = once(keeper, "exit");
        keeper.disconnect();
        await exited;
      }),
    );
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }

  async #start(): Promise<void> {
    const [patroni, etcd, haproxy] = programs() as [string, string, string];
    const [client, peer] = [await freePort(), await freePort()];
    const at = (port: number) => `http://127.0.0.1:${port}`;
    await this.#launch(etcd, [
      ...["--data-dir", join(this.#folder, "etcd"), "--name", "one", "--initial-cluster", `one=${at(peer)}`],
      ...["--listen-client-urls", at(client), "--advertise-client-urls", at(client)],
      ...["--listen-peer-urls", at(peer), "--initial-advertise-peer-urls", at(peer)],
    ]);
    await eventually("etcd to answer", () => answers(`${at(client)}/health`), PATIENCE);
    for (const name of ["one", "other"]) {
      const node = {
        name,
        port: await freePort(),
        api: await freePort(),
        dataDir: this.#dir(`${name}-data`),
      };
      this.#nodes.push(node);
      await this.#launch(patroni, [this.#configure(node, client)], true);
      // The second one copies the first.
      await eventually(`the server ${name} to run`, () => answers(`${at(node.api)}/health`), PATIENCE);
    }
    this.#proxyPort = await freePort();
    await this.#launch(haproxy, ["-f", this.#configureProxy(), "-db"]);
    await eventually("HAProxy to reach the leader", () => askVersion("postgres", this.url).catch(() => null));
    await this.untilReplicated();
  }

  #dir(name: string): string {
    const folder = join(this.#folder, name);
    mkdirSync(folder, { mode: 0o700 });
    this.#own(folder);
    return folder;
  }

  #own(...paths: string[]): void {
    const { runAs } = this.#program;
    if (runAs) for (const path of [this.#folder, ...paths]) chownSync(path, runAs.uid, runAs.gid);
  }

  #configure({ name, port, api, dataDir }: Node, etcd: number): string {
    const { file } = this.#program.serve({ dataDir, port, durable: false });
    const login = (username: string) => ({ username, password: "secret" });
    const config = {
      scope: "punctual",
      name,
      restapi: { listen: `127.0.0.1:${api}`, connect_address: `127.0.0.1:${api}` },
      etcd3: { hosts: `127.0.0.1:${etcd}` },
      bootstrap: {
        dcs: {
          ttl: 20,
          loop_wait: 1,
          retry_timeout: 3,
          synchronous_mode: true,
          // A server that was killed is replaced, not started again.
          primary_start_timeout: 0,
          master_start_timeout: 0,
          postgresql: {
            use_pg_rewind: true,
            parameters: { max_connections: 200, fsync: "off", wal_keep_size: "256MB" },
          },
        },
        initdb: [{ encoding: "UTF8" }, "data-checksums"],
        pg_hba: ["host replication all 127.0.0.0/8 trust", "host all all 127.0.0.0/8 trust"],
      },
      postgresql: {
        listen: `127.0.0.1:${port}`,
        connect_address: `127.0.0.1:${port}`,
        data_dir: dataDir,
        bin_dir: dirname(file),
        pgpass: join(this.#folder, `${name}.pgpass`),
        authentication: { superuser: login("postgres"), replication: login("repl"), rewind: login("rewind") },
        parameters: { unix_socket_directories: this.#dir(`${name}-socket`) },
      },
    };
    const path = join(this.#folder, `${name}.yml`);
    // JSON is YAML.
    writeFileSync(path, JSON.stringify(config));
    this.#own(path);
    return path;
  }

  #configureProxy(): string {
    const path = join(this.#folder, "haproxy.cfg");
    const servers = this.#nodes.map(
      ({ name, port, api }) => `  server ${name} 127.0.0.1:${port} check port ${api}`,
    );
    writeFileSync(
      path,
      `defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 2s
listen leader
  bind 127.0.0.1:${this.#proxyPort}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join("\n")}
`,
    );
    return path;
  }

  async #launch(file: string, args: string[], asServer = false): Promise<void> {
    const folder = mkdtempSync(join(this.#folder, "keeper-"));
    const keeper = fork(fileURLToPath(new URL("keeper.ts", import.meta.url)), [folder], {
      execArgv: [],
      detached: true,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#keepers.push(keeper);
    const { runAs } = this.#program;
    const launch: Launch = {
      file,
      args,
      log: join(this.#folder, `${this.#keepers.length}.log`),
      // Patroni stops its PostgreSQL.
      abort: "SIGTERM",
      ...(asServer && runAs && { runAs }),
    };
    keeper.send(launch);
    const [report] = (await once(keeper, "message")) as [Report];
    if (!("pid" in report)) throw new Error(`${file} does not start: ${JSON.stringify(report)}`);
    keeper.on("message", (end) => {
      if (existsSync(launch.log)) console.error(`${file} ended: ${JSON.stringify(end)}`);
    });
    keeper.unref();
    keeper.channel?.unref();
  }

  async #members(): Promise<{ leader: string | null; hasSynchronousStandby: boolean }> {
    const response = await fetch(`http://127.0.0.1:${this.#nodes[0]!.api}/cluster`);
    const { members } = (await response.json()) as { members: { name: string; role: string }[] };
    return {
      leader: members.find(({ role }) => role === "leader")?.name ?? null,
      hasSynchronousStandby: members.some(({ role }) => role === "sync_standby"),
    };
  }
}

/** Whether the address answers with success. */
async function answers(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => null);
  await response?.body?.cancel();
  return response?.ok ?? false;
}
