import type { RunInfo } from "../../run/info.ts";
import { readProgress } from "../../run/progress.ts";
import { redact } from "../../run/redact.ts";
import type { RunState } from "../../run/states.ts";
import type { Style } from "../output/output.ts";
import { progressBar } from "../render/bar.ts";
import { ago, due, duration, span, stamp } from "../render/formats.ts";
import type { Icons } from "../render/icons.ts";
import type { Page } from "../render/page.ts";
import type { Column, TableCell } from "../render/table.ts";

export const RUN_LOOKS: Record<RunState, { icon: keyof Icons; style: Style }> = {
  scheduled: { icon: "waiting", style: "dim" },
  ready: { icon: "idle", style: "yellow" },
  running: { icon: "running", style: "cyan" },
  completed: { icon: "ok", style: "green" },
  failed: { icon: "failed", style: "red" },
  cancelled: { icon: "cancelled", style: "dim" },
  skipped: { icon: "skipped", style: "dim" },
};

/** Columns of `list runs`. The progress is shown if one of the runs is running and has a bar. */
export function runColumns(now: Date, page: Page, runs: readonly RunInfo[] = []): Column<RunInfo>[] {
  const hasProgress = runs.some(({ state, progress }) => state === "running" && readProgress(progress));
  const { icons, zone } = page;
  const at = (date: Date | null): TableCell => (date ? stamp(date, zone) : icons.none);
  const json = (value: unknown): TableCell => (value === undefined ? "" : JSON.stringify(redact(value)));
  return [
    {
      title: "",
      gap: 1,
      cell: ({ state }) => ({ text: icons[RUN_LOOKS[state].icon], style: RUN_LOOKS[state].style }),
    },
    { title: "Id", cell: ({ id }) => id, align: "right" },
    { title: "Job", cell: ({ name }) => name, min: 14 },
    { title: "Queue", cell: ({ queue }) => queue, drop: 1, min: 10 },
    { title: "State", cell: ({ state }) => ({ text: state, style: RUN_LOOKS[state].style }) },
    { title: "Attempt", cell: ({ attempts }) => attempts, align: "right", drop: 2 },
    { title: "When", cell: (run) => whenOf(run, now) },
    { title: "Took", cell: (run) => tookOf(run, now) ?? icons.none, align: "right", drop: 3 },
    {
      title: "Progress",
      cell: ({ progress }) => progressText(progress, icons) ?? json(progress),
      min: 8,
      hidden: !hasProgress,
      drop: 4,
    },
    { title: "Worker", cell: ({ worker }) => worker ?? icons.none, hidden: true },
    { title: "Key", cell: ({ key }) => key ?? "", hidden: true },
    { title: "Priority", cell: ({ priority }) => priority, align: "right", hidden: true },
    { title: "Crashes", cell: ({ crashes }) => crashes, align: "right", hidden: true },
    { title: "Waited", cell: (run) => waitedOf(run) ?? icons.none, align: "right", hidden: true },
    { title: "Created", cell: ({ createdAt }) => at(createdAt), hidden: true },
    { title: "Due", cell: ({ runAt }) => at(runAt), hidden: true },
    { title: "Started", cell: ({ startedAt }) => at(startedAt), hidden: true },
    { title: "Finished", cell: ({ finishedAt }) => at(finishedAt), hidden: true },
    { title: "Tags", cell: ({ tags }) => tags.join(", "), min: 8, hidden: true },
    { title: "Batch", cell: ({ batchId }) => batchId ?? "", hidden: true },
    { title: "Parent", cell: ({ parentId }) => parentId ?? "", align: "right", hidden: true },
    { title: "Args", cell: ({ args }) => json(args), min: 12, hidden: true },
    { title: "Result", cell: ({ result }) => json(result), min: 12, hidden: true },
    { title: "Error", cell: ({ error }) => ({ text: error?.message ?? "", style: "red" }), min: 12 },
  ];
}

/** `▇▇▇░░░░░  40 %`; null: the progress is not made of two numbers. */
function progressText(value: unknown, icons: Icons): string | null {
  const progress = readProgress(value);
  return progress && progressBar(progress, icons, 8);
}

/** `3m ago` for a finished run, `for 12s` for a running one, `waits 4s` or `in 2m` for a waiting one. */
export function whenOf({ state, runAt, startedAt, finishedAt, worker }: RunInfo, now: Date): string {
  if (finishedAt) return ago(finishedAt, now);
  if (startedAt) return `for ${span(Number(now) - Number(startedAt))}`;
  if (worker !== null) return "claimed";
  return state === "ready" && Number(runAt) <= Number(now)
    ? `waits ${span(Number(now) - Number(runAt))}`
    : due(runAt, now);
}

/** Duration of the last attempt, or of the current one so far; null: it has not started. */
export function tookOf({ startedAt, finishedAt, state }: RunInfo, now: Date): string | null {
  if (!startedAt || (state !== "running" && !finishedAt)) return null;
  return duration(Number(finishedAt ?? now) - Number(startedAt));
}

/** Time from the moment the run was due to the start of its last attempt; null: it has not started. */
export function waitedOf({ startedAt, runAt }: RunInfo): string | null {
  return startedAt ? duration(Number(startedAt) - Number(runAt)) : null;
}
