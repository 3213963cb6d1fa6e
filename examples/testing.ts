// How to test what your own code dispatches. Works with any test runner.
import assert from "node:assert/strict";
import { Punctual } from "../src/index.ts";
import { drain, recordDispatches, TestClock } from "../src/testing/index.ts";

// A clock that stands still until you move it, a database in memory, and dice that always fall the same way.
const clock = new TestClock("2026-12-01T09:00:00Z");
const jobs = new Punctual("sqlite::memory:", { clock, random: () => 0.5 });

const sent: string[] = [];
jobs.define("welcome", async (args: { to: string }) => {
  sent.push(args.to);
  await jobs.dispatch("follow-up", args).delay("7 days");
});
jobs
  .define("follow-up", async (args: { to: string }, run) => {
    if (run.attempt === 1) throw new Error("mail server is down");
    sent.push(`${args.to} again`);
  })
  .attempts({ max: 3, base: 60, cap: 600 });

/** The handler under test. */
async function signUp(name: string): Promise<void> {
  await jobs.dispatch("welcome", { to: name });
}

// The dispatches, without running them.
const dispatches = recordDispatches(jobs);
await signUp("ada");
await dispatches.assertDispatched("welcome", { to: "ada" });
await dispatches.assertNotDispatched("follow-up");
console.log("dispatched:", (await dispatches.all()).map((one) => one.name).join(", "));

// Everything that is due, in this process, until nothing is left.
assert.equal(await drain(jobs), 1);
assert.deepEqual(sent, ["ada"]);
await dispatches.assertCount("follow-up", 1);

// Seven days pass at once. The first attempt fails; the second follows half a minute later.
await clock.advance("7 days");
// A run whose last attempt failed would make drain() reject, so that no test stays green by accident.
assert.equal(await drain(jobs, { failures: "ignore" }), 1);
const { runs } = await jobs.runs({ job: "follow-up" });
console.log("second attempt due at", runs[0]?.runAt.toISOString());
await clock.advance("30s");
assert.equal(await drain(jobs), 1);
console.log("sent:", sent.join(", "));

dispatches.stop();
await jobs.stop();

// Output:
// dispatched: welcome
// second attempt due at 2026-12-08T09:00:30.000Z
// sent: ada, ada again
