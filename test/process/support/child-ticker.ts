import { Punctual } from "../../../src/index.ts";
import { noteIn } from "../../support/journal.ts";

/** Works on a job that ticks every second and records its tick. `keep`: how long history keeps it. */
const [database, path, name, keep, mode] = process.argv.slice(2) as [string, string, string, string, string];
const note = noteIn(path, name);
const jobs = new Punctual(`sqlite:${database}`, { logger: false });
jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));
jobs
  .schedule("beat", (_, run) => note("start", { run: run.id, text: run.scheduledFor.toISOString() }))
  .everySecond()
  // On a machine so slow that a run waits for a second, the next tick would rightly be skipped.
  .misfire("all")
  .keep(keep === "0" ? 0 : keep);

if (mode === "crontab") {
  await jobs.run();
  setInterval(() => jobs.run(), 1000);
} else {
  jobs.on("worker.started", () => note("working"));
  await jobs.forever();
}
