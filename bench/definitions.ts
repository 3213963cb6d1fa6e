// What thousands of scheduled definitions cost: to show them, to find what is due among them, and in memory above bare Node.
// Measures the sources as they are, so the figure of memory holds what Node needs to strip their types as well. `--quick`: fewer.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Punctual } from "../src/index.ts";
import { SqliteStore } from "../src/store/sqlite/store.ts";

const COUNT = process.argv.includes("--quick") ? 500 : 5000;
const ZONES = ["UTC", "Europe/Berlin", "America/New_York"];

const samples: Record<"syncJobs" | "tick", number[]> = { syncJobs: [], tick: [] };
for (const method of ["syncJobs", "tick"] as const) {
  const original = SqliteStore.prototype[method] as (request: never) => Promise<unknown>;
  Object.assign(SqliteStore.prototype, {
    async [method](this: SqliteStore, request: never) {
      const since = performance.now();
      const answer = await original.call(this, request);
      samples[method].push(performance.now() - since);
      return answer;
    },
  });
}

const megabytes = () => process.memoryUsage().rss / 2 ** 20;
const bare = Number(
  spawnSync(process.execPath, ["-p", "process.memoryUsage().rss / 2 ** 20"], { encoding: "utf8" }).stdout,
);

const folder = mkdtempSync(join(tmpdir(), "punctual-bench-"));
const jobs = new Punctual(`sqlite:${join(folder, "jobs.db")}`, { logger: false });
const loaded = megabytes();
for (let i = 0; i < COUNT; i++) {
  jobs
    .schedule(`job ${i}`, () => {})
    .cron(`${i % 60} ${i % 24} * * *`)
    .timezone(ZONES[i % ZONES.length]!);
}
jobs.schedule("beat", () => {}).everySecond();
const working = jobs.forever({ signals: false });
await new Promise<void>((resolve) => {
  let ticks = 0;
  jobs.on("schedule.ticked", ({ job }) => {
    if (job === "beat" && ++ticks === 3) resolve();
  });
});
const resident = megabytes();
await jobs.stop();
await working;
rmSync(folder, { recursive: true });

const most = (values: number[]) => `${Math.max(...values).toFixed(1)} ms`;
console.table({
  [`show ${COUNT} definitions`]: { at_most: most(samples.syncJobs) },
  "find and make what is due": { at_most: most(samples.tick) },
  "bare Node": { resident: `${bare.toFixed(0)} MB` },
  "with Punctual loaded": { resident: `${loaded.toFixed(0)} MB` },
  [`with ${COUNT} definitions at work`]: { resident: `${resident.toFixed(0)} MB` },
});
