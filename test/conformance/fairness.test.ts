import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/time.ts";
import { eventually } from "../support/eventually.ts";
import { type Entry, Journal } from "../support/journal.ts";
import { type Child, startChild } from "../support/start-child.ts";
import type { FairArgs, FairWorkerConfig } from "./support/fair-worker.ts";
import { insert, type RunFields, times } from "./support/requests.ts";
import { type Opened, selected } from "./support/stores.ts";

const WORKERS = 3;
const PARALLEL = 4;

const SLOTS = WORKERS * PARALLEL;

/** Runs of the tenant with many. `FAIR_BACKLOG=100000` is a longer proof. */
const BACKLOG = Number(process.env.FAIR_BACKLOG ?? 6000);

/**
 * Rounds of all slots within which a run starts that is dispatched while others are under way: one for the runs that
 * are running, one for prefetched runs that start while the next claim is under way, and one in which it starts.
 */
const ROUNDS = 3;

const INSERTED_AT_ONCE = 1000;

for (const database of selected) {
  describe(`fair queues of several processes on ${database.name}`, { timeout: 240_000 }, () => {
    let at: Opened;
    let folder: string;
    let journal: Journal;
    let workers: Child[];
    let round: number;
    beforeEach(async () => {
      at = await database.openInstalled(systemClock);
      folder = mkdtempSync(join(tmpdir(), "punctual-fair-"));
      journal = new Journal(join(folder, "journal.jsonl"));
      workers = [];
      round = 0;
      writeRound();
    });
    afterEach(async () => {
      for (const worker of workers) worker.signal("SIGKILL");
      await Promise.all(workers.map(({ gone }) => gone));
      await at.teardown();
      rmSync(folder, { recursive: true });
    });
    afterAll(() => database.end());

    const roundFile = () => join(folder, "round");

    /** Renames, so that no worker reads half of it. */
    function writeRound(): void {
      writeFileSync(`${roundFile()}.new`, String(round));
      renameSync(`${roundFile()}.new`, roundFile());
    }

    const runOf = (args: FairArgs): RunFields => {
      const job = { queue: "imports", priority: 100, limit: 0, keyLimit: 0 };
      return { name: "import", queue: "imports", key: args.key, job, args: JSON.stringify(args) };
    };

    /** Inserts runs that last until the next round, or for some milliseconds. */
    async function fill(key: string, count: number, ms: number | null = null): Promise<void> {
      for (let left = count; left > 0; left -= INSERTED_AT_ONCE) {
        await insert(at.store, ...times(Math.min(left, INSERTED_AT_ONCE), () => runOf({ key, ms })));
      }
    }

    function work(): void {
      const script = fileURLToPath(new URL("support/fair-worker.ts", import.meta.url));
      workers = times(WORKERS, (index) => {
        const config: FairWorkerConfig = {
          name: `worker ${index}`,
          url: at.url,
          journal: journal.path,
          parallel: PARALLEL,
          round: roundFile(),
        };
        return startChild(script, [JSON.stringify(config)], { ipc: true });
      });
    }

    const starts = (): Entry[] => journal.find({ what: "start" });

    /** Ends the runs of this round. Waits until all slots are in use again, and the outcomes are written. */
    async function nextRound(): Promise<void> {
      round++;
      writeRound();
      await eventually(`the starts of round ${round}`, () => starts().length === SLOTS * (round + 1));
      const left = BACKLOG + 1 - SLOTS * round;
      const count = async () =>
        Number((await at.sql<{ n: number }>("select count(*) as n from punctual_runs"))[0]!.n);
      await eventually(`the outcomes of round ${round}`, async () => (await count()) === left);
    }

    test("a single run of one tenant starts with the first of many of another", async () => {
      await fill("many", BACKLOG);
      await fill("one", 1);
      work();
      // The others keep their slots, so that it starts in the first round or never.
      const one = await journal.until({ what: "start", key: "one" });
      const before = starts().slice(0, starts().indexOf(one));
      expect(before.length).toBeLessThan(SLOTS);
      // The worker that took it: one turn of the other lane, in each of its slots.
      expect(before.filter(({ by }) => by === one.by).length).toBeLessThan(PARALLEL);
      expect(journal.find({ what: "error" })).toEqual([]);
    });

    test("so does a run that is dispatched while many of another tenant are under way", async () => {
      await fill("many", BACKLOG);
      work();
      await eventually("every slot to be in use", () => starts().length === SLOTS);
      await fill("one", 1);
      while (round < ROUNDS && journal.find({ what: "start", key: "one" }).length === 0) await nextRound();
      expect(journal.find({ what: "start", key: "one" })).toHaveLength(1);
      expect(journal.find({ what: "error" })).toEqual([]);
    });

    test("weights of 3 to 1 hold within 5 % over 4,000 starts", async () => {
      await fill("silver", 4000, 1);
      await fill("gold", 4000, 1);
      work();
      await eventually("4,000 starts", () => starts().length >= 4000, 200_000);
      const first = starts().slice(0, 4000);
      const gold = first.filter(({ key }) => key === "gold").length;
      expect(gold).toBeGreaterThan(3000 * 0.95);
      expect(gold).toBeLessThan(3000 * 1.05);
      expect(new Set(first.map(({ by }) => by)).size).toBeGreaterThan(1);
      expect(journal.find({ what: "error" })).toEqual([]);
    });
  });
}
