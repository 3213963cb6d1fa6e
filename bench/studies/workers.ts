// Many workers on one PostgreSQL: what they cost while they are idle, and while a run is dispatched now and then.
// Statements, connections, and the CPU of the server and of the processes of the workers. `--quick`: a few workers,
// for a moment.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { Punctual } from "../../src/index.ts";
import { isAvailable } from "../../test/servers/find.ts";
import { startServer, type TestServer } from "../../test/servers/start.ts";
import { median, quantile } from "../lib/statistics.ts";
import { cpuOf } from "../lib/usage.ts";

const quick = process.argv.includes("--quick");
const PROCESSES = quick ? 1 : 5;
/** Fleets, from small to large. `--workers 50,500` chooses others. */
const chosen = process.argv[process.argv.indexOf("--workers") + 1];
const WORKERS = process.argv.includes("--workers")
  ? chosen!.split(",").map(Number)
  : quick
    ? [10]
    : [5, 50, 500];
const SECONDS = quick ? 1 : 20;
/** Time in which a fleet has synced its jobs twice and closed the connections of its start. */
const SETTLING = quick ? 500 : 40_000;
const RUNS_A_SECOND = 10;
/** Workers of a process that start together. */
const TOGETHER = 10;
/** Connections of each worker besides the one that listens. */
const POOL = 2;

/** Messages of a process of workers to its parent. */
interface Message {
  started?: number;
  /** How long a run waited from its dispatch to its handler, in milliseconds. */
  waited?: number;
}

const [, , role, url, count] = process.argv;
if (role === "--fleet") await beFleet(url!, Number(count));
else if (isAvailable("postgres")) await measureAll();

async function beFleet(url: string, workers: number): Promise<void> {
  const all = Array.from({ length: workers }, () => new Punctual(url, { logger: false }));
  const tell = (message: Message) => process.send?.(message);
  const start = (jobs: Punctual) => {
    jobs.schedule<{ at: number }>("work", ({ at }) => tell({ waited: Date.now() - at })).concurrency(0);
    const started = new Promise((resolve) => jobs.on("worker.started", resolve));
    void jobs.forever({ signals: false });
    return started;
  };
  for (let n = 0; n < all.length; n += TOGETHER) await Promise.all(all.slice(n, n + TOGETHER).map(start));
  tell({ started: workers });
  await once(process, "message");
  await Promise.all(all.map((jobs) => jobs.stop()));
  process.disconnect();
}

async function measureAll(): Promise<void> {
  const args = ["max_connections=2000", "shared_preload_libraries=pg_stat_statements"];
  const server = await startServer("postgres", {
    durable: true,
    args: args.flatMap((setting) => ["-c", setting]),
  });
  console.log(`${server.version}, ${PROCESSES} ${PROCESSES === 1 ? "process" : "processes"}`);
  for (const workers of WORKERS) await measure(server, workers);
  await server.stop();
}

async function measure(server: TestServer, workers: number): Promise<void> {
  const admin = new pg.Client(server.url);
  await admin.connect();
  const name = `fleet_${workers}`;
  await admin.query(`create database ${name}`);
  await admin.query("create extension if not exists pg_stat_statements");
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  url.searchParams.set("pool", String(POOL));
  const jobs = new Punctual(url.href, { logger: false });
  await jobs.install();
  const waits: number[] = [];
  const fleet = await startFleet(url.href, workers, (wait) => waits.push(wait));
  await pause(SETTLING);
  await admin.query("select pg_stat_statements_reset()");
  const read = () => usage(admin, name, server, fleet);
  const idle = await during(read, workers, () => pause(SECONDS * 1000));
  const list = async () => {
    if (process.argv.includes("--statements")) console.table(await statements(admin, name));
    await admin.query("select pg_stat_statements_reset()");
  };
  await list();
  const light = await during(read, workers, () => dispatchSteadily(jobs));
  await list();
  console.log(`\n${workers} workers`);
  console.table({ idle, [`${RUNS_A_SECOND} runs a second`]: light });
  if (waits.length > 0)
    console.log(`dispatch to handler: median ${median(waits)} ms, 99 % ${quantile(waits, 0.99)} ms`);
  for (const child of fleet) {
    child.send("stop");
    await once(child, "exit");
  }
  await jobs.stop();
  await admin.end();
}

async function startFleet(
  url: string,
  workers: number,
  waited: (ms: number) => void,
): Promise<ChildProcess[]> {
  const program = fileURLToPath(import.meta.url);
  const fleet: ChildProcess[] = [];
  for (let n = 0; n < Math.min(PROCESSES, workers); n++) {
    const child = fork(program, ["--fleet", url, String(workers / PROCESSES)]);
    await new Promise<void>((resolve) =>
      child.on("message", (message: Message) => {
        if (message.started !== undefined) resolve();
        if (message.waited !== undefined) waited(message.waited);
      }),
    );
    fleet.push(child);
  }
  return fleet;
}

async function dispatchSteadily(jobs: Punctual): Promise<void> {
  const work = jobs.declare<{ at: number }>("work");
  for (let n = 0; n < SECONDS * RUNS_A_SECOND; n++) {
    await work.dispatch({ at: Date.now() });
    await pause(1000 / RUNS_A_SECOND);
  }
}

interface Usage {
  statements: number;
  server: number;
  workers: number;
  connections: number;
}

async function usage(
  admin: pg.Client,
  name: string,
  server: TestServer,
  fleet: ChildProcess[],
): Promise<Usage> {
  const one = async (text: string) => Number((await admin.query(text, [name])).rows[0].n);
  return {
    statements: await one(
      "select coalesce(sum(calls), 0) as n from pg_stat_statements s join pg_database d on d.oid = s.dbid where datname = $1",
    ),
    connections: await one("select count(*) as n from pg_stat_activity where datname = $1"),
    server: cpuOf(server.pid) ?? Number.NaN,
    workers: fleet.reduce((sum, { pid }) => sum + (cpuOf(pid!) ?? Number.NaN), 0),
  };
}

async function during(
  read: () => Promise<Usage>,
  workers: number,
  work: () => Promise<void>,
): Promise<Record<string, number>> {
  const before = await read();
  const since = performance.now();
  await work();
  const seconds = (performance.now() - since) / 1000;
  const after = await read();
  const rounded = (value: number) => Math.round(value * 100) / 100;
  const percent = (microseconds: number) => rounded(microseconds / seconds / 10_000);
  const rate = (after.statements - before.statements) / seconds;
  return {
    "statements/s": rounded(rate),
    "of each worker": rounded(rate / workers),
    "connections of each worker": rounded((after.connections - 1) / workers),
    "server CPU, % of a core": percent(after.server - before.server),
    "workers' CPU, % of a core": percent(after.workers - before.workers),
  };
}

/** The statements that were executed most often. */
async function statements(admin: pg.Client, name: string): Promise<object[]> {
  const text = `select calls, round(total_exec_time::numeric / calls, 3) as ms, left(regexp_replace(query, '\\s+', ' ', 'g'), 110) as query
    from pg_stat_statements s join pg_database d on d.oid = s.dbid where datname = $1 order by calls desc limit 25`;
  return (await admin.query(text, [name])).rows;
}
