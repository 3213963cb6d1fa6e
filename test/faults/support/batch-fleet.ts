import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { Punctual } from "../../../src/index.ts";
import { eventually } from "../../support/eventually.ts";
import type { Child } from "../../support/start-child.ts";
import { type BatchPlan, defineBatchJobs, type MemberArgs } from "./batch-worker.ts";
import { spawnNode } from "./spawn-node.ts";

const SCRIPT = new URL("./batch-worker.ts", import.meta.url).pathname;

/** Most members of a batch. */
const MOST_MEMBERS = 20;

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

/** Runs batches on processes that die, and checks the counts and callbacks of each against its plan. */
export async function runBatches({ url, direct, processes, batches, harm }: FleetOptions): Promise<void> {
  const jobs = new Punctual(direct, { logger: false });
  const folder = mkdtempSync(join(tmpdir(), "punctual-batches-"));
  const journal = join(folder, "journal");
  writeFileSync(journal, "");
  const workers: (Child | null)[] = Array(processes).fill(null);
  let isOver = false;
  const keepAlive = async (index: number) => {
    while (!isOver) {
      const child = spawnNode(`worker ${index}`, [SCRIPT, url, journal]);
      workers[index] = child;
      await child.gone;
    }
  };
  try {
    await jobs.install();
    const { plan, callbacks } = planner(jobs);
    const fleet = Array.from({ length: processes }, (_, index) => keepAlive(index));
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
    for (const child of workers) child?.signal("SIGKILL");
    await Promise.all(fleet);
    const callbacksOf = readJournal(journal);
    for (const { id, planned } of made) await check(jobs, id, planned, callbacksOf(id));
    expect((await jobs.verify()).violations).toEqual([]);
  } finally {
    isOver = true;
    for (const child of workers) child?.signal("SIGKILL");
    await jobs.stop();
    rmSync(folder, { recursive: true });
  }
}

/** Returns the runs of the callbacks of a batch, by name. A run whose process died began more than once. */
function readJournal(file: string): (batch: number) => string[] {
  const lines = new Set(readFileSync(file, "utf8").trim().split("\n"));
  const callbacks = Map.groupBy([...lines], (line) => Number(line.split(" ")[0]));
  return (batch) => (callbacks.get(batch) ?? []).map((line) => line.split(" ")[1]!).sort();
}

function planner(jobs: Punctual) {
  const { kept, forgotten, failing, ...callbacks } = defineBatchJobs(jobs, null);
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
