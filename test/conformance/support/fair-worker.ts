import { Punctual } from "../../../src/index.ts";
import { noteIn } from "../../support/journal.ts";

/** A worker with a fair queue, which notes the key of each run that it starts. */
export interface FairWorkerConfig {
  name: string;
  url: string;
  journal: string;
  parallel: number;
}

const { name, url, journal, parallel } = JSON.parse(process.argv[2]!) as FairWorkerConfig;
const note = noteIn(journal, name);
const jobs = new Punctual(url, { logger: false });

jobs.queue("imports", { fair: true, weight: (key) => (key === "gold" ? 3 : 1) });
jobs
  .define("import", async ({ key, ms }: { key: string; ms: number }) => {
    note("start", { key });
    await new Promise((resolve) => setTimeout(resolve, ms));
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
