import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { Punctual } from "../../../src/index.ts";
import { sleepReal } from "../../../src/time.ts";
import { summary } from "../../chaos/support/recovery.ts";
import { eventually } from "../../support/eventually.ts";
import { type Entry, Journal } from "../../support/journal.ts";
import type { Child } from "../../support/start-child.ts";
import { type BatchPlan, defineBatchJobs, type MemberArgs } from "./batch-worker.ts";
import { spawnNode } from "./spawn-node.ts";

const SCRIPT = new URL("./batch-worker.ts", import.meta.url).pathname;

/** Most members of a batch. */
const MOST_MEMBERS = 50;

/** Longest time between two kills, in milliseconds. */
const BETWEEN_KILLS = 1500;

/** Longest time until all batches have finished: some members are reaped, and some batches only swept. */
export const finishedWithin = (batches: number): number => 240_000 + batches * 200;

export interface FleetOptions {
  /** The workers' URL, perhaps of a proxy. */
  url: string;
  /** The URL of the process that makes the batches and checks them. */
  direct: string;
  processes: number;
  batches: number;
  /** Called again and again while the batches run, to do something bad. */
  harm(round: number): Promise<void> | void;
}

/**
 * Runs batches on processes that die and are killed at random moments. Checks the counts and callbacks of each batch
 * against its plan, and that no callback has started before the members that it is about had ended.
 */
export async function runBatches({ url, direct, processes, batches, harm }: FleetOptions): Promise<void> {
  const jobs = new Punctual(direct, { logger: false });
  const folder = mkdtempSync(join(tmpdir(), "punctual-batches-"));
  const journal = new Journal(join(folder, "journal.jsonl"));
  const workers: (Child | null)[] = Array(processes).fill(null);
  let isOver = false;
  const keepAlive = async (index: number) => {
    for (let life = 0; !isOver; life++) {
      const name = `worker ${index}, life ${life}`;
      const child = spawnNode(name, [SCRIPT, url, journal.path, name]);
      workers[index] = child;
      await child.gone;
    }
  };
  const killAtRandom = async () => {
    for (let left = Math.max(processes, batches / 10); left > 0 && !isOver; left--) {
      await sleepReal(Math.random() * BETWEEN_KILLS);
      const child = workers[Math.floor(Math.random() * processes)];
      if (journal.find({ what: "worker.started", by: child!.name }).length > 0) child!.signal("SIGKILL");
    }
  };
  try {
    await jobs.install();
    const { plan, callbacks } = planner(jobs);
    const fleet = Array.from({ length: processes }, (_, index) => keepAlive(index));
    const killing = killAtRandom();
    const made: { id: number; planned: BatchPlan }[] = [];
    for (let n = 0; n < batches; n++) {
      const planned = plan(n);
      const { id } = await jobs
        .batch(`batch ${n}`)
        .add(...planned.members)
        .onSuccess(callbacks.success)
        .onFailure(callbacks.failure)
        .onFinish(callbacks.finish);
      made.push({ id, planned });
      if (n % 10 === 0) await harm(n / 10);
    }
    let round = batches;
    await eventually(
      "all batches to finish",
      async () => {
        const { batches: open } = await jobs.batches({ unfinished: true, limit: 1 });
        if (open.length > 0 && round < batches + 20) await harm(round++);
        return open.length === 0;
      },
      finishedWithin(batches),
    );
    // Callbacks are not kept, so that no run is left once all have ended.
    const waiting = { where: "job:success,failure,finish is:waiting,running", limit: 1 };
    await eventually(
      "all callbacks to end",
      async () => (await jobs.runs(waiting)).runs.length === 0,
      finishedWithin(batches),
    );
    isOver = true;
    await killing;
    for (const child of workers) child?.signal("SIGKILL");
    await Promise.all(fleet);
    const noted = Map.groupBy(journal.entries, ({ key }) => Number(key));
    const late: number[] = [];
    for (const { id, planned } of made) {
      const entries = noted.get(id) ?? [];
      await check(jobs, id, planned, callbacksOf(entries));
      late.push(...latenessOf(id, entries));
    }
    // Not asserted: a busy machine may delay a callback for any time.
    console.log(
      `callbacks after the last end, in ms: ${JSON.stringify(summary(late))}, ${late.length} batches`,
    );
    expect((await jobs.verify()).violations).toEqual([]);
  } finally {
    isOver = true;
    for (const child of workers) child?.signal("SIGKILL");
    await jobs.stop();
    journal.close();
    rmSync(folder, { recursive: true });
  }
}

/** Returns the callbacks of a batch, by name. A run whose process died began more than once. */
function callbacksOf(entries: Entry[]): string[] {
  const starts = entries.filter(({ what }) => what === "start");
  return [...new Set(starts.map(({ job, run }) => `${job} ${run}`))].map((one) => one.split(" ")[0]!).sort();
}

/**
 * Expects that callbacks started after the ends that they are about. Returns how much later, in milliseconds, the
 * callback of the finish began; nothing for an empty batch.
 */
function latenessOf(id: number, entries: Entry[]): number[] {
  const members = Map.groupBy(
    entries.filter(({ what }) => what === "end"),
    ({ run }) => run!,
  );
  // The attempt that was settled: a process may have lost an earlier one and end it late.
  const ends = [...members.values()].map((all) => all.reduce((a, b) => (b.attempt! > a.attempt! ? b : a)));
  const last = Math.max(...ends.map(({ at }) => at));
  const firstFailure = Math.min(...ends.filter(({ job }) => job === "failing").map(({ at }) => at));
  const starts = entries.filter(({ what }) => what === "start");
  for (const { job, at } of starts) {
    expect(at, `${job} of batch ${id}`).toBeGreaterThan(job === "failure" ? firstFailure : last);
  }
  const finish = Math.min(...starts.filter(({ job }) => job === "finish").map(({ at }) => at));
  return ends.length === 0 ? [] : [finish - last];
}

function planner(jobs: Punctual) {
  const { kept, forgotten, failing, ...callbacks } = defineBatchJobs(jobs, () => {});
  const plan = (n: number): BatchPlan => {
    const size = (n * 7) % (MOST_MEMBERS + 1);
    const all: MemberArgs[] = Array.from({ length: size }, (_, member) => ({ n: member, does: "completes" }));
    if (n % 3 === 0 && size > 1) all[1]!.does = "retries";
    if (n % 4 === 0 && size > 2) all[2]!.does = "adds";
    if (n % 25 === 0 && size > 3) all[3]!.does = "dies";
    const members = all.map((args) => (args.n % 2 ? forgotten : kept).draft().args(args));
    const fails = n % 5 === 0 && size > 0;
    if (fails) members.push(failing.draft().args({ n: size, does: "fails" }));
    const adds = all.filter(({ does }) => does === "adds").length;
    return { members, total: members.length + adds, failed: fails ? 1 : 0 };
  };
  return { plan, callbacks };
}

async function check(
  jobs: Punctual,
  id: number,
  { total, failed }: BatchPlan,
  callbacks: string[],
): Promise<void> {
  const status = await jobs.findBatch(id);
  expect(status, `batch ${id}`).toMatchObject({
    state: "finished",
    total,
    completed: total - failed,
    failed,
    cancelled: 0,
    skipped: 0,
    unfinished: 0,
  });
  const expected = failed > 0 ? ["failure", "finish"] : ["finish", "success"];
  expect(callbacks, `callbacks of batch ${id}`).toEqual(expected);
  const dispatched = status!.callbacks.flatMap(({ on, runs }) => runs.map(() => on));
  expect(dispatched.sort(), `callbacks in the row of batch ${id}`).toEqual(expected);
}
