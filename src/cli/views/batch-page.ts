import { type BatchStatus, toBatchLink } from "../../run/batch.ts";
import type { RunInfo } from "../../run/info.ts";
import { plain } from "../output/output.ts";
import { ago, duration, grouped } from "../render/formats.ts";
import type { Page } from "../render/page.ts";
import { type Column, type TableCell, table } from "../render/table.ts";
import { cut } from "../render/width.ts";
import { batchBar, batchLook } from "./batch-columns.ts";
import { at, block, facts, indented } from "./page-blocks.ts";

export interface BatchDetails {
  batch: BatchStatus;
  /** Callbacks that were dispatched, the newest first. */
  callbacks: RunInfo[];
  /** The latest failed members. */
  failures: RunInfo[];
  now: Date;
}

/** The page of `show batch:<id>`. */
export function batchPage({ batch, callbacks, failures, now }: BatchDetails, page: Page): string[] {
  const { icon, style } = batchLook(batch);
  const title = `Batch ${batch.id} ${plain(batch.name)}: ${batch.state}`;
  const width = page.width ?? Number.POSITIVE_INFINITY;
  const withAgo = (date: Date | null) => date && `${at(date, page)} (${ago(date, now)})`;
  const count = (number: number) => (number > 0 ? grouped(number) : null);
  const took = batch.finishedAt && duration(Number(batch.finishedAt) - Number(batch.createdAt));
  return [
    `${page.paint(style, page.icons[icon])} ${page.paint("bold", cut(title, width - 5, page.icons.ellipsis))}`,
    "",
    ...facts(
      [
        [
          "Progress",
          `${batchBar(batch, page.icons, 20)}  ${grouped(batch.total - batch.unfinished)}/${grouped(batch.total)}`,
        ],
        ["Waiting", count(batch.waiting)],
        ["Running", count(batch.running)],
        ["Completed", count(batch.completed)],
        ["Failed", count(batch.failed)],
        ["Cancelled", count(batch.cancelled)],
        ["Skipped", count(batch.skipped)],
        ["Failures", batch.failures === "cancel" ? "the first one cancels the rest" : null],
        ["Created", withAgo(batch.createdAt)],
        ["Sealed", batch.sealedAt === null ? "no: members may be added" : at(batch.sealedAt, page)],
        ["First failure", withAgo(batch.failedAt)],
        ["Cancelled at", withAgo(batch.cancelledAt)],
        ["Finished", withAgo(batch.finishedAt)],
        ["Took", took],
      ],
      page,
    ),
    ...block("Callbacks", callbackLines(batch, callbacks, page), page),
    ...block("Members that failed last", runLines(failures, page), page),
  ];
}

/** A callback: a run of it, or what it waits for. */
interface CallbackLine {
  on: BatchStatus["callbacks"][number]["on"];
  job: string;
  run: RunInfo | null;
}

function callbackLines(batch: BatchStatus, runs: RunInfo[], page: Page): string[] {
  const { callbacks, state, cancelledAt } = batch;
  const waiting = callbacks.filter((callback) => callback.runs.length === 0);
  const lines: CallbackLine[] = [
    ...runs.map((run) => ({ on: toBatchLink(run.batchId)!.on!, job: run.name, run })),
    ...waiting.map(({ on, job }) => ({ on, job, run: null })),
  ];
  const none = (on: CallbackLine["on"]) => {
    const isTooLate = state === "finished" || (on === "success" && cancelledAt !== null);
    return isTooLate ? "not dispatched" : "not yet dispatched";
  };
  return tableLines<CallbackLine>(
    [
      { title: "On", cell: ({ on }) => on },
      {
        title: "Id",
        cell: ({ run }) => run?.id ?? { text: page.icons.none, style: "dim" },
        align: "right",
      },
      { title: "Job", cell: ({ job }) => job, min: 14 },
      { title: "State", cell: ({ on, run }) => run?.state ?? { text: none(on), style: "dim" } },
      { title: "Error", cell: ({ run }) => errorCell(run), min: 12 },
    ],
    lines,
    page,
  );
}

function runLines(runs: RunInfo[], page: Page): string[] {
  return tableLines<RunInfo>(
    [
      { title: "Id", cell: ({ id }) => id, align: "right" },
      { title: "Job", cell: ({ name }) => name, min: 14 },
      { title: "State", cell: ({ state }) => state },
      { title: "Error", cell: errorCell, min: 12 },
    ],
    runs,
    page,
  );
}

function errorCell(run: RunInfo | null): TableCell {
  return { text: run?.error ? `${run.error.name}: ${run.error.message}` : "", style: "red" };
}

function tableLines<Row>(columns: Column<Row>[], rows: Row[], page: Page): string[] {
  if (rows.length === 0) return [];
  const width = page.width === null ? null : page.width - 2;
  return indented(table(columns, rows, { ...page, width }));
}

/** Returns hints with commands that apply to the batch. */
export function batchHints({ batch: { id, state, failed, cancelled, cancelledAt } }: BatchDetails): string[] {
  const hints = [`Its members: punctual list --where batch:${id}`];
  if (state === "open") hints.push(`End the adding of members: punctual batch seal ${id}`);
  if (state !== "finished" && cancelledAt === null) hints.push(`Cancel it: punctual batch cancel ${id}`);
  if (state === "finished" && failed + cancelled > 0)
    hints.push(`Run its failed and cancelled members again: punctual batch retry ${id}`);
  return hints;
}
