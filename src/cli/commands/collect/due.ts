import type { Punctual } from "../../../punctual.ts";
import { type QueueSelection, serves } from "../../../store/queue-selection.ts";
import { type Output, plain } from "../../output/output.ts";
import { counted } from "../../render/formats.ts";
import { pagesOf } from "../runs/fetch-runs.ts";

/** Most waiting runs that are read; a larger backlog is reported as incomplete. */
const MOST_COUNTED = 10_000;

/** Prints how many due runs and ticks each job has. */
export async function printDue(
  jobs: Punctual,
  served: QueueSelection,
  ticks: boolean,
  output: Output,
): Promise<void> {
  const { now } = await jobs.status();
  const due = new Map<string, { job: string; runs: number; ticks: number }>();
  const at = (job: string) => {
    const one = due.get(job) ?? { job, runs: 0, ticks: 0 };
    due.set(job, one);
    return one;
  };
  const { complete } = await countRuns(jobs, now, served, (job) => at(job).runs++);
  for (const { job, nextTick, paused, queue } of ticks ? await jobs.schedules() : []) {
    const isHere = queue === null || serves(served, queue);
    if (nextTick !== null && nextTick <= now && !paused && isHere) at(job).ticks++;
  }
  const all = [...due.values()].sort((a, b) => b.runs + b.ticks - (a.runs + a.ticks));
  if (output.isJson) {
    output.json({ due: all, complete });
    return;
  }
  if (all.length === 0) return output.note("nothing is due");
  for (const { job, runs, ticks } of all) {
    const parts = [runs > 0 ? counted(runs, "run") : "", ticks > 0 ? counted(ticks, "tick") : ""];
    output.print(`${plain(job)}  ${parts.filter(Boolean).join(", ")}`);
  }
  if (!complete) output.note(`and more: only ${MOST_COUNTED} runs were counted`);
}

async function countRuns(
  jobs: Punctual,
  now: Date,
  served: QueueSelection,
  count: (job: string) => void,
): Promise<{ complete: boolean }> {
  let complete = false;
  for await (const { runs, next } of pagesOf(jobs, { state: ["ready", "scheduled"] }, MOST_COUNTED)) {
    for (const { name, queue, runAt } of runs) {
      if (runAt <= now && serves(served, queue)) count(name);
    }
    complete = next === null;
  }
  return { complete };
}
