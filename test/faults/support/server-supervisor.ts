import { setTimeout as pause } from "node:timers/promises";
import { Punctual } from "../../../src/index.ts";
import { noteIn } from "../../support/journal.ts";

/** A program on a server with child processes, each of which runs this program again. */
export interface SupervisedConfig {
  url: string;
  journal: string;
}

const config = JSON.parse(process.argv[2]!) as SupervisedConfig;
const number = process.env.PUNCTUAL_CHILD;
const note = noteIn(config.journal, number === undefined ? "supervisor" : `child ${number}`);
const log = (text: string) => note("log", { text });
const jobs = new Punctual(config.url, { logger: { debug: log, info: log, warn: log, error: log } });

jobs
  .schedule("work", async ({ ms = 0 }: { ms?: number }, run) => {
    note("start", { run: run.id, attempt: run.attempt });
    await pause(ms);
  })
  .concurrency(0);
jobs
  .schedule("atomic", async (_: unknown, run) => {
    // A dispatch and the completion of its run in one commit, on a connection of the child's own.
    await run.transaction(async (tx) => void (await jobs.dispatch("work", {}).within(tx)));
  })
  .concurrency(0);

if (number === undefined) {
  for (const event of ["run.completed", "run.reaped", "run.lost"] as const) {
    jobs.on(event, ({ id, name }) => note(event, { run: id, job: name }));
  }
  jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));
}

await jobs.supervise({ workers: 2, parallel: 5 });
await jobs.stop();
