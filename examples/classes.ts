import { Punctual } from "../src/index.ts";
import { drain } from "../src/testing/index.ts";

class Mailer {
  send(to: string): void {
    console.log(`mail to ${to}`);
  }
}

// An instance for each run. The name of the job is that of the class, unless it has a jobName.
class Welcome {
  static readonly jobName = "mail.welcome";
  readonly #mailer: Mailer;

  constructor(mailer: Mailer) {
    this.#mailer = mailer;
  }

  async handle(args: { to: string }): Promise<void> {
    this.#mailer.send(args.to);
  }
}

class Reports {
  // Static: no instance is made.
  static async handle(args: { kind: string }): Promise<void> {
    console.log(`the ${args.kind} report`);
  }

  async daily(args: { day: number }): Promise<void> {
    console.log(`daily report ${args.day}`);
  }

  async weekly(args: { week: number }): Promise<void> {
    console.log(`weekly report ${args.week}`);
  }
}

// `resolve` is where a container makes the instance; without it, `new Class()`.
const mailer = new Mailer();
const jobs = new Punctual("sqlite::memory:", {
  resolve: (jobClass) => new (jobClass as new (mailer: Mailer) => object)(mailer),
});

// schedule() registers a class with its settings; dispatch() of one that is not registered registers it.
const welcome = jobs.define(Welcome).attempts(3);
console.log("registered as", welcome.name);

await welcome.dispatch({ to: "ada" });
await jobs.dispatch(Welcome, { to: "bob" });
await jobs.dispatch(Reports, { kind: "yearly" });
await jobs.dispatch([Reports, "daily"], { day: 1 });
await jobs.dispatch("Reports.daily", { day: 2 });
await jobs.dispatch([Reports, "weekly"], { week: 1 });

await drain(jobs);
await jobs.stop();

// Output:
// registered as mail.welcome
// the yearly report
// mail to ada
// daily report 1
// weekly report 1
// mail to bob
// daily report 2
