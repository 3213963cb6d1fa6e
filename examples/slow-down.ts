// A service answers "too many requests": run.slowDown() closes the rate for everybody, and the run keeps its place.
import { Punctual } from "../src/index.ts";

const jobs = new Punctual("sqlite::memory:");

let isBusy = true;

const call = jobs
  .define("call-api", async (args: { n: number }, run) => {
    console.log(`call ${args.n}, attempt ${run.attempt} of ${run.maxAttempts}`);
    if (isBusy) run.slowDown("2s");
  })
  .attempts(2)
  .rate(100, "1m");

const runs = await call.dispatchMany([{ n: 1 }, { n: 2 }]);
await jobs.run();
const [rate] = await jobs.rates();
console.log(`spent: ${rate!.spent}, slowed down: ${rate!.slowedUntil !== null}`);
console.log((await jobs.why(runs[1]!.id)).split(" until ")[0]);

isBusy = false;
let ended = 0;
const all = new Promise<void>((resolve) => {
  jobs.on("run.completed", () => {
    if (++ended === runs.length) resolve();
  });
});
void jobs.forever({ signals: false });
await all;
await jobs.stop();

// Output:
// call 1, attempt 1 of 2
// spent: 1, slowed down: true
// Its job "call-api" was slowed down
// call 1, attempt 2 of 2
// call 2, attempt 1 of 2
