import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/time.ts";
import { type Database, type Opened, selected } from "../conformance/support/stores.ts";
import { cameAbout } from "../support/came-about.ts";
import { eventually } from "../support/eventually.ts";
import { Chaos } from "./support/chaos.ts";
import { check, type Evidence, type FinalAttempt, type FinalRun } from "./support/checker.ts";
import { LIMITS, QUEUES } from "./support/load.ts";
import { seeded } from "./support/random.ts";
import { recoveries, summary } from "./support/recovery.ts";

const LEASE = 2;
const CHILDREN = 3;
const WAVE = 80;

const given = process.env.CHAOS_SEED;
const databases = selected.filter(({ name }) => name !== "mysql");

async function evidence({ journal, asked }: Chaos, { sql }: Opened): Promise<Evidence> {
  const columns = "id, name, state, attempts, crashes, uncounted, tick_at";
  return {
    entries: journal.entries,
    asked,
    finished: await sql<FinalRun>(`select ${columns} from punctual_history`),
    unfinished: await sql<FinalRun>(`select ${columns} from punctual_runs`),
    attempts: await sql<FinalAttempt>("select run_id, outcome, error from punctual_attempts"),
    limits: LIMITS,
    queueOf: QUEUES,
  };
}

async function untilDone({ asked }: Chaos, { sql }: Opened): Promise<void> {
  const left = async () => {
    const rows = await sql<{ id: number }>("select id from punctual_runs");
    const ids = new Set(rows.map(({ id }) => id));
    return asked.filter((id) => ids.has(id)).length;
  };
  let count = 0;
  await eventually(
    () => `${count} runs to finish`,
    async () => {
      count = await left();
      return count === 0;
    },
    120_000,
  );
}

/** Diagnostics for a failed run of the test. */
function keep(found: Evidence, seed: number): string {
  const path = join(tmpdir(), `punctual-chaos-${seed}.json`);
  writeFileSync(path, JSON.stringify(found));
  return path;
}

/** Kills children, one every few hundred milliseconds, while more and more runs are dispatched. */
async function killChildren(chaos: Chaos, random: () => number, count: number): Promise<void> {
  for (let killed = 0; killed < count; killed++) {
    await chaos.dispatch(WAVE);
    await pause(150 + random() * 400);
    await chaos.untilChildren(1);
    await chaos.killOne();
  }
}

async function unleash(database: Database, seed: number): Promise<void> {
  const random = seeded(seed);
  const opened = await database.open(systemClock);
  const chaos = new Chaos(opened.url, { workers: CHILDREN, parallel: 4 }, { lease: LEASE, random });
  try {
    await chaos.jobs.install();
    await chaos.dispatch(WAVE);
    chaos.start();
    await chaos.untilChildren(CHILDREN);
    await killChildren(chaos, random, 8);
    await chaos.dispatch(WAVE);
    await chaos.untilBusy();
    const orphans = chaos.killSupervisor();
    const gone = chaos.untilGone(orphans);
    chaos.start();
    await gone;
    const poison = await chaos.job.poison.dispatch({ ms: 0 });
    chaos.asked.push(poison.id);
    await chaos.untilChildren(CHILDREN - 1);
    await killChildren(chaos, random, 4);
    await untilDone(chaos, opened);
    await chaos.stop();
    const found = await evidence(chaos, opened);
    const wrong = check(found);
    expect(wrong, `with the evidence in ${wrong.length > 0 ? keep(found, seed) : "order"}`).toEqual([]);
    expect(found.finished.find(({ id }) => id === poison.id)).toMatchObject({ state: 4, crashes: 3 });
    const measured = recoveries(found.entries);
    cameAbout("a child was killed in the middle of a run", measured.length > 0);
    console.log(
      `${database.name}, seed ${seed}: ${chaos.asked.length} runs, ${measured.length} children killed in the middle of runs; milliseconds until these were ready again: ${JSON.stringify(summary(measured.map(({ ready }) => ready)))}; until the first began again: ${JSON.stringify(summary(measured.map(({ first }) => first)))}`,
    );
  } finally {
    await chaos.clear();
    await opened.teardown();
  }
}

describe.for(databases)("processes that are killed under load, on $name", (database) => {
  const seed = given === undefined ? Math.floor(Math.random() * 1e9) : Number(given);

  test(`lose no run, and every limit holds (CHAOS_SEED=${seed})`, { timeout: 300_000 }, () =>
    unleash(database, seed),
  );
});
