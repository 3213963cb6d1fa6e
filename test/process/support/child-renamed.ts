import { Punctual } from "../../../src/index.ts";
import { noteIn } from "../../support/journal.ts";

/** Works on the same two jobs under their old or new names, and dispatches one of them repeatedly. */
const [database, path, name, version] = process.argv.slice(2) as [string, string, string, "old" | "new"];
const note = noteIn(path, name);
const jobs = new Punctual(`sqlite:${database}`, { logger: false });
jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));
const tick = (_: unknown, run: { id: number; scheduledFor: Date }) =>
  note("start", { run: run.id, text: `${run.scheduledFor.toISOString()} ${version}` });
const asked = (_: unknown, run: { id: number }) => note("ran", { run: run.id });
const [beat, mail] = version === "old" ? ["beat", "mail"] : ["heart.beat", "post.mail"];
const formerly = (old: string) => (version === "old" ? [] : [old]);
jobs
  .schedule(beat, tick)
  .everySecond()
  .misfire("all")
  .concurrency(0)
  .formerly(...formerly("beat"));
const job = jobs
  .schedule(mail, asked)
  .concurrency(0)
  .formerly(...formerly("mail"));

jobs.on("worker.started", () => {
  note("working");
  // Every definition makes a worker sync, which it does on its own only every 30 seconds.
  let extra = 0;
  setInterval(() => jobs.schedule(`${name} ${extra++}`, () => {}), 400);
  setInterval(async () => note("dispatched", { run: (await job.dispatch()).id }), 150);
});
await jobs.forever();
