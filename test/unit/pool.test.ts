import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Emitter } from "../../src/events/events.ts";
import { toLogger } from "../../src/events/logger.ts";
import type { ClaimedRun, Store } from "../../src/store/store.ts";
import { toSupervision } from "../../src/supervisor/options.ts";
import { Pool } from "../../src/supervisor/pool.ts";
import { systemClock } from "../../src/time.ts";
import type { Executor, RunnableJob } from "../../src/worker/executor.ts";
import type { Logbook } from "../../src/worker/logbook.ts";
import { claimedRun } from "./support/worker.ts";

const program = process.argv[1]!;
const events = new Emitter(toLogger(false), systemClock);
const job = { settings: { timeout: null } } as unknown as RunnableJob;
let pool: Pool;

beforeEach(async () => {
  process.argv[1] = fileURLToPath(new URL("support/child.mjs", import.meta.url));
  const booted = new Promise<void>((resolve) => {
    events.on("child.started", () => resolve());
  });
  pool = new Pool({
    clock: systemClock,
    events,
    logger: toLogger(false),
    random: () => 0,
    instanceNumber: 1,
    supervision: toSupervision({ workers: 1, parallel: 2 }),
    store: {} as Store,
    logbook: {} as Logbook,
    own: { free: 2 } as Executor,
    wake() {},
    described() {},
    failed() {},
  });
  pool.crew.start();
  await booted;
});

afterEach(async () => {
  process.argv[1] = program;
  pool.crew.kill();
  await pool.crew.close();
});

/** Executes runs in the child, and notes what happens to them, in order. */
function execute(runs: ClaimedRun[], noted: (note: string, id: number) => void): void {
  for (const run of runs) {
    pool.execute(run, job, {
      began: () => noted("began", run.id),
      started: () => noted("started", run.id),
      ended: (_, { outcome }) => noted(`${outcome}`, run.id),
      returned: () => noted("returned", run.id),
    });
  }
}

test("a run starts when its child begins it, and never if the child drops it", async () => {
  const notes: string[] = [];
  await new Promise<void>((resolve) => {
    execute([claimedRun(1), claimedRun(2)], (note, id) => {
      notes.push(`${id} ${note}`);
      if (note === "returned") resolve();
    });
  });
  expect(notes).toEqual(["1 began", "2 began", "1 started", "2 released", "2 returned"]);
});

test("a child that has ended takes no run while its own runs are settled", async () => {
  const [child] = pool.crew.ready;
  const room = await new Promise<{ ready: number; free: number; hasRoom: boolean }>((resolve) => {
    execute([claimedRun(1)], (note) => {
      if (note === "started") process.kill(child!.pid, "SIGKILL");
      // The worker fills the slot that a run frees at once.
      if (note !== "returned") return;
      const { free } = pool;
      resolve({ ready: pool.crew.ready.length, free, hasRoom: pool.hasRoomFor(claimedRun(2)) });
    });
  });
  expect(room).toEqual({ ready: 0, free: 0, hasRoom: false });
});
