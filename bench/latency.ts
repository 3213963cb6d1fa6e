// Latency of an idle worker: from the dispatch call in one process to the start of the handler in another one. Punctual
// beside graphile-worker, in turns, on one PostgreSQL whose commits wait for the disk. `--beside <folder>` adds another
// checkout of Punctual, `--url postgres://…` uses a running server, `--quick` sends a few.
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startServer } from "../test/servers/start.ts";
import { openSender, type Sender } from "./shared/latency-worker.ts";

const { values: options } = parseArgs({
  options: {
    beside: { type: "string" },
    url: { type: "string" },
    quick: { type: "boolean" },
    json: { type: "boolean" },
  },
});
const DISPATCHES = options.quick ? 20 : 300;
/** Bounds of the pause between two dispatches, in milliseconds. */
const GAP = [20, 60] as const;

const here = join(import.meta.dirname, "..");
const server = options.url ? null : await startServer("postgres", { durable: true });
const base = options.url ?? server!.url;
const contenders = [{ name: "punctual", source: here }];
if (options.beside) contenders.push({ name: "punctual, beside", source: options.beside });
if (existsSync(join(here, "bench/peers/node_modules/graphile-worker"))) {
  contenders.push({ name: "graphile-worker", source: "graphile-worker" });
}

async function fresh(index: number): Promise<string> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: base });
  await client.connect();
  const name = `latency_${process.pid}_${index}`;
  await client.query(`create database ${name}`);
  await client.end();
  const url = new URL(base);
  url.pathname = name;
  return url.href;
}

interface Contender {
  name: string;
  sender: Sender;
  samples: number[];
  received: (ms: number) => void;
  stop(): void;
}

async function start(name: string, source: string, index: number): Promise<Contender> {
  const url = await fresh(index);
  const sender = await openSender(source, url);
  const child = fork(join(import.meta.dirname, "shared/latency-worker.ts"), [source, url]);
  const contender: Contender = {
    name,
    sender,
    samples: [],
    received: () => {},
    stop: () => child.kill("SIGKILL"),
  };
  await once(child, "message");
  child.on("message", (ms) => contender.received(ms as number));
  return contender;
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function measure(contender: Contender): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  contender.received = resolve;
  await contender.sender.send(Number(process.hrtime.bigint()) / 1e6);
  return promise;
}

/** Dispatches before the first sample. */
const WARM_UP = 20;
const started: Contender[] = [];
for (const [index, { name, source }] of contenders.entries()) started.push(await start(name, source, index));
for (let sent = 0; sent < DISPATCHES + WARM_UP; sent++) {
  for (const contender of started) {
    await pause(GAP[0] + Math.random() * (GAP[1] - GAP[0]));
    const ms = await measure(contender);
    if (sent >= WARM_UP) contender.samples.push(ms);
  }
}
const table: Record<string, Record<string, number>> = {};
for (const { name, samples, stop, sender } of started) {
  stop();
  await sender.end();
  samples.sort((a, b) => a - b);
  const at = (part: number) => Number(samples[Math.floor(part * (samples.length - 1))]!.toFixed(1));
  table[name] = { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
console.table(table);
await server?.stop();
process.exit(0);
