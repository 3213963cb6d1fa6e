import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import pg from "pg";
import { isAvailable } from "../../test/servers/find.ts";
import { findProgram, isRoot } from "../../test/servers/programs.ts";
import { aptInstall, provision } from "../../test/servers/provision.ts";
import { label, type ServerKind, serverKinds } from "../../test/servers/server.ts";
import { startServer, type TestServer } from "../../test/servers/start.ts";
import { findRedis, type RedisServer, startRedis } from "./redis.ts";

export type DatabaseKind = ServerKind | "sqlite" | "redis";

/** An empty database for one measurement. */
export interface Database {
  url: string;
  /** The process of its server. */
  pid?: number;
}

/** Servers of their own whose commits wait for the disk, started on first use; each measurement gets a database. */
export class Databases {
  readonly #servers = new Map<ServerKind, Promise<TestServer>>();
  #redis: Promise<RedisServer> | undefined;
  #count = 0;

  /** Calls `work` with an empty database, which is removed afterwards. */
  async using<Result>(kind: DatabaseKind, work: (database: Database) => Promise<Result>): Promise<Result> {
    if (kind === "sqlite") return usingFile(work);
    if (kind === "redis") return this.#usingRedis(work);
    const server = await this.server(kind);
    const name = `bench_${++this.#count}`;
    // Writes that the measurement before has left would slow this one.
    if (kind === "postgres") await query(server, "checkpoint");
    await query(server, `create database ${name}`);
    const url = new URL(server.url);
    url.pathname = name;
    try {
      return await work({ url: url.href, pid: server.pid });
    } finally {
      await query(server, `drop database ${name}${kind === "postgres" ? " with (force)" : ""}`);
    }
  }

  /** How often the database was called: transactions on PostgreSQL, statements or commands elsewhere. */
  async calls(kind: DatabaseKind, url: string): Promise<number | undefined> {
    if (kind === "sqlite") return undefined;
    if (kind === "redis") return (await this.#redis)!.calls();
    const server = await this.server(kind);
    if (kind !== "postgres") {
      const [{ Value }] = (await query(server, "show global status like 'Questions'")) as [{ Value: string }];
      return Number(Value);
    }
    const name = new URL(url).pathname.slice(1);
    const sql = `select xact_commit + xact_rollback as calls from pg_stat_database where datname = '${name}'`;
    const [{ calls }] = (await query(server, sql)) as [{ calls: string }];
    return Number(calls);
  }

  /** Names and versions of what was started. */
  async describe(): Promise<string[]> {
    const servers = await Promise.all(this.#servers.values());
    const redis = await this.#redis;
    return [
      ...servers.map(({ kind, version }) => `${label[kind]} ${version}`),
      ...(redis ? [`Redis ${redis.version}`] : []),
    ];
  }

  async stop(): Promise<void> {
    for (const server of this.#servers.values()) await (await server).stop();
    await (await this.#redis)?.stop();
    this.#servers.clear();
    this.#redis = undefined;
  }

  server(kind: ServerKind): Promise<TestServer> {
    const known = this.#servers.get(kind);
    if (known) return known;
    const args = kind === "postgres" ? ["-c", "shared_buffers=128MB", "-c", "max_wal_size=4GB"] : [];
    const started = startServer(kind, { durable: true, args });
    this.#servers.set(kind, started);
    return started;
  }

  async #usingRedis<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    this.#redis ??= startRedis();
    const redis = await this.#redis;
    await redis.flush();
    return work({ url: redis.url, pid: redis.pid });
  }
}

/** Installs missing servers where that is possible: on Debian, as root. */
export function provisionAll(): void {
  for (const kind of serverKinds) attempt(() => provision(kind));
  if (!findRedis() && isRoot() && findProgram("apt-get")) attempt(() => aptInstall("redis-server"));
}

function attempt(install: () => void): void {
  try {
    install();
  } catch (error) {
    console.error(`${(error as Error).message}\nIt is left out.`);
  }
}

/** Whether its server is installed here. */
export function isPresent(kind: DatabaseKind): boolean {
  if (kind === "sqlite") return true;
  return kind === "redis" ? findRedis() !== undefined : isAvailable(kind);
}

export async function usingFile<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "punctual-bench-"));
  try {
    return await work({ url: `sqlite:${join(folder, "jobs.db")}` });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function query(server: TestServer, sql: string): Promise<unknown> {
  if (server.kind === "postgres") {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    const { rows } = await client.query(sql);
    await client.end();
    return rows;
  }
  const connection = await createConnection({ uri: server.url });
  const [rows] = await connection.query(sql);
  await connection.end();
  return rows;
}
