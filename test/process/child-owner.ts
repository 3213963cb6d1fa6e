import { Punctual } from "../../src/index.ts";
import { noteIn } from "./journal.ts";

/** A process with a function of its own to run. */
const [database, journal, behaviour] = process.argv.slice(2) as [
  string,
  string,
  "waits" | "runs" | "dispatches again",
];
const note = noteIn(journal, "owner");
const jobs = new Punctual(`sqlite:${database}`, { logger: false, defaults: { lease: 1 } });

const stuck = () => {
  note("start");
  return new Promise(() => {});
};

if (behaviour === "waits") {
  const { id } = await jobs.dispatch("mine", stuck).delay(3600);
  note("dispatched", { run: id });
} else if (behaviour === "runs") {
  const { id } = await jobs.dispatch("mine", stuck);
  note("dispatched", { run: id });
  void jobs.forever();
} else {
  await jobs.dispatch("mine", () => {});
  await jobs.run();
  const { id } = await jobs.dispatch("mine", () => {});
  note("dispatched", { run: id });
  process.on("message", async () => {
    await jobs.run();
    note("ran");
  });
}
// Lives until it is killed.
setInterval(() => {}, 1000);
