import { Punctual } from "../src/index.ts";
import { drain } from "../src/testing/index.ts";

const jobs = new Punctual("sqlite::memory:");
let maintenance = false;

// Filters → onBefore → handler → onSuccess or onError → onAfter.
const sync = jobs
  .define("sync", async (args: { shop: string }) => {
    console.log("  handler");
    if (args.shop === "closed") throw new Error("nobody answers");
  })
  .when(() => !maintenance)
  .skip((args) => args.shop === "sold")
  .onBefore((args, run) => console.log(`run ${run.id}: ${args.shop}`))
  .onSuccess(() => console.log("  onSuccess"))
  .onError((error) => console.log("  onError:", (error as Error).message))
  .onAfter(() => console.log("  onAfter"));

jobs.on("run.skipped", (event) => console.log(`run ${event.id}: skipped, ${event.reason}`));

await sync.dispatch({ shop: "open" });
await sync.dispatch({ shop: "closed" });
await sync.dispatch({ shop: "sold" });
await drain(jobs, { failures: "ignore" });

maintenance = true;
await sync.dispatch({ shop: "open" });
await drain(jobs);
await jobs.stop();

// Output:
// run 1: open
//   handler
//   onSuccess
//   onAfter
// run 2: closed
//   handler
//   onError: nobody answers
//   onAfter
// run 3: skipped, skip() returned true
// run 4: skipped, when() returned false
