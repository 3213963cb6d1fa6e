// Runs what is due, and ends.
import { jobs } from "./jobs.ts";

await jobs.run();
await jobs.stop();
