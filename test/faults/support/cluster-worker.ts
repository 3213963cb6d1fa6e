import { Punctual } from "../../../src/index.ts";
import { noteIn } from "../../support/journal.ts";
import { defineClusterJobs } from "./cluster-jobs.ts";

/** A process that works on one node of a cluster until it is stopped. Its actions are in the journal. */
export interface ClusterWorkerConfig {
  name: string;
  url: string;
  journal: string;
}

const { name, url, journal } = JSON.parse(process.argv[2]!) as ClusterWorkerConfig;
const note = noteIn(journal, name);
const jobs = new Punctual(url, { logger: false });
defineClusterJobs(jobs, note);
for (const event of ["run.lost", "run.reaped"] as const) jobs.on(event, ({ id }) => note(event, { run: id }));
jobs.on("error", ({ error, during }) => note("error", { text: `${during}: ${String(error)}` }));
jobs.on("worker.started", () => note("worker.started"));
process.on("disconnect", () => process.exit(1));
process.channel?.unref();
await jobs.forever({ parallel: 10 });
note("ended");
