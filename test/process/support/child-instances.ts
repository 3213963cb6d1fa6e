import { Job, Punctual, type PunctualError, type SuperviseOptions } from "../../../src/index.ts";
import { noteIn } from "../../support/journal.ts";

/** Programs that call supervise() in other ways than once on one instance. */
export type Way = "two" | "twice" | "stopped" | "booting" | "default" | "silent";

const [way, folder, journal] = process.argv.slice(2) as [Way, string, string];
const isChild = process.env.PUNCTUAL_CHILD !== undefined;
const note = noteIn(journal, isChild ? "child" : "parent");

function instance(name: string): Punctual {
  const jobs = new Punctual(`sqlite:${folder}/${name}.db`, { logger: false });
  return withJob(jobs, name);
}

/** All have the same job; its result names the instance. */
function withJob(jobs: Punctual, name: string): Punctual {
  jobs.schedule("who", (_: unknown, run) => {
    note("start", { run: run.id, job: name });
    return name;
  });
  if (!isChild) {
    jobs.on("run.completed", ({ result, name: job }) => {
      if (job !== "who") return;
      note("run.completed", { job: name, text: String(result) });
      void jobs.stop();
    });
  }
  return jobs;
}

async function supervise(jobs: Punctual, options: SuperviseOptions = {}): Promise<void> {
  try {
    note("ended", { ids: [await jobs.supervise({ workers: 1, ...options })] });
  } catch (error) {
    const { code, message } = error as PunctualError;
    note("rejected", { code, text: message });
  }
}

const ways: Record<Way, () => Promise<unknown>> = {
  async two() {
    const [first, second] = [instance("first"), instance("second")];
    // The second instance's database answers before the first one's, in the parent only.
    if (!isChild) await second.dispatch("who");
    if (!isChild) void first.dispatch("who");
    await Promise.all([supervise(first), supervise(second)]);
  },

  async twice() {
    const jobs = instance("first");
    jobs.on("child.started", async () => {
      note("children", { ids: jobs.children().map(({ number }) => number) });
      await jobs.dispatch("who");
    });
    await Promise.all([supervise(jobs), supervise(jobs)]);
  },

  async stopped() {
    const jobs = instance("first");
    const supervised = supervise(jobs);
    await jobs.stop();
    await supervised;
  },

  async booting() {
    if (isChild) {
      note("booting");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    }
    const jobs = instance("first");
    const supervised = supervise(jobs);
    process.once("SIGUSR2", () => void jobs.stop());
    await supervised;
  },

  async default() {
    process.env.PUNCTUAL_DATABASE_URL = `sqlite:${folder}/default.db`;
    withJob(Job, "default");
    if (!isChild) await Job.dispatch("who");
    await supervise(Job);
  },

  async silent() {
    const jobs = instance("first");
    jobs.schedule("hold", () => {
      // When it is over: what holds the event loop is no run.
      setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4000), 100);
    });
    const dispatchOnceStalled = () => {
      if (jobs.children()[0]?.state === "stalled") void jobs.dispatch("who");
      else setTimeout(dispatchOnceStalled, 10);
    };
    if (!isChild) {
      void jobs.dispatch("hold");
      jobs.on("run.completed", ({ name }) => name === "hold" && dispatchOnceStalled());
    }
    await supervise(jobs, { sleep: "1 hour" });
  },
};

await ways[way]();
