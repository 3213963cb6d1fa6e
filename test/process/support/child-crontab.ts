import { Punctual, type RunContext } from "../../../src/index.ts";
import { Journal, noteIn } from "../../support/journal.ts";
import { perform } from "./act.ts";
import { type Act, defineJobs } from "./process-jobs.ts";

/** Runs a pass each second, as a line in a crontab would. */
const [database, path, name] = process.argv.slice(2) as [string, string, string];
const note = noteIn(path, name);
const journal = new Journal(path);
const jobs = new Punctual(`sqlite:${database}`, { logger: false, defaults: { lease: 10 } });
jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));
defineJobs(jobs, async (act: Act, run: RunContext) => {
  note("start", { run: run.id, job: run.name });
  await perform(act, run, journal);
});

async function pass(): Promise<void> {
  const ran = await jobs.run();
  note("passed", { text: String(ran) });
}

await pass();
setInterval(pass, 1000);
