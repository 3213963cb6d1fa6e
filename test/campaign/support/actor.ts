// A process of a campaign: a worker, a supervisor, a producer, an operator, or one that collects. It notes in the
// journal what it requested, started and finished.
import { setTimeout as pause } from "node:timers/promises";
import { Punctual } from "../../../src/index.ts";
import { seeded } from "../../chaos/support/random.ts";
import { noteIn } from "../../support/journal.ts";
import { LONG_PAUSE } from "./executions.ts";
import {
  codeOf,
  defineLoad,
  defineVeteran,
  type JobName,
  KEYS,
  OPERATED,
  OPERATED_QUEUE,
  SHARES,
  type Task,
} from "./load.ts";

/** A veteran is a worker that no fault and no deploy replaces: its memory can be judged over the whole campaign. */
export type Role = "worker" | "veteran" | "supervisor" | "producer" | "operator" | "collector";

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
  /** Fraction of the runs of `free` that take seconds. */
  long: number;
}

const config = JSON.parse(process.argv[2]!) as ActorConfig;
const isChild = process.env.PUNCTUAL_CHILD !== undefined;
const note = noteIn(config.journal, isChild ? `${config.name}, child` : config.name);
const random = seeded(config.seed);
const log = () => {};
const jobs = new Punctual(config.url, { logger: { debug: log, info: log, warn: log, error: log } });
const isVeteran = config.role === "veteran";
if (isVeteran) defineVeteran(jobs, note);
const load = isVeteran ? null : defineLoad(jobs, note, config.version);

if (!isChild) {
  // No process outlives a campaign that was killed.
  process.once("disconnect", () => process.exit(1));
  process.channel?.unref();
}

let isStopping = false;
process.on("SIGTERM", () => (isStopping = true));

const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));

function pickJob(): JobName | "batch" {
  const sum = SHARES.reduce((total, [, share]) => total + share, 0);
  let left = random() * sum;
  for (const [name, share] of SHARES) {
    left -= share;
    if (left < 0) return name;
  }
  return "free";
}

function newTask(n: number, name: JobName): Task {
  const task: Task = { n, ms: between(1, 40), key: `key ${between(1, KEYS)}` };
  if (name === "free" && random() < 0.1) task.failures = between(1, 2);
  if (name === "free" && random() < 0.004) task.deaths = 1;
  if (name === "free" && random() < config.long) task.ms = between(2000, 6000);
  // Long enough that another request for the key, or the end of another member, comes meanwhile.
  if (name === "unique" || name === "member") task.ms = between(1, 600);
  if (name === "ranked") task.rank = between(1, 5);
  if (name === "priced") Object.assign(task, { cost: between(1, 3), ms: between(1, 150) });
  if (name === "member" && random() < 0.08) task.failures = between(1, 2);
  return task;
}

async function produce(): Promise<void> {
  for (let n = config.from; !isStopping; ) {
    const name = pickJob();
    if (name === "batch") {
      n = await produceBatch(n);
      await pause(between(5, 120));
      continue;
    }
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

/** Makes a batch, and returns the number of the next request. */
async function produceBatch(from: number): Promise<number> {
  let n = from;
  const tasks = Array.from({ length: between(1, 12) }, () => newTask(n++, "member"));
  const ids = tasks.map((task) => task.n);
  const callback = () => load!.callback.draft().args({ n: n++, ms: 1 });
  const batch = jobs.batch("campaign").onSuccess(callback()).onFailure(callback()).onFinish(callback());
  if (random() < 0.3) batch.failures("cancel");
  // The rest is added later.
  const early = random() < 0.3 ? between(0, tasks.length) : null;
  note("request", { job: "member", ids });
  try {
    const added = batch.add(load!.member.many(tasks.slice(0, early ?? tasks.length)));
    const { id } = await (early === null ? added : added.open());
    if (early !== null) {
      await jobs.batch(id).add(load!.member.many(tasks.slice(early)));
      await jobs.batch(id).seal();
    }
    note("batched", { ids: [id], text: JSON.stringify(ids) });
  } catch (error) {
    note("rejected", { job: "member", ids, code: codeOf(error) });
  }
  return n;
}

async function dispatch(name: JobName, tasks: Task[]): Promise<number[]> {
  const job = load![name];
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
    const act = between(1, 7);
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
      } else if (act === 5) {
        const { batches } = await jobs.batches({ unfinished: true, limit: 20 });
        const id = batches[between(0, Math.max(0, batches.length - 1))]?.id;
        if (id !== undefined) {
          note("cancel batch", { ids: [id] });
          await jobs.cancelBatch(id);
        }
      } else if (act === 6) await jobs.prune();
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

for (const event of ["run.released", "run.reaped"] as const) {
  jobs.on(event, ({ id, name, attempt }) => note(event, { run: id, job: name, attempt }));
}
jobs.on("run.lost", ({ id, name, attempt, reason }) =>
  note("run.lost", { run: id, job: name, attempt, text: reason }),
);
jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));
/** Notes the memory of this process in MiB, and its processor time in milliseconds. */
function noteFigures(): void {
  const { user, system } = process.cpuUsage();
  note("figures", {
    ids: [Math.round(process.memoryUsage.rss() / 2 ** 20), Math.round((user + system) / 1000)],
  });
}
const figures = setInterval(noteFigures, 5000);
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
else if (config.role === "worker" || isVeteran) await jobs.forever({ parallel: 6, signals: true });
else if (config.role === "supervisor") await jobs.supervise({ workers: 2, parallel: 3 });
else if (config.role === "producer") await produce();
else if (config.role === "operator") await operate();
else await collect();
note("ended");
await jobs.stop();
noteFigures();
