// The process of one contestant: opens its system, then does what the benchmark asks, one request after the other.
// Arguments: the module of the system, the URL of the database, the settings as JSON.
import { setTimeout as sleep } from "node:timers/promises";
import { type OpenSystem, type Payload, payload, type Settings } from "./system.ts";

const [module, url, settings] = process.argv.slice(2) as [string, string, string];
const { open } = (await import(module)) as { open: OpenSystem };
const system = await open(url, JSON.parse(settings) as Settings);

const now = () => process.hrtime.bigint();
const microseconds = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

let delays: number[] = [];

export interface Drained {
  /** From the start of the worker to the start of the last handler. */
  rate: number;
  /** CPU of the worker's process in microseconds a run, without the first third, in which it grows warm. */
  cpu: number;
  ran: number;
}

/** Drains `count` runs, or as many as start within `seconds`. */
async function drain({ count, seconds }: { count: number; seconds: number }): Promise<Drained> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const warm = Math.floor(count / 3);
  let ran = 0;
  let start = { ran: 0, at: 0, cpu: 0 };
  let end = start;
  const mark = () => ({ ran, at: performance.now(), cpu: microseconds() });
  const since = performance.now();
  await system.work(() => {
    ran++;
    if (ran === 1 || ran === warm) start = mark();
    if (ran !== count) return;
    end = mark();
    resolve();
  });
  const timer = setTimeout(() => {
    end = mark();
    resolve();
  }, seconds * 1000);
  await promise;
  clearTimeout(timer);
  return {
    rate: (end.ran / (end.at - since)) * 1000,
    cpu: (end.cpu - start.cpu) / Math.max(1, end.ran - start.ran),
    ran: end.ran,
  };
}

/** Starts a worker that notes how long each run took from its dispatch to its handler. */
async function listen(): Promise<void> {
  await system.work(({ at }: Payload) => {
    if (at) delays.push(Number(now() - BigInt(at)) / 1e6);
  });
}

/** Dispatches `count` runs with random pauses, so that the worker is idle before each and no poll keeps step. */
async function send({ count, pause }: { count: number; pause: number }): Promise<void> {
  for (let sent = 0; sent < count; sent++) {
    await sleep(pause * (0.5 + Math.random()));
    await system.dispatch({ ...payload, at: String(now()) });
  }
}

/** Milliseconds from dispatch to handler, when `count` runs have come or `patience` milliseconds have passed. */
async function collect({ count, patience }: { count: number; patience: number }): Promise<number[]> {
  const end = performance.now() + patience;
  while (delays.length < count && performance.now() < end) await sleep(50);
  const collected = delays;
  delays = [];
  return collected;
}

async function oneByOne({ count }: { count: number }): Promise<number> {
  for (let sent = 0; sent < 20; sent++) await system.dispatch(payload);
  const since = performance.now();
  for (let sent = 0; sent < count; sent++) await system.dispatch(payload);
  return (count / (performance.now() - since)) * 1000;
}

/** CPU of this process while it does what it does by itself, in percent of a core. */
async function idle({ seconds }: { seconds: number }): Promise<number> {
  const cpu = microseconds();
  const since = performance.now();
  await sleep(seconds * 1000);
  return (microseconds() - cpu) / (performance.now() - since) / 10;
}

export interface Requests {
  install(): Promise<void>;
  fill(request: { count: number }): Promise<void>;
  drain(request: { count: number; seconds: number }): Promise<Drained>;
  listen(): Promise<void>;
  send(request: { count: number; pause: number }): Promise<void>;
  collect(request: { count: number; patience: number }): Promise<number[]>;
  oneByOne(request: { count: number }): Promise<number>;
  idle(request: { seconds: number }): Promise<number>;
}

const requests: Requests = {
  install: () => system.install(),
  fill: ({ count }) => system.fill(count),
  drain,
  listen,
  send,
  collect,
  oneByOne,
  idle,
};

process.on("message", async ({ ask, value }: { ask: keyof Requests; value: never }) => {
  try {
    process.send!({ answer: (await requests[ask](value)) ?? null });
  } catch (error) {
    process.send!({ error: (error as Error).stack ?? String(error) });
  }
});
process.on("disconnect", () => process.exit());
process.send!({ answer: "ready" });
