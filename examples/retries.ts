import { PermanentError, Punctual } from "../src/index.ts";
import { drain, TestClock } from "../src/testing/index.ts";

const clock = new TestClock();
const jobs = new Punctual("sqlite::memory:", { clock });

// Five attempts in all. After failed attempt n the wait is min(cap, base * 2^(n - 1)) seconds. The default jitter is
// "full".
jobs
  .define("flaky", async (_args, run) => {
    if (run.attempt < 4) throw new Error(`no answer to attempt ${run.attempt}`);
    return "an answer";
  })
  .attempts({ max: 5, base: 10, cap: 30, jitter: "none" });

// A function in place of the formula, and a decision which errors are retried.
jobs
  .define("picky", async (_args, run) => {
    throw new Error(run.attempt === 1 ? "busy" : "gone");
  })
  .attempts({
    max: 5,
    backoff: () => "5m",
    when: (error) => error instanceof Error && error.message === "busy",
  });

// A PermanentError ends the run at once, whatever is left.
jobs
  .define("hopeless", async () => {
    throw new PermanentError("no such customer");
  })
  .attempts(5);

const time = () => new Date(clock.now()).toISOString().slice(11, 19);
jobs.on("run.retried", (e) => console.log(time(), e.name, e.error.message, `(again in ${e.delay / 1000} s)`));
jobs.on("run.failed", (e) => console.log(time(), e.name, "failed:", e.error.message));
jobs.on("run.completed", (e) => console.log(time(), e.name, "completed on attempt", e.attempt));

const flaky = await jobs.dispatch("flaky");
await jobs.dispatch("picky");
await jobs.dispatch("hopeless");

for (let minute = 0; minute < 7; minute++) {
  for (let second = 0; second < 60; second += 10) {
    await drain(jobs, { failures: "ignore" });
    await clock.advance(10);
  }
}

console.log("result:", await flaky.wait());
for (const { attempt, outcome, error } of await jobs.attempts(flaky.id)) {
  console.log(`attempt ${attempt} was ${outcome}: ${error?.message}`);
}
await jobs.stop();

// Output:
// 00:00:00 flaky no answer to attempt 1 (again in 10 s)
// 00:00:00 picky busy (again in 300 s)
// 00:00:00 hopeless failed: no such customer
// 00:00:10 flaky no answer to attempt 2 (again in 20 s)
// 00:00:30 flaky no answer to attempt 3 (again in 30 s)
// 00:01:00 flaky completed on attempt 4
// 00:05:00 picky failed: gone
// result: an answer
// attempt 1 was retried: no answer to attempt 1
// attempt 2 was retried: no answer to attempt 2
// attempt 3 was retried: no answer to attempt 3
