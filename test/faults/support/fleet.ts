import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { Punctual } from "../../../src/index.ts";
import { eventually } from "../../support/eventually.ts";
import { Journal } from "../../support/journal.ts";
import type { Child } from "../../support/start-child.ts";
import type { Direct } from "./direct.ts";
import type { WorkerConfig } from "./server-worker.ts";
import { spawnNode } from "./spawn-node.ts";

/** Instances and workers on a PostgreSQL cluster, with their journal. All end with the test. */
export class Fleet {
  readonly url: string;
  readonly journal: Journal;
  readonly #folder: string = mkdtempSync(join(tmpdir(), "punctual-fleet-"));

  constructor(url: string) {
    this.url = url;
    this.journal = new Journal(join(this.#folder, "journal.jsonl"));
    onTestFinished(() => {
      this.journal.close();
      rmSync(this.#folder, { recursive: true });
    });
  }

  punctual(url: string = this.url): Punctual {
    const jobs = new Punctual(url, { logger: false });
    onTestFinished(() => jobs.stop());
    return jobs;
  }

  worker(name: string, config: Partial<WorkerConfig> = {}): Child {
    const { url, journal } = this;
    const whole: WorkerConfig = {
      name,
      kind: "postgres",
      url,
      direct: url,
      journal: journal.path,
      ...config,
    };
    const script = fileURLToPath(new URL("server-worker.ts", import.meta.url));
    const child = spawnNode(name, [script, JSON.stringify(whole)], { cwd: this.#folder });
    onTestFinished(async () => {
      child.signal("SIGKILL");
      await child.gone;
    });
    return child;
  }

  /** How often each run was started, according to the journal. */
  starts(): Map<number, number> {
    const counts = new Map<number, number>();
    for (const { run } of this.journal.find({ what: "start" })) counts.set(run!, (counts.get(run!) ?? 0) + 1);
    return counts;
  }

  /** Waits until all runs have finished, and checks that each was started once, and that each tick made one run. */
  async expectEachOnce(direct: Direct, accepted: number[]): Promise<void> {
    const unfinished = () => direct.sql("select id from punctual_runs where name = 'work'");
    await eventually("all runs to finish", async () => (await unfinished()).length === 0);
    const starts = this.starts();
    expect(accepted.filter((id) => starts.get(id) !== 1)).toEqual([]);
    const twice = await direct.sql(
      "select schedule, tick_at from punctual_history where name = 'beat' group by schedule, tick_at having count(*) > 1",
    );
    expect(twice).toEqual([]);
    expect(this.journal.find({ what: "error" })).toEqual([]);
  }
}
