// Looking at runs, jobs and queues, and operating them. Works from any process with the same database.
import { Punctual } from "../src/index.ts";
import { drain, TestClock } from "../src/testing/index.ts";

const clock = new TestClock("2026-12-01T09:00:00Z");
const jobs = new Punctual("sqlite::memory:", { clock });
let printerWorks = false;

jobs
  .define("print", async (args: { page: number }) => {
    if (!printerWorks) throw new Error(`paper jam on page ${args.page}`);
    return `page ${args.page} printed`;
  })
  .queue("office");
jobs.define("greet", async () => "hello");

const page = await jobs.dispatch("print", { page: 7 });
const greeting = await jobs.dispatch("greet").delay("90s").tags("polite");

console.log("-- why is it not running?");
console.log(`${page.id}:`, await jobs.why(page.id));
console.log(`${greeting.id}:`, await jobs.why(greeting.id));

console.log("-- status, one row for each job");
await drain(jobs, { failures: "ignore" });
for (const job of (await jobs.status()).jobs) {
  const { name, queue, waiting, fails, lastError } = job;
  console.log(`${name} in ${queue}: ${waiting} waiting, ${fails} failed in a row, last error: ${lastError}`);
}

console.log("-- runs, newest first");
const { runs } = await jobs.runs({ state: ["failed", "scheduled"], limit: 10 });
for (const run of runs) console.log(run.id, run.name, run.state, run.error?.message ?? "-");

console.log("-- once more, under the same id");
printerWorks = true;
await jobs.retry(page.id);
await drain(jobs);
const printed = await jobs.find(page.id);
console.log(printed?.state, printed?.result, "after", printed?.attempts, "attempts");

console.log("-- a pause");
await jobs.pauseQueue("office", { for: "10m" });
const next = await jobs.dispatch("print", { page: 8 });
console.log("ran", await drain(jobs));
console.log(`${next.id}:`, await jobs.why(next.id));
await jobs.resumeQueue("office");
console.log("resumed, ran", await drain(jobs));

console.log("-- history keeps completed runs for a day");
await clock.advance("1 day");
console.log("pruned", (await jobs.prune()).history);
console.log(`${page.id}:`, await page.state());
await jobs.stop();

// Output:
// -- why is it not running?
// 1: No worker is alive.
// 2: It is due in 90 s, at 2026-12-01T09:01:30.000Z.
// -- status, one row for each job
// greet in default: 1 waiting, 0 failed in a row, last error: null
// print in office: 0 waiting, 1 failed in a row, last error: paper jam on page 7
// -- runs, newest first
// 2 greet scheduled -
// 1 print failed paper jam on page 7
// -- once more, under the same id
// completed page 7 printed after 2 attempts
// -- a pause
// ran 0
// 3: Its queue "office" is paused until 2026-12-01T09:10:00.000Z. No worker is alive.
// resumed, ran 1
// -- history keeps completed runs for a day
// pruned 2
// 1: null
