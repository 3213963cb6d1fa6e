import { Punctual } from "../src/index.ts";
import { drain, TestClock } from "../src/testing/index.ts";

const clock = new TestClock();
const jobs = new Punctual("sqlite::memory:", { clock });

const report = jobs.define("report", async (args: { month: number }) => {
  console.log(`report of month ${args.month}`);
});

// While the key is held no second run is made: the answer is the run that holds it.
const first = await report.dispatch({ month: 1 }).unique("report:1");
const again = await report.dispatch({ month: 1 }).unique("report:1");
console.log(`run ${first.id} inserted: ${first.inserted}; run ${again.id} inserted: ${again.inserted}`);

// Finished, the key is free.
await drain(jobs);
const next = await report.dispatch({ month: 1 }).unique("report:1");
console.log(`run ${next.id} inserted: ${next.inserted}`);
await drain(jobs);

// until "started": one may run while one more waits. Here the handler asks for its own successor.
const refresh = jobs.define("refresh", async (_args, run) => {
  if (run.id > 4) return;
  const one = await jobs.dispatch("refresh").unique("refresh", { until: "started" });
  const two = await jobs.dispatch("refresh").unique("refresh", { until: "started" });
  console.log(`in run ${run.id}: run ${one.id} ${one.inserted}, run ${two.id} ${two.inserted}`);
});
await refresh.dispatch().unique("refresh", { until: "started" });
await drain(jobs);

// for: the key is held at least that long, also when the run has finished before: once an hour at most.
const hourly = () => report.dispatch({ month: 2 }).unique("hourly", { for: "1h" });
console.log("asked:", (await hourly()).inserted);
await drain(jobs);
console.log("asked again at once:", (await hourly()).inserted);
await clock.advance("1h");
console.log("an hour later:", (await hourly()).inserted);
await jobs.stop();

// Output:
// run 1 inserted: true; run 1 inserted: false
// report of month 1
// run 2 inserted: true
// report of month 1
// in run 3: run 4 true, run 4 false
// in run 4: run 5 true, run 5 false
// asked: true
// report of month 2
// asked again at once: false
// an hour later: true
