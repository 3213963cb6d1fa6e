// Many workers beside runs that a closed rate holds back: statements and transactions that they send, beside workers
// that are idle on an empty database of the same server at the same time. Then how late the first run starts after a
// rate has opened. `--databases mysql,sqlite` chooses; `--statements` lists the most frequent statements of each fleet;
// `--quick`: a few workers, for a moment, on SQLite unless others are chosen.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createConnection } from "mysql2/promise";
import pg from "pg";
import { Punctual } from "../../src/index.ts";
import { type ServerKind, serverKinds } from "../../test/servers/server.ts";
import { startServer, type TestServer } from "../../test/servers/start.ts";
import { isPresent, usingFile } from "../lib/databases.ts";
import { median } from "../lib/statistics.ts";

type Kind = ServerKind | "sqlite";

const quick = process.argv.includes("--quick");
const PROCESSES = quick ? 1 : 2;
const WORKERS = quick ? 4 : 20;
const BLOCKED = quick ? 500 : 100_000;
/** Workers have tasks once a minute. In a shorter time, chance would decide which fleet does them. */
const SECONDS = quick ? 1 : 60;
/** Time in which workers have synced their jobs twice and closed the connections of their start. */
const SETTLING = quick ? 200 : 40_000;
const OPENINGS = quick ? 3 : 20;
const DISPATCHED_AT_ONCE = 5000;

/** How often each statement was sent. */
type Counts = Record<string, number>;

/** A message of a process of workers to its parent. */
interface Message {
  isStarted?: true;
  /** When a run of "opening" started. */
  at?: number;
  counts?: Counts;
}

const FLEET = "--fleet";
async function beFleet(url: string, workers: number): Promise<void> {
  const counts = url.startsWith("sqlite:") ? countStatements() : {};
  const tell = (message: Message) => process.send?.(message);
  const all = Array.from({ length: workers }, () => new Punctual(url, { logger: false }));
  for (const jobs of all) {
    jobs.schedule("blocked", () => {}).rate(1, "1d");
    jobs.schedule("opening", () => tell({ at: Date.now() })).rate(1, "700ms");
    const started = new Promise((resolve) => jobs.on("worker.started", resolve));
    void jobs.forever({ signals: false });
    await started;
  }
  process.on("message", (message) => message === "count" && tell({ counts }));
  // Also if the parent has failed.
  process.on("disconnect", () => process.exit());
  tell({ isStarted: true });
  await new Promise<void>((resolve) => process.on("message", (message) => message === "stop" && resolve()));
  await Promise.all(all.map((jobs) => jobs.stop()));
  process.disconnect();
}

