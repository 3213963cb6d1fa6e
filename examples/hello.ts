import { Punctual } from "../src/index.ts";

const jobs = new Punctual("sqlite::memory:");

const greet = jobs.define("greet", async (args: { name: string }, run) => {
  console.log(`Hello ${args.name}, this is run ${run.id}`);
});

await greet.dispatch({ name: "Ada" });
await greet.dispatch({ name: "Grace" }).delay("1h");

console.log(`ran ${await jobs.run()}, and one waits for its hour`);
await jobs.stop();

// Output:
// Hello Ada, this is run 1
// ran 1, and one waits for its hour
