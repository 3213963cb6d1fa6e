// How many runs at once: of a job, of a key, of a queue. In all processes together.
import { setTimeout as pause } from "node:timers/promises";
import { Punctual } from "../src/index.ts";
import { drain } from "../src/testing/index.ts";

const jobs = new Punctual("sqlite::memory:");

const inside = new Map<string, number>();
const most = new Map<string, number>();

/** Works for a moment, and counts how many of the same label are at it together. */
async function work(label: string): Promise<void> {
  const now = (inside.get(label) ?? 0) + 1;
  inside.set(label, now);
  most.set(label, Math.max(now, most.get(label) ?? 0));
  await pause(10);
  inside.set(label, inside.get(label)! - 1);
}

// A job runs one at a time unless it says otherwise. 0 = no limit.
const single = jobs.define("single", () => work("single"));
const triple = jobs.define("triple", () => work("triple")).concurrency(3);
const free = jobs.define("free", () => work("free")).concurrency(0);

// One at a time for each tenant, any number of tenants. Without `by` the key is given at dispatch: .key("acme").
const tenant = jobs
  .define("tenant", async (args: { tenant: string }) => {
    await Promise.all([work(`tenant ${args.tenant}`), work("all tenants")]);
  })
  .concurrency(0, { perKey: 1, by: (args) => args.tenant });

// One limit for all jobs of a queue.
jobs.queue("mail", { concurrency: 2 });
const letter = jobs
  .define("letter", () => work("queue mail"))
  .queue("mail")
  .concurrency(0);
const parcel = jobs
  .define("parcel", () => work("queue mail"))
  .queue("mail")
  .concurrency(0);

for (let n = 0; n < 6; n++) free.dispatch();
for (let n = 0; n < 6; n++) {
  triple.dispatch();
  single.dispatch();
  tenant.dispatch({ tenant: n % 2 ? "a" : "b" });
  letter.dispatch();
  parcel.dispatch();
}
await drain(jobs);

for (const label of ["single", "triple", "tenant a", "tenant b", "all tenants", "queue mail"]) {
  console.log(`${label.padEnd(11)} at most ${most.get(label)} at once`);
}
console.log(`free        more than 3 at once: ${most.get("free")! > 3}`);
await jobs.stop();

// Output:
// single      at most 1 at once
// triple      at most 3 at once
// tenant a    at most 1 at once
// tenant b    at most 1 at once
// all tenants at most 2 at once
// queue mail  at most 2 at once
// free        more than 3 at once: true
