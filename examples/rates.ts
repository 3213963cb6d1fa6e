// A rate: no second, wherever it begins, has more than 5 starts.
import { Punctual } from "../src/index.ts";

const jobs = new Punctual("sqlite::memory:");

const call = jobs
  .define("call-api", async (_args: { n: number }) => {})
  .concurrency(0)
  .rate(5, "1s");

let ended = 0;
jobs.on("run.completed", () => void ended++);

const runs = await call.dispatchMany(Array.from({ length: 12 }, (_, n) => ({ n })));
await jobs.run();
const [rate] = await jobs.rates();
console.log(
  `started: ${rate!.spent} of ${runs.length}, and the rate is ${rate!.opensAt ? "closed" : "open"}`,
);

const waiting = await jobs.runs({ job: "call-api", state: "ready" });
console.log((await jobs.why(waiting.runs[0]!.id)).split(". It opens")[0]);

// A worker that keeps running starts the others when the rate opens.
const all = new Promise<void>((resolve) => {
  jobs.on("run.completed", () => {
    if (ended === runs.length) resolve();
  });
});
void jobs.forever({ signals: false });
await all;

const { runs: finished } = await jobs.runs({ job: "call-api" });
const starts = finished.map(({ startedAt }) => Number(startedAt)).sort((a, b) => a - b);
// The rate counts claims; handlers start some milliseconds later.
console.log(`no window over the rate: ${starts.every((at, n) => n < 5 || at - starts[n - 5]! >= 500)}`);
await jobs.stop();

// Output:
// started: 5 of 12, and the rate is closed
// Its job "call-api" may start 5 in 1 s, and no start is left
// no window over the rate: true
