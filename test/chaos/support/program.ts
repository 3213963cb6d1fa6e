import { setTimeout as pause } from "node:timers/promises";
import { Punctual, type RunContext, type SuperviseOptions } from "../../../src/index.ts";
import { type ToChild, toMessages } from "../../../src/supervisor/messages.ts";
import { Journal, noteIn } from "../../support/journal.ts";
import { defineLoad, type Task } from "./load.ts";

/** A program with child processes, each of which runs this program again. It records its actions in the journal. */
export interface ProgramConfig {
  name: string;
  url: string;
  journal: string;
  lease: number;
  options: SuperviseOptions;
  /** Number of children that die when they get runs, before any has started. */
  dieWhenGiven?: number;
}

/** Time between two turns of an event loop on a machine that is too busy for it, which may lose leases. */
const STALLED = 700;

const config = JSON.parse(process.argv[2]!) as ProgramConfig;
const child = process.env.PUNCTUAL_CHILD;
const note = noteIn(config.journal, child === undefined ? config.name : `child ${child}`);
const log = (text: string) => note("log", { text });

const jobs = new Punctual(config.url, {
  defaults: { lease: config.lease },
  logger: { debug: log, info: log, warn: log, error: log },
});

function begin(run: RunContext) {
  const { id, attempt, crashes, key, name, scheduledFor } = run;
  const of = { run: id, attempt, crashes, key, job: name, text: scheduledFor.toISOString() };
  note("start", of);
  return of;
}

async function handler({ ms }: Task, run: RunContext): Promise<void> {
  const of = begin(run);
  await pause(ms);
  note("end", of);
}

function poison(_: Task, run: RunContext): void {
  begin(run);
  note("dies");
  process.kill(process.pid, "SIGKILL");
}

defineLoad(jobs, handler, poison);

// Before the listener of supervise(): an assignment is recorded before it can start.
process.on("message", (received) => {
  const ids = toMessages<ToChild>(received).flatMap((one) => (one.type === "run" ? [one.run.id] : []));
  if (ids.length === 0) return;
  const dead = config.dieWhenGiven ? new Journal(config.journal).find({ what: "dies" }).length : 0;
  if (dead < (config.dieWhenGiven ?? 0)) {
    note("dies", { ids });
    process.kill(process.pid, "SIGKILL");
  }
  note("given", { ids });
});

if (child === undefined) {
  jobs.on("run.reaped", ({ id, name, state }) => note("run.reaped", { run: id, job: name, text: state }));
  jobs.on("run.lost", ({ id, name, attempt }) => note("run.lost", { run: id, job: name, attempt }));
  jobs.on("child.started", ({ pid }) => note("child.started", { ids: [pid] }));
  jobs.on("child.exited", ({ pid }) => note("child.exited", { ids: [pid] }));
  jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));
}
// Keeps the process alive, as a server or a timer of a program would.
let last = performance.now();
const alive = setInterval(() => {
  const now = performance.now();
  if (now - last > STALLED) note("stalled");
  last = now;
}, 50);
await jobs.supervise(config.options);
clearInterval(alive);
note("ended");
await jobs.stop();
