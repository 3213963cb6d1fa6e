import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/time.ts";
import { eventually } from "../support/eventually.ts";
import { type Entry, Journal } from "../support/journal.ts";
import { type Child, startChild } from "../support/start-child.ts";
import type { FairWorkerConfig } from "./support/fair-worker.ts";
import { insert, type RunFields, times } from "./support/requests.ts";
import { type Opened, selected } from "./support/stores.ts";

const WORKERS = 3;
const PARALLEL = 4;

/**
 * Runs of the tenant with many, and the part of them that may start before a single run of another tenant.
 * `FAIR_BACKLOG=100000` is a longer proof.
 */
const BACKLOG = Number(process.env.FAIR_BACKLOG ?? 6000);
const PART = BACKLOG / 4;

const INSERTED_AT_ONCE = 1000;

for (const database of selected) {
  describe(`fair queues of several processes on ${database.name}`, { timeout: 240_000 }, () => {
    let at: Opened;
    let folder: string;
    let journal: Journal;
    let workers: Child[];
    beforeEach(async () => {
      at = await database.openInstalled(systemClock);
      folder = mkdtempSync(join(tmpdir(), "punctual-fair-"));
      journal = new Journal(join(folder, "journal.jsonl"));
      workers = [];
    });
    afterEach(async () => {
      for (const worker of workers) worker.signal("SIGKILL");
      await Promise.all(workers.map(({ gone }) => gone));
      await at.teardown();
      rmSync(folder, { recursive: true });
    });
    afterAll(() => database.end());

    const runOf = (key: string): RunFields => {
      const job = { queue: "imports", priority: 100, limit: 0, keyLimit: 0 };
      return { name: "import", queue: "imports", key, job, args: JSON.stringify({ key, ms: 1 }) };
    };

    async function fill(key: string, count: number): Promise<void> {
      for (let left = count; left > 0; left -= INSERTED_AT_ONCE) {
        await insert(at.store, ...times(Math.min(left, INSERTED_AT_ONCE), () => runOf(key)));
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
        };
        return startChild(script, [JSON.stringify(config)], { ipc: true });
      });
    }

    const starts = (): Entry[] => journal.find({ what: "start" });

    test("a single run of one tenant starts with the first of many of another", async () => {
      await fill("many", BACKLOG);
      await fill("one", 1);
      work();
      const one = await journal.until({ what: "start", key: "one" });
      const before = starts().slice(0, starts().indexOf(one));
      // The worker that took it: one turn of the other lane, in each of its slots.
      expect(before.filter(({ by }) => by === one.by).length).toBeLessThanOrEqual(PARALLEL);
      expect(before.length).toBeLessThan(PART);
      expect(journal.find({ what: "error" })).toEqual([]);
    });

    test("so do runs that are dispatched while many of another tenant are under way", async () => {
      await fill("many", BACKLOG);
      work();
      await eventually("every worker to work", () => new Set(starts().map(({ by }) => by)).size === WORKERS);
      const overtaken: number[] = [];
      for (const key of ["a", "b", "c"]) {
        const dispatched = starts().length;
        await fill(key, 1);
        const one = await journal.until({ what: "start", key });
        overtaken.push(starts().indexOf(one) - dispatched);
      }
      for (const count of overtaken) expect(count).toBeLessThan(PART);
    });

    test("weights of 3 to 1 hold within 5 % over 4,000 starts", async () => {
      await fill("silver", 4000);
      await fill("gold", 4000);
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
