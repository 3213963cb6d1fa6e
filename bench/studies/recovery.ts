// How soon the runs of a child process that was killed are ready again, and begin elsewhere: children of a supervisor
// are killed one after the other, under load, on SQLite and on each database server that is found here. Milliseconds.
// `--quick`: a few kills, on SQLite.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Chaos } from "../../test/chaos/support/chaos.ts";
import { type Recovery, recoveries, summary } from "../../test/chaos/support/recovery.ts";
import { isAvailable } from "../../test/servers/find.ts";
import { serverKinds } from "../../test/servers/server.ts";
import { startServer } from "../../test/servers/start.ts";

const quick = process.argv.includes("--quick");
/** A supervisor waits before it replaces children that die young: so each loses a few, and the next has new ones. */
const ROUNDS = quick ? 1 : 7;
const CHILDREN = 4;
const KILLS = 3;

async function round(url: string): Promise<Recovery[]> {
  const chaos = new Chaos(url, { workers: CHILDREN, parallel: 4 }, { lease: 60 });
  try {
    await chaos.jobs.install();
    chaos.start();
    await chaos.untilChildren(CHILDREN);
    for (let kill = 0; kill < KILLS; kill++) {
      await chaos.dispatch(80);
      await pause(200 + Math.random() * 200);
      await chaos.killOne();
      await pause(1000);
    }
    await chaos.stop();
    return recoveries(chaos.journal.entries);
  } finally {
    await chaos.clear();
  }
}

async function measure(name: string, url: string): Promise<void> {
  const measured: Recovery[] = [];
  for (let number = 0; number < ROUNDS; number++) measured.push(...(await round(url)));
  console.log(`\n${name}: ${measured.length} children killed in the middle of runs`);
  console.table({
    "all its runs are ready": summary(measured.map(({ ready }) => ready)),
    "the first begins again": summary(measured.map(({ first }) => first)),
    "the last begins again": summary(measured.map(({ last }) => last)),
  });
}

const folder = mkdtempSync(join(tmpdir(), "punctual-recovery-"));
await measure("sqlite", `sqlite:${join(folder, "jobs.db")}`);
rmSync(folder, { recursive: true });
for (const kind of quick ? [] : serverKinds.filter(isAvailable)) {
  const server = await startServer(kind, { durable: true });
  await measure(`${kind} ${server.version}`, server.url);
  await server.stop();
}
