// Punctual beside its peers on one PostgreSQL, whose commits wait for the disk: no-op handlers, 100 bytes of payload, one
// process. Rounds are interleaved and medians taken; trust the ratios, not the figures. `--quick`: one short round. The
// peers are installed into bench/peers when it is first run.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Punctual } from "../src/index.ts";
import { isAvailable } from "../test/servers/find.ts";
import { startServer } from "../test/servers/start.ts";
import * as graphile from "./peers/graphile-worker.ts";
import * as boss from "./peers/pg-boss.ts";
import { dispatchOneByOne, drain } from "./shared/drain.ts";
import { type Case, inRounds, type Measured, show } from "./shared/rounds.ts";

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 1 : 3;
const RUNS = quick ? 2000 : 50_000;
const FEW = quick ? 100 : 2000;

function installPeers(): void {
  const folder = join(import.meta.dirname, "peers");
  if (existsSync(join(folder, "node_modules"))) return;
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const args = ["install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund"];
  const { status } = spawnSync(npm, args, {
    cwd: folder,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error("The peers could not be installed; see npm's messages above.");
}

if (!isAvailable("postgres")) {
  console.log("PostgreSQL is not here: nothing to compare on.");
  process.exit(0);
}
installPeers();
const server = await startServer("postgres", { durable: true });
let databases = 0;

/** A database of its own for each measurement. */
async function fresh(): Promise<string> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const name = `bench_${++databases}`;
  await client.query(`create database ${name}`);
  await client.end();
  const url = new URL(server.url);
  url.pathname = name;
  return url.href;
}

const punctual = (measure: (jobs: Punctual) => Promise<Measured>) => async () => {
  const jobs = new Punctual(await fresh(), { logger: false });
  await jobs.install();
  return measure(jobs);
};

const TUNED = "graphile-worker, tuned";
const ONE_BY_ONE = "one by one: graphile-worker, 1 at once";
const cases: Case[] = [
  [TUNED, async () => graphile.drain(await fresh(), RUNS, 10, graphile.tuned)],
  ["graphile-worker, as it comes, 10 at once", async () => graphile.drain(await fresh(), FEW, 10)],
  ["pg-boss, batches of 500", async () => boss.drain(await fresh(), RUNS)],
  ["punctual, with history", punctual((jobs) => drain(jobs, RUNS, 0, true))],
  ["punctual, keep(0)", punctual((jobs) => drain(jobs, RUNS, 0, false))],
  [ONE_BY_ONE, async () => graphile.drain(await fresh(), FEW, 1)],
  ["one by one: punctual, concurrency(1)", punctual((jobs) => drain(jobs, FEW, 1, true))],
  ["dispatch awaited: graphile-worker", async () => graphile.dispatchOneByOne(await fresh(), FEW)],
  ["dispatch awaited: pg-boss", async () => boss.dispatchOneByOne(await fresh(), FEW)],
  ["dispatch awaited: punctual", punctual((jobs) => dispatchOneByOne(jobs, FEW))],
];
const baseOf = (name: string) => (name.startsWith("one by one") ? ONE_BY_ONE : TUNED);
console.log(`PostgreSQL ${server.version}`);
show(await inRounds(ROUNDS, cases, baseOf, "of graphile"));
await server.stop();
