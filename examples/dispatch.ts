// Every way to ask for a run.
import { Punctual } from "../src/index.ts";
import { drain, TestClock } from "../src/testing/index.ts";

const clock = new TestClock("2026-12-01T09:00:00Z");
const jobs = new Punctual("sqlite::memory:", { clock });

const email = jobs
  .define("email", async (args: { to: string }) => {
    console.log(`email to ${args.to}`);
  })
  .args({ to: "everybody" })
  .queue("emails");

class Reports {
  static async handle(args: { day: number }): Promise<void> {
    console.log(`report of day ${args.day}`);
  }

  async daily(args: { day: number }): Promise<void> {
    console.log(`daily report of day ${args.day}`);
  }
}

// By the definition: the arguments are typed. Without arguments it gets those of args().
await email.dispatch({ to: "ada" });
await email.dispatch();

// By name, from anywhere that has the instance. A number is the delay in seconds; options may be an object or a chain.
await jobs.dispatch("email", { to: "bob" }, 60);
await jobs.dispatch("email", { to: "cleo" }, { at: "2026-12-01T10:30:00Z", priority: 1 });
await jobs.dispatch("email", { to: "dan" }).delay("2 hours").tags("slow");

// As a draft: shaped first, named last. A draft can be kept and used again.
const later = email.delay("3h").queue("bulk");
await later.dispatch({ to: "eve" });
await later.dispatch({ to: "fay" });
await jobs.delay("4h").args({ to: "gus" }).dispatch("email");

// A class with handle(), a class and a method.
await jobs.dispatch(Reports, { day: 1 });
await jobs.dispatch([Reports, "daily"], { day: 2 });

// The registrar's form: what, arguments, when, queue.
await jobs.register([Reports, "daily"], { day: 3 }, new Date("2026-12-01T14:00:00Z"), "reports");

// Many at once.
await email.dispatchMany([{ to: "hal" }, { to: "ida" }], { delay: "6h" });

// Not awaited: these two leave together, in one insert, when this turn ends.
const first = email.dispatch({ to: "jim" }).delay("7h");
const second = email.dispatch({ to: "kim" }).delay("7h");
const [jim] = await Promise.all([first, second]);

// The result is a handle: it can move or cancel a run that no worker has claimed.
await jim.at("2026-12-02T00:00:00Z");

const { runs } = await jobs.runs();
for (const run of runs.reverse()) {
  const due = run.runAt.toISOString().slice(5, 16);
  console.log(
    `${run.id}`.padStart(2),
    run.state.padEnd(9),
    due,
    run.queue.padEnd(7),
    JSON.stringify(run.args),
  );
}

console.log("-- what is due now");
await drain(jobs);
console.log("-- two hours later");
await clock.advance("2h");
await drain(jobs);
await jobs.stop();

// Output:
//  1 ready     12-01T09:00 emails  {"to":"ada"}
//  2 ready     12-01T09:00 emails  {"to":"everybody"}
//  3 scheduled 12-01T09:01 emails  {"to":"bob"}
//  4 scheduled 12-01T10:30 emails  {"to":"cleo"}
//  5 scheduled 12-01T11:00 emails  {"to":"dan"}
//  6 scheduled 12-01T12:00 bulk    {"to":"eve"}
//  7 scheduled 12-01T12:00 bulk    {"to":"fay"}
//  8 scheduled 12-01T13:00 emails  {"to":"gus"}
//  9 ready     12-01T09:00 default {"day":1}
// 10 ready     12-01T09:00 default {"day":2}
// 11 scheduled 12-01T14:00 reports {"day":3}
// 12 scheduled 12-01T15:00 emails  {"to":"hal"}
// 13 scheduled 12-01T15:00 emails  {"to":"ida"}
// 14 scheduled 12-02T00:00 emails  {"to":"jim"}
// 15 scheduled 12-01T16:00 emails  {"to":"kim"}
// -- what is due now
// email to ada
// report of day 1
// daily report of day 2
// email to everybody
// -- two hours later
// email to cleo
// email to bob
// email to dan
