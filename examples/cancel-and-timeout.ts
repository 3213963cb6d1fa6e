// A handler hears of a cancellation, a timeout, a shutdown or a lost lease through `run.signal`.
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Punctual, PunctualError } from "../src/index.ts";
import { drain, TestClock } from "../src/testing/index.ts";

const jobs = new Punctual("sqlite::memory:");
jobs.on("run.cancelled", (e) =>
  console.log(`run ${e.id} ${e.name}: cancelled${e.reason ? `, ${e.reason}` : ""}`),
);
jobs.on("run.failed", (e) => console.log(`run ${e.id} ${e.name}: failed, ${e.error.code}`));
jobs.on("run.snoozed", (e) => console.log(`run ${e.id} ${e.name}: snoozed for ${e.delay / 1000} s`));

// Hand the signal on to whatever takes one: fetch, timers, child processes.
const started = Promise.withResolvers<void>();
const download = jobs.define("download", async (_args, run) => {
  started.resolve();
  await pause(60_000, undefined, { signal: run.signal });
});

// A waiting run is simply withdrawn.
const waiting = await download.dispatch().delay("1h");
console.log("waiting run:", await waiting.cancel());

// A running one is asked to end; from any process.
const running = await download.dispatch();
const pass = jobs.run();
await started.promise;
console.log("running run:", await running.cancel());
await pass;
await running.wait().catch((error: unknown) => {
  if (error instanceof PunctualError) console.log(`wait() rejected: ${error.code}`);
});

// An attempt that takes longer than its timeout fails, and is retried like any other failure.
const slow = jobs
  .define("slow", async (_args, run) => {
    await once(run.signal, "abort");
    throw run.signal.reason;
  })
  .timeout("50ms");
await slow.dispatch();
await drain(jobs, { failures: "ignore" });

// A handler may end its own attempt: discard() ends the run without a failure, snooze() runs it again later, and the
// attempt does not count.
jobs.define("obsolete", async (_args, run) => run.discard("the order was withdrawn"));
jobs.define("early", async (_args, run) => run.snooze("10m"));
await jobs.dispatch("obsolete");
await jobs.dispatch("early");
await drain(jobs);
await jobs.stop();

// A run that nobody started in time can expire.
const clock = new TestClock();
const others = new Punctual("sqlite::memory:", { clock });
others.on("run.skipped", (e) => console.log(`run ${e.id} ${e.name}: skipped, ${e.reason}`));
others.define("code", () => console.log("too late to be of use"));
await others.dispatch("code").expires("5m");
await clock.advance("6m");
await drain(others);
await others.stop();

// Output:
// run 1 download: cancelled
// waiting run: cancelled
// running run: requested
// run 2 download: cancelled
// wait() rejected: RUN_CANCELLED
// run 3 slow: failed, RUN_TIMED_OUT
// run 4 obsolete: cancelled, the order was withdrawn
// run 5 early: snoozed for 600 s
// run 1 code: skipped, expired before it started
