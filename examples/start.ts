// `npm start`: a worker on a SQLite file that shows what it does, until Ctrl-C.
import { styleText } from "node:util";
import { ensurePage } from "../scripts/build-page.ts";
import { startDashboard } from "../src/dashboard/index.ts";
import { PunctualError } from "../src/index.ts";
import { jobs, turns } from "./start-jobs.ts";

type Style = Parameters<typeof styleText>[0];

const paint = (style: Style, text: string) => styleText(style, text, { stream: process.stdout });
const clockTime = () => new Date().toTimeString().slice(0, 8);
const toSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const plural = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;

// -- one line for each thing that happens -----------------------------------------------------------------------------

interface Line {
  style: Style;
  what: string;
  detail?: string | null;
  /** Milliseconds. */
  took?: number;
  time?: string;
}

function show(
  run: { id: number; name: string },
  { style, what, detail, took, time = clockTime() }: Line,
): void {
  const columns = [
    paint("dim", time),
    `#${run.id}`.padStart(6),
    run.name.padEnd(10),
    paint(style, what.padEnd(10)),
    (took === undefined ? "" : took < 1000 ? `${took} ms` : toSeconds(took)).padStart(7),
  ];
  console.log([...columns, detail].join("  ").trimEnd());
}

const counts = { completed: 0, retried: 0, failed: 0, skipped: 0 };
const waiting = new Map<number, { name: string }>();
const running = new Map<number, { name: string }>();
const ofJob = (runs: Map<number, { name: string }>, name: string) =>
  [...runs.values()].filter((run) => run.name === name).length;

jobs.on("run.dispatched", (run) => {
  waiting.set(run.id, run);
  const delay = run.runAt.getTime() - Date.now();
  const due = delay > 0 ? `due in ${toSeconds(delay)}` : null;
  show(run, { style: "dim", what: "dispatched", detail: due });
});

jobs.on("schedule.ticked", ({ job, runs, missed }) => {
  const detail = missed > 0 ? `${plural(missed, "tick")} missed before it` : null;
  for (const { id } of runs) {
    const run = { id, name: job };
    waiting.set(id, run);
    show(run, { style: "magenta", what: "ticked", detail });
  }
});

jobs.on("run.started", (run) => {
  waiting.delete(run.id);
  running.set(run.id, run);
  const [at, rest] = [ofJob(running, run.name), ofJob(waiting, run.name)];
  const others = at + rest > 1 ? `${at} running, ${rest} waiting` : null;
  const line = { style: "cyan", what: "started", detail: others, time: clockTime() } as const;
  // Most are done before it is worth a line.
  setTimeout(() => running.get(run.id) === run && show(run, line), 100).unref();
});

jobs.on("run.logged", (run) => show(run, { style: "dim", what: "logged", detail: run.message }));

jobs.on("run.completed", (run) => {
  counts.completed++;
  running.delete(run.id);
  const attempt = run.attempt > 1 ? `, on attempt ${run.attempt}` : "";
  const detail = `${run.result ?? ""}${attempt}`;
  show(run, { style: "green", what: "completed", detail, took: run.duration });
});

jobs.on("run.retried", (run) => {
  counts.retried++;
  running.delete(run.id);
  waiting.set(run.id, run);
  const detail = `${run.error.message}; attempt ${run.attempt + 1} in ${toSeconds(run.delay)}`;
  show(run, { style: "yellow", what: "retried", detail, took: run.duration });
});

jobs.on("run.failed", (run) => {
  counts.failed++;
  running.delete(run.id);
  show(run, { style: "red", what: "failed", detail: run.error.message, took: run.duration });
});

jobs.on("run.skipped", (run) => {
  counts.skipped++;
  running.delete(run.id);
  show(run, { style: "dim", what: "skipped", detail: run.reason });
});

jobs.on("run.released", (run) => {
  running.delete(run.id);
  show(run, { style: "dim", what: "released", detail: "given back, for the next start", took: run.duration });
});

jobs.on("run.reaped", (run) =>
  show(run, { style: "yellow", what: "taken back", detail: "its worker is gone" }),
);

jobs.on("error", ({ during, error }) => console.log(paint("red", `${during}: ${String(error)}`)));

// -- from the first line to the last ----------------------------------------------------------------------------------

async function waitingRuns(): Promise<number> {
  const { queues } = await jobs.status();
  return queues.reduce((sum, { ready, scheduled }) => sum + ready + scheduled, 0);
}

/** Serves the dashboard at its usual port, or at any other if a second `npm start` has that one. */
async function serveDashboard(): Promise<string> {
  await ensurePage();
  const served = await startDashboard(jobs).catch((error) => {
    if (error instanceof PunctualError && error.code === "CANNOT_LISTEN")
      return startDashboard(jobs, { port: 0 });
    throw error;
  });
  return served.signInUrl;
}

async function work(): Promise<void> {
  const left = await waitingRuns();
  const address = await serveDashboard();
  console.log(
    `${paint("bold", "punctual")}  A worker on ./punctual.db. Its jobs are in examples/start-jobs.ts:`,
  );
  console.log("          change one and start again. A second `npm start` shares the work.");
  console.log("          Ctrl-C ends it.\n");
  console.log(`${paint("bold", "dashboard")} ${address}\n`);
  if (left > 0) console.log(paint("dim", `${plural(left, "run")} left from last time\n`));
  console.log(paint("dim", "time         run  job         what           took"));

  const started = Date.now();
  let turn = 0;
  const dispatching = setInterval(() => turns[turn++ % turns.length]?.(), 1000);
  jobs.on("worker.stopping", ({ running: count }) => {
    clearInterval(dispatching);
    const busy = `finishing ${plural(count, "run")}, taking no more. Once more aborts.`;
    console.log(`\nStopping: ${count > 0 ? busy : "nothing is under way."}`);
  });

  await jobs.forever();
  clearInterval(dispatching);
  const rest = await waitingRuns();
  const sums = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  console.log(`\nDrained. In ${Math.round((Date.now() - started) / 1000)} s: ${sums.join(", ")}.`);
  if (rest > 0) console.log(`${plural(rest, "run")} waiting in ./punctual.db for the next start.`);
}

process.stdout.on("error", () => process.exit(0));
try {
  await work();
  await jobs.stop();
} catch (error) {
  console.error(error instanceof PunctualError ? error.message : error);
  process.exitCode = 1;
}
