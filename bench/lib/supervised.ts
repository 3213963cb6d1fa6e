// A worker with handlers in child processes, or in its own. It prints the rate at which runs complete, without the
// first third. Arguments: the folder of the built package, the URL, the number of runs, `supervise` or `forever`.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as Package from "../../src/index.ts";

const [built, url, given, mode] = process.argv.slice(2) as [string, string, string, "supervise" | "forever"];
const { Punctual } = (await import(pathToFileURL(join(built, "index.js")).href)) as typeof Package;
const count = Number(given);
const jobs = new Punctual(url, { logger: false });
jobs.schedule("bench", async () => {}).concurrency(0);

let completed = 0;
let warmAt = 0;
const warm = Math.floor(count / 3);
jobs.on("run.completed", () => {
  completed++;
  if (completed === warm) warmAt = performance.now();
  if (completed !== count) return;
  console.log(((count - warm) / (performance.now() - warmAt)) * 1000);
  void jobs.stop();
});
await jobs[mode]();
