import { readFileSync } from "node:fs";
import { Punctual } from "../../../src/index.ts";
import { sleepReal } from "../../../src/time.ts";
import { noteIn } from "../../support/journal.ts";

/** A worker with a fair queue, which notes the key of each run that it starts. */
export interface FairWorkerConfig {
  name: string;
  url: string;
  journal: string;
  parallel: number;
  /** File with the number of the round. */
  round: string;
}

export interface FairArgs {
  key: string;
  /** Null: the run ends when the next round begins. */
  ms: number | null;
}

const { name, url, journal, parallel, round } = JSON.parse(process.argv[2]!) as FairWorkerConfig;
/** Interval between two reads of the round, in milliseconds. */
const POLL = 5;
const readRound = () => readFileSync(round, "utf8");
const note = noteIn(journal, name);
const jobs = new Punctual(url, { logger: false });

jobs.queue("imports", { fair: true, weight: (key) => (key === "gold" ? 3 : 1) });
jobs
  .define("import", async ({ key, ms }: FairArgs) => {
    const now = readRound();
    note("start", { key });
    if (ms !== null) await sleepReal(ms);
    else while (readRound() === now) await sleepReal(POLL);
  })
  .queue("imports")
  .concurrency(0, { by: ({ key }) => key })
  .keep({ completed: 0 });
jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));
jobs.on("worker.started", () => note("worker.started"));

process.on("disconnect", () => process.exit(1));
process.channel?.unref();
await jobs.forever({ parallel });
note("ended");
