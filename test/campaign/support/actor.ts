// A process of a campaign: a worker, a supervisor, a producer, an operator, or one that collects. It notes in the
// journal what it requested, started and finished.
import { setTimeout as pause } from "node:timers/promises";
import { Punctual } from "../../../src/index.ts";
import { seeded } from "../../chaos/support/random.ts";
import { noteIn } from "../../support/journal.ts";
import { LONG_PAUSE } from "./executions.ts";
import { codeOf, defineLoad, type JobName, OPERATED, OPERATED_QUEUE, SHARES, type Task } from "./load.ts";

export type Role = "worker" | "supervisor" | "producer" | "operator" | "collector";

export interface ActorConfig {
  role: Role;
  name: string;
  url: string;
  journal: string;
  seed: number;
  /** Version of the code: the jobs of different versions differ in their settings. */
  version: number;
  /** The first number of this producer's requests. */
  from: number;
}

const config = JSON.parse(process.argv[2]!) as ActorConfig;
const isChild = process.env.PUNCTUAL_CHILD !== undefined;
const note = noteIn(config.journal, isChild ? `${config.name}, child` : config.name);
const random = seeded(config.seed);
const log = () => {};
const jobs = new Punctual(config.url, { logger: { debug: log, info: log, warn: log, error: log } });
const load = defineLoad(jobs, note, config.version);

if (!isChild) {
  // No process outlives a campaign that was killed.
  process.once("disconnect", () => process.exit(1));
  process.channel?.unref();
}

let isStopping = false;
process.on("SIGTERM", () => (isStopping = true));

const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));

function pickJob(): JobName {
  const sum = SHARES.reduce((total, [, share]) => total + share, 0);
  let left = random() * sum;
  for (const [name, share] of SHARES) {
    left -= share;
    if (left < 0) return name;
  }
  return "free";
}

function newTask(n: number, name: JobName): Task {
  const task: Task = { n, ms: between(1, 40), key: `key ${between(1, 4)}` };
  if (name === "free" && random() < 0.1) task.failures = between(1, 2);
  if (name === "free" && random() < 0.004) task.deaths = 1;
  if (name === "ranked") task.rank = between(1, 5);
  return task;
}

async function produce(): Promise<void> {
  for (let n = config.from; !isStopping; ) {
    const name = pickJob();
    const count = name === "ranked" || random() < 0.15 ? between(2, 40) : 1;
    const tasks = Array.from({ length: count }, () => newTask(n++, name));
    const numbers = tasks.map((task) => task.n);
    note("request", { job: name, ids: numbers });
    try {
      const ids = await dispatch(name, tasks);
      note("accepted", { job: name, key: tasks[0]!.key ?? null, ids, text: JSON.stringify(numbers) });
    } catch (error) {
      note("rejected", { job: name, ids: numbers, code: codeOf(error) });
    }
    await pause(between(5, 120));
  }
}

async function dispatch(name: JobName, tasks: Task[]): Promise<number[]> {
  const job = load[name];
  const [task] = tasks as [Task];
  if (name === "ranked") {
    // Dispatches of one turn are one insert: a claim sees all of them or none.
    const sent = tasks.map((one) => job.dispatch(one, { priority: one.rank! }));
    return (await Promise.all(sent.map(async (one) => one))).map(({ id }) => id);
  }
  if (name === "unique") return [(await job.dispatch(task, { unique: task.key! })).id];
  if (tasks.length > 1) return (await job.dispatchMany(tasks)).map(({ id }) => id);
  // The order of a lane is that of its due times.
  const isDelayed = name !== "serial" && random() < 0.2;
  return [(await job.dispatch(task, isDelayed ? { delay: random() * 3 } : {})).id];
}

async function operate(): Promise<void> {
  while (!isStopping) {
    const name = OPERATED[between(0, OPERATED.length - 1)]!;
    const act = between(1, 6);
    try {
      if (act === 1) {
        await jobs.pauseJob(name);
        await pause(between(100, 2000));
        await jobs.resumeJob(name);
      } else if (act === 2) {
        await jobs.pauseQueue(OPERATED_QUEUE);
        await pause(between(100, 2000));
        await jobs.resumeQueue(OPERATED_QUEUE);
      } else if (act === 3) {
        const { runs } = await jobs.runs({ job: name, limit: 20 });
        const id = runs[between(0, Math.max(0, runs.length - 1))]?.id;
        if (id !== undefined) {
          note("cancel", { run: id });
          await jobs.cancel(id);
        }
      } else if (act === 4) {
        const { runs } = await jobs.runs({ job: name, state: "failed", limit: 20 });
        for (const { id } of runs.slice(0, 3)) {
          note("retry", { run: id });
          await jobs.retry(id);
        }
      } else if (act === 5) await jobs.prune();
      else await jobs.status();
    } catch (error) {
      note("refused", { code: codeOf(error) });
    }
    await pause(between(200, 1500));
  }
}

async function collect(): Promise<void> {
  while (!isStopping) {
    await jobs.run().catch((error) => note("refused", { code: codeOf(error) }));
    await pause(between(500, 3000));
  }
}

for (const event of ["run.lost", "run.released", "run.reaped"] as const) {
  jobs.on(event, ({ id, name, attempt }) => note(event, { run: id, job: name, attempt }));
}
jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));
const figures = setInterval(() => {
  note("figures", { ids: [Math.round(process.memoryUsage().rss / 2 ** 20)] });
}, 5000);
figures.unref();

// A process that does not get the processor, or waits for a lock of SQLite, may lose its leases as a frozen one does.
let lastBeat = performance.now();
const beats = setInterval(() => {
  const lapse = performance.now() - lastBeat;
  lastBeat += lapse;
  if (lapse > LONG_PAUSE) note("lapse", { ids: [lapse] });
}, 100);
beats.unref();

// A signal that came before the worker listened for it.
jobs.on("worker.started", () => {
  if (isStopping) void jobs.stop();
});

note("began", { text: config.role });
if (isStopping) note("stopped early");
else if (config.role === "worker") await jobs.forever({ parallel: 6, signals: true });
else if (config.role === "supervisor") await jobs.supervise({ workers: 2, parallel: 3 });
else if (config.role === "producer") await produce();
else if (config.role === "operator") await operate();
else await collect();
note("ended");
await jobs.stop();
