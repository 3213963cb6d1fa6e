import { DatabaseSync } from "node:sqlite";
import { Punctual, PunctualError, type RunContext } from "../../../src/index.ts";
import { Journal, noteIn } from "../../support/journal.ts";
import { perform } from "./act.ts";
import { type Act, defineJobs, type JobName } from "./process-jobs.ts";

/** A process that works until it is stopped. It prints nothing; its actions are in the journal. */
export interface WorkerConfig {
  name: string;
  database: string;
  journal: string;
  lease: number;
  parallel?: number;
  grace?: string;
  sleep?: string;
  /** Jobs whose handlers wait, after their start is recorded, until the test releases them. */
  holds?: JobName[];
  /** Actions of a job's handlers in this process, instead of those in their arguments. */
  acts?: Partial<Record<JobName, Act>>;
  /** Action of the first handler that has prefetched runs behind it. */
  whenAhead?: "kill" | "block" | "terminate" | "hold";
  /** Interval at which a timer records that the event loop runs, in milliseconds. */
  ticks?: number;
}

export interface Command {
  letGo: JobName;
}

const config = JSON.parse(process.argv[2]!) as WorkerConfig;
const note = noteIn(config.journal, config.name);
const journal = new Journal(config.journal);
const log = (text: string) => note("log", { text });

const jobs = new Punctual(`sqlite:${config.database}`, {
  defaults: { lease: config.lease },
  logger: { debug: log, info: log, warn: log, error: log },
});

const letGo = new Map<string, () => void>();
const gone = new Map<string, Promise<void>>();
for (const job of config.holds ?? []) {
  const { promise, resolve } = Promise.withResolvers<void>();
  gone.set(job, promise);
  letGo.set(job, resolve);
}
process.on("message", (command: Command) => letGo.get(command.letGo)?.());
process.on("disconnect", () => process.exit(1));
// Only the worker may keep this process alive.
process.channel?.unref();

const started = new Set<number>();

async function handler(args: Act, run: RunContext): Promise<unknown> {
  const { id, attempt, crashes, key, name } = run;
  const of = { run: id, attempt, crashes, key, job: name };
  started.add(id);
  note("start", of);
  try {
    run.signal.addEventListener("abort", () => {
      const { reason } = run.signal;
      note("abort", { ...of, ...(reason instanceof PunctualError && { code: reason.code }) });
    });
    if (config.whenAhead) await meetAhead(id);
    await gone.get(name);
    await perform(config.acts?.[name as JobName] ?? args, run, journal);
  } finally {
    note("end", of);
  }
  return { by: config.name, attempt };
}

const database = config.whenAhead ? new DatabaseSync(config.database, { readOnly: true }) : null;

/** Runs of this process that are claimed and have not started. */
function ahead(id: number): number[] {
  const rows = database!
    .prepare(
      `select id from punctual_runs where state = 2 and started_at is null
          and locked_by = (select locked_by from punctual_runs where id = ?)`,
    )
    .all(id) as { id: number }[];
  return rows.map((row) => row.id).filter((one) => !started.has(one));
}

let met = false;

async function meetAhead(id: number): Promise<void> {
  if (met) return;
  const ids = ahead(id);
  if (ids.length === 0) return;
  met = true;
  note("ahead", { run: id, ids });
  if (config.whenAhead === "kill") process.kill(process.pid, "SIGKILL");
  if (config.whenAhead === "hold") await new Promise(() => {});
  if (config.whenAhead === "block") {
    for (const end = Date.now() + 3 * config.lease * 1000; Date.now() < end; );
  }
  if (config.whenAhead === "terminate") {
    const heard = new Promise<void>((resolve) => process.once("SIGTERM", () => resolve()));
    process.kill(process.pid, "SIGTERM");
    await heard;
  }
}

defineJobs(jobs, handler);

for (const event of ["run.completed", "run.failed", "run.retried", "run.released", "run.lost"] as const) {
  jobs.on(event, ({ id, name, attempt }) => note(event, { run: id, job: name, attempt }));
}
jobs.on("run.reaped", ({ id, name }) => note("run.reaped", { run: id, job: name }));
jobs.on("worker.started", () => note("worker.started"));
jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));
if (config.ticks) setInterval(() => note("tick"), config.ticks).unref();

const { parallel, grace, sleep } = config;
const working = jobs.forever({
  ...(parallel !== undefined && { parallel }),
  ...(grace !== undefined && { grace }),
  ...(sleep !== undefined && { sleep }),
});
note("starting");
await working;
note("ended");