/** Counts the statements of all SQLite databases of this process. */
function countStatements(): Counts {
  const counts: Counts = {};
  const count = (text: string) => {
    counts[text] = (counts[text] ?? 0) + 1;
  };
  const { exec, prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (text) {
    count(text);
    exec.call(this, text);
  };
  DatabaseSync.prototype.prepare = function (text) {
    const statement = prepare.call(this, text);
    const counted =
      (call: (...params: SQLInputValue[]) => unknown) =>
      (...params: SQLInputValue[]) => {
        count(text);
        return call.apply(statement, params);
      };
    const { all, get, run } = statement;
    return Object.assign(statement, { all: counted(all), get: counted(get), run: counted(run) });
  };
  return counts;
}

async function measureAll(): Promise<void> {
  const chosen = process.argv[process.argv.indexOf("--databases") + 1]!.split(",");
  const kinds: Kind[] = ["sqlite", ...serverKinds];
  const isChosen = (kind: Kind) =>
    process.argv.includes("--databases") ? chosen.includes(kind) : !quick || kind === "sqlite";
  for (const kind of kinds.filter((kind) => isChosen(kind) && isPresent(kind))) {
    if (kind === "sqlite") {
      await usingFile((idle) => usingFile((blocked) => measure(kind, idle.url, blocked.url, countOfFleet)));
      continue;
    }
    const args = {
      postgres: ["-c", "max_connections=500", "-c", "shared_preload_libraries=pg_stat_statements"],
      mysql: ["--max-connections=500", "--performance-schema=on"],
      mariadb: ["--max-connections=500", "--performance-schema=on"],
    };
    const server = await startServer(kind, { durable: true, args: args[kind] });
    const [idle, blocked] = [await createDatabase(server, "idle"), await createDatabase(server, "blocked")];
    await measure(`${kind} ${server.version}`, idle, blocked, (_, url) => countOfServer(server, url));
    await server.stop();
  }
}

async function measure(
  name: string,
  idleUrl: string,
  blockedUrl: string,
  read: (fleet: Fleet, url: string) => Promise<Counts>,
): Promise<void> {
  const fleets = { idle: await Fleet.start(idleUrl), blocked: await Fleet.start(blockedUrl) };
  const jobs = new Punctual(blockedUrl, { logger: false });
  const blocked = jobs.declare<void>("blocked");
  for (let left = BLOCKED; left > 0; left -= DISPATCHED_AT_ONCE) {
    await blocked.dispatchMany(Array(Math.min(left, DISPATCHED_AT_ONCE)).fill(undefined));
  }
  await pause(SETTLING);
  const readAll = async () => ({
    idle: await read(fleets.idle, idleUrl),
    blocked: await read(fleets.blocked, blockedUrl),
  });
  const before = await readAll();
  await pause(SECONDS * 1000);
  const after = await readAll();
  const sent = {
    idle: difference(after.idle, before.idle),
    blocked: difference(after.blocked, before.blocked),
  };
  console.log(`\n${name}: ${WORKERS} workers, ${BLOCKED} blocked runs, ${SECONDS} s`);
  console.table({ idle: figures(sent.idle), blocked: figures(sent.blocked) });
  if (process.argv.includes("--statements")) {
    for (const fleet of ["idle", "blocked"] as const) {
      console.log(fleet);
      console.table(mostFrequent(sent[fleet]));
    }
  }
  const late = await latenessOf(jobs, fleets.blocked);
  console.log(`first start after an opening: median ${median(late)} ms late, worst ${Math.max(...late)} ms`);
  await jobs.stop();
  await Promise.all(Object.values(fleets).map((fleet) => fleet.stop()));
}

/** Returns how many milliseconds after each opening of a rate its first run started. */
async function latenessOf(jobs: Punctual, fleet: Fleet): Promise<number[]> {
  const late: number[] = [];
  let start = fleet.nextStart();
  await jobs.declare<void>("opening").dispatchMany(Array(OPENINGS + 1).fill(undefined));
  for (let n = 0; n < OPENINGS; n++) {
    await start;
    start = fleet.nextStart();
    const { opensAt } = (await jobs.rates()).find(({ job }) => job === "opening")!;
    const at = await start;
    // Null: this process was so slow that the rate had opened before it read the time.
    if (opensAt) late.push(at - opensAt.getTime());
  }
  return late;
}

/** Processes of workers on one database. */
class Fleet {
  readonly #children: ChildProcess[] = [];

  static async start(url: string): Promise<Fleet> {
    const jobs = new Punctual(url, { logger: false });
    await jobs.install();
    await jobs.stop();
    const fleet = new Fleet();
    for (let n = 0; n < PROCESSES; n++) {
      const args = [FLEET, url, String(WORKERS / PROCESSES)];
      const child = fork(fileURLToPath(import.meta.url), args);
      fleet.#children.push(child);
      await fleet.#next(child, "isStarted");
    }
    return fleet;
  }

  #next<Key extends keyof Message>(child: ChildProcess, key: Key): Promise<Message[Key]> {
    return new Promise((resolve) => {
      const listener = (message: Message) => {
        if (message[key] === undefined) return;
        child.off("message", listener);
        resolve(message[key]);
      };
      child.on("message", listener);
    });
  }

  async nextStart(): Promise<number> {
    return (await Promise.race(this.#children.map((child) => this.#next(child, "at"))))!;
  }

  async counts(): Promise<Counts> {
    const sum: Counts = {};
    for (const child of this.#children) {
      const answer = this.#next(child, "counts");
      child.send("count");
      for (const [text, count] of Object.entries((await answer)!)) sum[text] = (sum[text] ?? 0) + count;
    }
    return sum;
  }

  async stop(): Promise<void> {
    for (const child of this.#children) {
      child.send("stop");
      await once(child, "exit");
    }
  }
}

/** Statements of SQLite, without the polls for changes, which ask the file and not the database. */
async function countOfFleet(fleet: Fleet): Promise<Counts> {
  const counts = Object.entries(await fleet.counts());
  return Object.fromEntries(counts.filter(([text]) => !text.startsWith("pragma")));
}

async function countOfServer(server: TestServer, url: string): Promise<Counts> {
  const database = new URL(url).pathname.slice(1);
  const text =
    server.kind === "postgres"
      ? `select query, calls from pg_stat_statements s join pg_database d on d.oid = s.dbid where datname = '${database}'`
      : `select digest_text as query, count_star as calls from performance_schema.events_statements_summary_by_digest where schema_name = '${database}'`;
  const counts: Counts = {};
  for (const { query, calls } of await ask<{ query: string | null; calls: string }>(server, text)) {
    counts[query ?? "prepared"] = (counts[query ?? "prepared"] ?? 0) + Number(calls);
  }
  return counts;
}

async function createDatabase(server: TestServer, name: string): Promise<string> {
  await ask(server, `create database ${name}`);
  if (server.kind === "postgres") await ask(server, "create extension if not exists pg_stat_statements");
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  url.searchParams.set("pool", "2");
  return url.href;
}

async function ask<Row>(server: TestServer, text: string): Promise<Row[]> {
  if (server.kind === "postgres") {
    const client = new pg.Client(server.url);
    await client.connect();
    const { rows } = await client.query(text);
    await client.end();
    return rows;
  }
  const connection = await createConnection({ uri: server.url });
  const [rows] = await connection.query(text);
  await connection.end();
  return rows as Row[];
}

function difference(after: Counts, before: Counts): Counts {
  const counts = Object.entries(after).map(([text, count]) => [text, count - (before[text] ?? 0)] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function figures(counts: Counts): Record<string, number> {
  const sum = (is: RegExp) =>
    Object.entries(counts).reduce((total, [text, count]) => total + (is.test(text) ? count : 0), 0);
  const transactions = sum(/^(begin|start transaction)/i) / WORKERS;
  return {
    "statements/s": rounded(sum(/./) / SECONDS),
    "transactions of a worker in 10 s": rounded((transactions / SECONDS) * 10),
  };
}

function mostFrequent(counts: Counts): object[] {
  const ordered = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return ordered.slice(0, 30).map(([text, count]) => ({
    "a second": rounded(count / SECONDS),
    statement: text.replace(/\s+/g, " ").slice(0, 120),
  }));
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

if (process.argv[2] === FLEET) await beFleet(process.argv[3]!, Number(process.argv[4]));
else await measureAll();
