// A budget of tokens that two jobs share: 1,000 a minute, by what each run costs.
import { Punctual } from "../src/index.ts";
import { TestClock } from "../src/testing/index.ts";

// Time that the example moves, so that it need not wait for a minute.
const clock = new TestClock();
const jobs = new Punctual("sqlite::memory:", { clock, logger: false });

jobs.limit("llm", { concurrency: 20, rate: { limit: 1000, per: "1m" } });

interface Prompt {
  tokens: number;
}

const summarise = jobs
  .define("summarise", async ({ tokens }: Prompt) => console.log(`summarise: ${tokens} tokens`))
  .concurrency(0)
  .under("llm", { cost: (args) => args.tokens });

const classify = jobs
  .define("classify", async ({ tokens }: Prompt) => console.log(`classify: ${tokens} tokens`))
  .concurrency(0)
  .under("llm", { cost: (args) => args.tokens });

await summarise.dispatch({ tokens: 700 });
const large = await summarise.dispatch({ tokens: 600 });
await classify.dispatch({ tokens: 100 });

await jobs.run();
console.log((await jobs.why(large.id)).split(". It opens")[0]);

// The small run would fit, but does not overtake the large one: both start when the first has left the window.
await clock.advance(60);
await jobs.run();

await summarise
  .dispatch({ tokens: 1001 })
  .catch((error: unknown) => console.log(String(error).split(": ")[1]));
await jobs.stop();

// Output:
// summarise: 700 tokens
// Its limit "llm" admits 1000 in 1 min, and 700 are spent; the run costs 600
// summarise: 600 tokens
// classify: 100 tokens
// A run of job "summarise" costs 1001, and the limit "llm" admits 1000 in its time
