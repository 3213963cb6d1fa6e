import { Punctual } from "../../../src/index.ts";
import { noteIn } from "../../support/journal.ts";

/** A process with an ad hoc function. */
const [database, journal, behaviour, name] = process.argv.slice(2) as [
  string,
  string,
  "waits" | "waits and works" | "runs" | "dispatches again",
  string,
];
const note = noteIn(journal, name);
const jobs = new Punctual(`sqlite:${database}`, { logger: false, defaults: { lease: 1 } });

const stuck = () => {
  note("start");
  return new Promise(() => {});
};

if (behaviour === "waits" || behaviour === "waits and works") {
  const { id } = await jobs.dispatch("mine", stuck).delay(3600);
  note("dispatched", { run: id });
  jobs.on("worker.started", () => note("worker.started"));
  if (behaviour === "waits and works") void jobs.forever();
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
// Runs until it is killed.
setInterval(() => {}, 1000);
