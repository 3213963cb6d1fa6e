import { readFileSync } from "node:fs";
import { Punctual, PunctualError, type RunContext, type SuperviseOptions } from "../../../src/index.ts";
import { Journal, noteIn } from "../../support/journal.ts";
import { perform } from "./act.ts";
import { type Act, defineJobs } from "./process-jobs.ts";

/** A program with child processes, each of which runs this program again. It records its actions in the journal. */
export interface SupervisedConfig {
  name: string;
  database: string;
  journal: string;
  lease: number;
  options: SuperviseOptions;
  /** JSON of `Edition`, read at the start: the changes of a new version of the code. */
  edition?: string;
  /** Number of functions that the parent dispatches for itself, each of which takes half a second. */
  functions?: number;
}

export interface Edition {
  version: string;
  /** Additional jobs. */
  jobs: string[];
  /** The cron expression of an additional job. */
  ticks?: string;
  /** Action of the program in a child before it reaches supervise(). */
  boot?: "throw" | "return" | "exit" | "wait";
}

const config = JSON.parse(process.argv[2]!) as SupervisedConfig;
const number = process.env.PUNCTUAL_CHILD;
const by = number === undefined ? config.name : `child ${number}`;
const note = noteIn(config.journal, by);
const journal = new Journal(config.journal);
const log = (text: string) => note("log", { text });
const edition: Edition = config.edition
  ? JSON.parse(readFileSync(config.edition, "utf8"))
  : { version: "1", jobs: [] };

const jobs = new Punctual(`sqlite:${config.database}`, {
  defaults: { lease: config.lease },
  logger: { debug: log, info: log, warn: log, error: log },
});

async function handler(args: Act, run: RunContext): Promise<unknown> {
  const { id, attempt, crashes, key, name } = run;
  const of = { run: id, attempt, crashes, key, job: name };
  note("start", of);
  run.signal.addEventListener("abort", () => {
    const { reason } = run.signal;
    note("abort", { ...of, ...(reason instanceof PunctualError && { code: reason.code }) });
  });
  try {
    await perform(args, run, journal);
  } finally {
    note("end", of);
  }
  return { pid: process.pid, version: edition.version };
}

defineJobs(jobs, handler);
for (const name of edition.jobs) jobs.schedule(name, handler).concurrency(0);
if (edition.ticks) jobs.schedule("ticking", handler).cron(edition.ticks).args({ do: "return" });

jobs.schedule("timed", handler).concurrency(0).timeout(0.2).retries({ max: 2, base: 0 });
jobs
  .schedule("talking", async (_: unknown, run) => {
    run.progress({ step: 1 });
    run.log("hello", { at: new Map([["a", () => 1]]) });
    note("start", { run: run.id });
    await new Promise((resolve) => run.signal.addEventListener("abort", resolve));
    run.progress({ step: 2 });
  })
  .concurrency(0);
jobs.schedule("unsettled", () => {}).onSuccess(() => new Promise(() => {}));
jobs
  .schedule("bounded", () => process.pid)
  .onSuccess(() => new Promise(() => {}))
  .onAfter(() => new Promise(() => {}))
  .hookTimeout(0.2)
  .concurrency(0);
jobs
  .schedule("deadly", () => process.exit(1))
  .onError((error, args, run) => {
    const { code } = error as PunctualError;
    note("hook", { run: run.id, attempt: run.attempt, code, text: JSON.stringify(args) });
    run.log("said by the hook");
  });
jobs
  .schedule("parent", async (_: unknown, run) => {
    const child = await jobs.dispatch("free", { do: "return" });
    note("dispatched", { run: child.id, ids: [run.id] });
  })
  .concurrency(0);
jobs
  .schedule("atomic", async (_: unknown, run) => {
    await run.transaction((tx) => tx.exec("create table mine (a)"));
    return "not kept";
  })
  .concurrency(0);
class Late {
  handle(args: Act, run: RunContext): Promise<unknown> {
    return handler(args, run);
  }
}
class Reports {
  daily(args: Act, run: RunContext): Promise<unknown> {
    return handler(args, run);
  }
  static yearly(args: Act, run: RunContext): Promise<unknown> {
    return handler(args, run);
  }
  weekly(): void {}
}
jobs.schedule([Reports, "weekly"]);
// A class that is dispatched is a job from then on, in this process.
jobs.schedule("late", () =>
  jobs.dispatch(Late, { do: "return" }).then(({ id }) => note("dispatched", { run: id })),
);
jobs
  .schedule("ad hoc", () => {
    jobs.dispatch("function", () => {});
  })
  .concurrency(0);
jobs
  .schedule("sharing", (_: unknown, run) => run.log("shared memory", { memory: new SharedArrayBuffer(8) }))
  .concurrency(0);
jobs.schedule("memory", () => {
  // Written to, so that it is resident.
  hoard.push(Buffer.alloc(300 * 2 ** 20, 1));
});
const hoard: Buffer[] = [];

if (number === undefined) {
  for (const event of [
    "run.completed",
    "run.failed",
    "run.retried",
    "run.released",
    "run.lost",
    "run.reaped",
    "run.logged",
  ] as const) {
    jobs.on(event, (told) => note(event, { run: told.id, job: told.name, text: JSON.stringify(told) }));
  }
  for (const event of ["child.started", "child.retired", "child.exited"] as const) {
    jobs.on(event, (told) => note(event, { ids: [told.pid], text: JSON.stringify(told) }));
  }
  jobs.on("worker.started", () => note("worker.started"));
  for (let number = 0; number < (config.functions ?? 0); number++) {
    void jobs.dispatch(`function ${number}`, async (run: RunContext) => {
      note("start", { run: run.id, job: "function" });
      await perform({ do: "pause", ms: 500 }, run, journal);
      note("end", { run: run.id, job: "function" });
    });
  }
  jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));
} else if (edition.boot === "throw") throw new Error("the edition is broken");
else if (edition.boot === "exit") process.exit(7);
else if (edition.boot === "wait") {
  note("waiting");
  await new Promise(() => setInterval(() => {}, 1000));
}

if (number === undefined || edition.boot !== "return") {
  if (number !== undefined) note("forever", { ids: [await jobs.forever()] });
  try {
    const ran = await jobs.supervise(config.options);
    note("ended", { ids: [ran] });
  } catch (error) {
    note("rejected", { code: (error as PunctualError).code, text: (error as Error).message });
    process.exitCode = 1;
  }
  await jobs.stop();
}
