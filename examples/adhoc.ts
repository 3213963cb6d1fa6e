// A function can be dispatched itself. It lives in this process's memory, so only this process can run it.
import { DatabaseSync } from "node:sqlite";
import { Punctual } from "../src/index.ts";
import { drain } from "../src/testing/index.ts";

const db = new DatabaseSync(":memory:");
const jobs = new Punctual(db);

for (const file of ["cat.png", "dog.png"]) {
  await jobs
    .dispatch(`upload ${file}`, async (_args, run) => {
      if (file === "dog.png" && run.attempt === 1) throw new Error("connection reset");
    })
    .queue("uploads")
    .priority(20)
    .attempts({ max: 2, base: 0 })
    .onSuccess((_args, run) => console.log(`${run.name}: done on attempt ${run.attempt}`))
    .onError((error, _args, run) => console.log(`${run.name}: ${(error as Error).message}`));
}
console.log("ran", await drain(jobs));

// If the process ends before its turn comes, the run fails: nobody else has the function.
const late = await jobs.dispatch("too late", () => console.log("never")).delay("1h");
await jobs.stop();

const others = new Punctual(db);
console.log(await others.why(late.id));
await others.stop();

// Output:
// upload cat.png: done on attempt 1
// upload dog.png: connection reset
// upload dog.png: done on attempt 2
// ran 3
// It has ended: failed. The handler is gone: the process that dispatched this function has ended.
