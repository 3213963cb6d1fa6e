// Schedules: jobs that run by themselves, each tick once, however many workers there are.
import { Punctual } from "../src/index.ts";
import { Cron } from "../src/schedule/cron.ts";
import { TestClock } from "../src/testing/index.ts";

// A Friday. In Berlin it is one hour later; its clocks go forward on Sunday, at 01:00 UTC.
const clock = new TestClock("2026-03-27T08:19:55Z");
const jobs = new Punctual("sqlite::memory:", { clock });
const utc = (date: Date | null | undefined) => date?.toISOString().slice(5, 19).replace("T", " ") ?? "never";

console.log("-- a worker ticks; a run knows its tick");
jobs
  .define("feed", (args: { of: string }, run) => console.log(`${utc(run.scheduledFor)} feed of ${args.of}`))
  .everyTwentyMinutes()
  .hours(9)
  .weekdays()
  .timezone("Europe/Berlin")
  .args({ of: "news" });
jobs
  .define("pulse", (_args, run) => console.log(`${utc(run.scheduledFor)} pulse`))
  .everyFiveSeconds()
  .endingAt("2026-03-27T08:20:10Z");

const started = new Promise((resolve) => jobs.on("worker.started", resolve));
const working = jobs.forever({ signals: false });
await started;
await clock.advance("20s");
await jobs.stop();
await working;

// The same clock, another database: from here on passes of run(), as a crontab makes them.
const others = new Punctual("sqlite::memory:", { clock });
const passes = async (count: number) => {
  for (let hour = 0; hour < count; hour++) {
    await clock.advance("1h");
    await others.run();
  }
};

console.log("-- what falls into the missing hour ticks once, right after it");
others
  .define("report", (_args, run) => console.log(`${utc(run.scheduledFor)} report`))
  .dailyAt("2:30")
  .timezone("Europe/Berlin");
await others.run();
await passes(72);

console.log("-- nobody was there for five hours");
const ran = (_args: unknown, run: { name: string; scheduledFor: Date }) =>
  console.log(`${utc(run.scheduledFor)} ${run.name}`);
others.define("latest", ran).hourly();
others.define("none", ran).hourly().misfire("skip");
others.define("last three", ran).hourly().misfire("all", { limit: 3 });
await others.run();
await clock.advance("5h");
await others.run({ parallel: 1 });
for (const one of await others.schedules()) {
  if (one.job !== "report") console.log(`${one.job}: ${one.missed} missed, next ${utc(one.nextTick)}`);
}

console.log("-- several schedules of one handler");
class Backup {
  handle(args: { kind: string }): void {
    console.log(`${args.kind} backup`);
  }
}
others.recur(Backup, "0 */2 * * *", { args: { kind: "small" } });
others.recur(Backup, "0 17 * * *", { args: { kind: "full" }, queue: "night" });
for (const job of ["latest", "none", "last three"]) await others.pauseJob(job);
await others.run();
await passes(4);

console.log("-- paused, and resumed: what fell into the pause is not made up");
const small = (await others.schedules()).find((one) => JSON.stringify(one.args)?.includes("small"))!;
await others.pauseSchedule(small.id);
await passes(6);
await others.resumeSchedule(small.id);
await others.run();
const backup = (await others.status()).jobs.find((job) => job.name === "Backup");
console.log("next run", utc(backup?.nextRun));
await others.stop();

console.log("-- expressions by themselves");
const cron = new Cron("30 9 * * MON-FRI", { timezone: "Europe/Berlin" });
console.log(cron.describe());
for (const date of cron.upcoming(2, clock.now())) console.log(utc(date));

// Output:
// -- a worker ticks; a run knows its tick
// 03-27 08:20:00 feed of news
// 03-27 08:20:00 pulse
// 03-27 08:20:05 pulse
// 03-27 08:20:10 pulse
// -- what falls into the missing hour ticks once, right after it
// 03-28 01:30:00 report
// 03-29 01:00:00 report
// 03-30 00:30:00 report
// -- nobody was there for five hours
// 03-30 11:00:00 last three
// 03-30 12:00:00 last three
// 03-30 13:00:00 last three
// 03-30 13:00:00 latest
// last three: 2 missed, next 03-30 14:00:00
// latest: 4 missed, next 03-30 14:00:00
// none: 5 missed, next 03-30 14:00:00
// -- several schedules of one handler
// small backup
// small backup
// full backup
// -- paused, and resumed: what fell into the pause is not made up
// next run 03-31 00:00:00
// -- expressions by themselves
// At 09:30 on Monday to Friday (Europe/Berlin).
// 03-31 07:30:00
// 04-01 07:30:00
