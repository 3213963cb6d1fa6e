// The jobs of `npm start`. Change one, add one, start again and see what it does.
import { setTimeout as pause } from "node:timers/promises";
import { PermanentError, Punctual } from "../src/index.ts";

export const jobs: Punctual = new Punctual(process.env.PUNCTUAL_DATABASE_URL ?? "sqlite:./punctual.db", {
  logger: false,
});

// The simplest there is. What a handler returns is kept as the result of its run.
const greet = jobs.define("greet", async (args: { name: string }) => `Hello, ${args.name}!`);

// Fails now and then, and is retried a little later: three attempts in all.
const weather = jobs
  .define("weather", async (args: { city: string }) => {
    await pause(20 + Math.random() * 60);
    if (args.city === "Atlantis") throw new PermanentError("no such city: Atlantis");
    if (Math.random() < 0.6) throw new Error("no answer");
    return `${Math.round(5 + Math.random() * 20)} °C in ${args.city}`;
  })
  .attempts({ max: 3, base: 2, cap: 5 });

// Dispatched for later: see the list below.
const remind = jobs.define("remind", async (args: { of: string }) => `Time for ${args.of}`);

// Takes its time, and only two may run at once; the others wait their turn.
const thumbnail = jobs
  .define("thumbnail", async (args: { image: string }, run) => {
    await pause(700, undefined, { signal: run.signal });
    return args.image;
  })
  .concurrency(2);

// Tells what it is doing, and is left out when there is nothing to do.
const importer = jobs
  .define("import", async (args: { rows: number }, run) => {
    for (let done = 100; done <= args.rows; done += 100) {
      await pause(300, undefined, { signal: run.signal });
      run.log(`${done} of ${args.rows} rows`);
    }
  })
  .skip((args) => args.rows === 0);

// Nobody dispatches it: it ticks by itself, however many workers there are.
jobs
  .define("memory", async () => `${Math.round(process.memoryUsage().rss / 2 ** 20)} MB in use`)
  .everyFiveSeconds();

/** Dispatches: one of these each second, in turn. */
export const turns: (() => PromiseLike<unknown>)[] = [
  () => greet.dispatch({ name: "Ada" }),
  () => weather.dispatch({ city: "Lisbon" }),
  () => remind.dispatch({ of: "tea" }).delay("5s"),
  () => thumbnail.dispatchMany([{ image: "cat.png" }, { image: "dog.png" }, { image: "owl.png" }]),
  () => greet.dispatch({ name: "Grace" }),
  () => importer.dispatch({ rows: 300 }),
  () => weather.dispatch({ city: "Atlantis" }),
  () => importer.dispatch({ rows: 0 }),
];
