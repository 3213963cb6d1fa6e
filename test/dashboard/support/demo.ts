import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { startDashboard } from "../../../src/dashboard/index.ts";
import { Punctual } from "../../../src/index.ts";
import { seed } from "./seed.ts";
import { defineShop } from "./shop.ts";

/**
 * Serves the dashboard of a seeded database with a worker and a trickle of new runs, until stopped: to look at it while
 * developing. Arguments: the file of the database (default: dashboard-demo.db) and the port (default: 4480).
 */
const [, , file = "dashboard-demo.db", port = "4480"] = process.argv;
if (!existsSync(file)) await seed(file);
const jobs = new Punctual(`sqlite:${file}`, { logger: false });
defineShop(jobs, {
  sleep: (ms) => sleep(ms),
  random: Math.random,
  outage: () => Math.random() < 0.3,
});
const { signInUrl } = await startDashboard(jobs, { port: Number(port) });
console.log(signInUrl);
// A signal stops the worker.
void jobs.forever({ parallel: 8 }).then(() => process.exit());
for (let number = 1; ; number++) {
  jobs.dispatch("import.customers", { file: `customers-${number}.csv`, rows: 20_000 }).tags("demo");
  for (let image = 0; image < 20; image++) {
    jobs.dispatch("image.thumbnail", { image: `demo/${number}-${image}.webp`, width: 320 });
  }
  await sleep(30_000);
}
