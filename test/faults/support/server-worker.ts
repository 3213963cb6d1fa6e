import { createPool } from "mysql2/promise";
import pg from "pg";
import { Punctual, PunctualError, type RunContext } from "../../../src/index.ts";
import type { ServerKind } from "../../servers/server.ts";
import { Journal, noteIn } from "../../support/journal.ts";
import { connect, type Direct, NOW } from "./direct.ts";

/** A process that works until it is stopped. It prints nothing; its actions are in the journal. */
export interface WorkerConfig {
  name: string;
  kind: ServerKind;
  url: string;
  /** The server without a proxy, to read its time. */
  direct: string;
  journal: string;
  lease?: number;
  parallel?: number;
  sleep?: string;
  grace?: string;
  /** How it works. Default: `forever()`. */
  way?: "forever" | "supervise" | "run";
  /** Whether Punctual gets a pool of the caller's instead of the URL. */
  pool?: boolean;
  /** Handlers note the server's time with their start. */
  tellsTime?: boolean;
  /** Records only the start of each run, if there are many. */
  brief?: boolean;
  /** Defines a job that ticks every second. */
  ticks?: boolean;
}

export interface Act {
  /** Duration of the first attempt in milliseconds. */
  ms?: number;
  /** Waits until the test releases all waiting handlers. */
  held?: boolean;
  /** The first attempt holds a transaction for this many milliseconds and rolls it back; the next one commits. */
  transaction?: number;
}

const config = JSON.parse(process.argv[2]!) as WorkerConfig;
const isChild = process.env.PUNCTUAL_CHILD !== undefined;
const note = noteIn(config.journal, isChild ? `child of ${config.name}` : config.name);
const log = (text: string) => note("log", { text });

function ownPool(): object {
  // Only Punctual listens to its errors: otherwise the loss of an idle connection ends the process.
  if (config.kind === "postgres") return new pg.Pool({ connectionString: config.url });
  return createPool({ uri: config.url, charset: "utf8mb4" });
}

const jobs = new Punctual(config.pool ? ownPool() : config.url, {
  ...(config.lease !== undefined && { defaults: { lease: config.lease } }),
  logger: { debug: () => {}, info: log, warn: log, error: log },
});

const { promise: released, resolve: letGo } = Promise.withResolvers<void>();
// The channel of a child belongs to its parent.
if (!isChild) {
  process.on("message", () => {
    note("let go");
    letGo();
  });
  process.on("disconnect", () => process.exit(1));
  // Only the worker may keep this process alive.
  process.channel?.unref();
}

let direct: Promise<Direct> | null = null;

async function serverTime(): Promise<string> {
  direct ??= connect(config.kind, config.direct);
  const [row] = await (await direct).sql<{ now: number }>(NOW[config.kind]);
  return String(row!.now);
}

async function handler(args: Act | null, run: RunContext): Promise<unknown> {
  const of = { run: run.id, attempt: run.attempt, crashes: run.crashes, job: run.name };
  const due = String(run.scheduledFor.getTime());
  note("start", { ...of, ...(config.tellsTime && { key: due, text: await serverTime() }) });
  run.signal.addEventListener("abort", () => {
    const { reason } = run.signal;
    note("abort", { ...of, ...(reason instanceof PunctualError && { code: reason.code }) });
  });
  const { transaction } = args ?? {};
  if (transaction !== undefined) {
    await run.transaction(async () => {
      note("transaction", of);
      if (run.attempt > 1) return;
      await new Promise((resolve) => setTimeout(resolve, transaction));
      note("rollback", of);
      throw new Error("rolled back");
    });
  }
  if (args?.held) await (isChild ? new Journal(config.journal).until({ what: "let go" }) : released);
  if (args?.ms && run.attempt === 1) await new Promise((resolve) => setTimeout(resolve, args.ms));
  if (!config.brief) note("end", of);
  return config.name;
}

jobs.schedule("work", handler).concurrency(0).retries(3);
if (config.ticks) jobs.schedule("beat", handler).concurrency(0).everySecond();

const events = config.brief
  ? (["run.lost"] as const)
  : (["run.completed", "run.failed", "run.retried", "run.released", "run.lost"] as const);
for (const event of isChild ? [] : events) {
  jobs.on(event, ({ id, name, attempt }) => note(event, { run: id, job: name, attempt }));
}
jobs.on("run.reaped", ({ id, name }) => note("run.reaped", { run: id, job: name }));
jobs.on("worker.started", () => note("worker.started"));
jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));

note("clock", { text: JSON.stringify({ wall: Date.now() }) });
const { parallel, sleep, grace } = config;
if (config.way === "run") {
  process.on("SIGTERM", () => void jobs.stop());
  await jobs.run({ grace, parallel });
} else if (config.way === "supervise") await jobs.supervise({ grace, parallel, sleep, workers: 2 });
else await jobs.forever({ grace, parallel, sleep });
await (await (direct as Promise<Direct> | null))?.end();
note("ended");
// The pool of the caller would keep the process alive while it has idle connections.
if (config.pool) process.exit(0);
