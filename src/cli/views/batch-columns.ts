import type { BatchInfo } from "../../run/batch.ts";
import type { Style } from "../output/output.ts";
import { progressBar } from "../render/bar.ts";
import { ago, grouped } from "../render/formats.ts";
import type { Icons } from "../render/icons.ts";
import type { Page } from "../render/page.ts";
import type { Column, TableCell } from "../render/table.ts";

/** Columns of the bar in a list. */
const BAR = 12;

/** How a batch looks: a failure shows before it has finished, and a check mark means that it has succeeded. */
export function batchLook({ state, failed, cancelled, cancelledAt }: BatchInfo): {
  icon: keyof Icons;
  style: Style;
} {
  if (failed > 0) return { icon: "failed", style: "red" };
  if (state === "finished" && (cancelled > 0 || cancelledAt !== null))
    return { icon: "cancelled", style: "dim" };
  if (state === "finished") return { icon: "ok", style: "green" };
  return state === "open" ? { icon: "idle", style: "dim" } : { icon: "running", style: "cyan" };
}

/** The bar of a batch: members that have ended, of all that were added. */
export function batchBar({ total, unfinished, state }: BatchInfo, icons: Icons, length: number): string {
  // An empty batch that is open has done nothing yet.
  return progressBar(
    { done: total - unfinished, of: total || (state === "finished" ? 0 : 1) },
    icons,
    length,
  );
}

/** The table of `batches`: one line for each batch. */
export function batchColumns(now: Date, { icons }: Page): Column<BatchInfo>[] {
  const count = (number: number, style: Style): TableCell =>
    number > 0 ? { text: grouped(number), style } : { text: icons.none, style: "dim" };
  return [
    {
      title: "",
      gap: 1,
      cell: (batch) => {
        const { icon, style } = batchLook(batch);
        return { text: icons[icon], style };
      },
    },
    { title: "Id", cell: ({ id }) => id, align: "right" },
    { title: "Name", cell: ({ name }) => name, min: 16 },
    { title: "State", cell: ({ state }) => state },
    { title: "Progress", cell: (batch) => batchBar(batch, icons, BAR) },
    { title: "Members", cell: ({ total }) => grouped(total), align: "right" },
    { title: "Failed", cell: ({ failed }) => count(failed, "red"), align: "right" },
    { title: "Cancelled", cell: ({ cancelled }) => count(cancelled, "yellow"), align: "right", drop: 4 },
    { title: "Skipped", cell: ({ skipped }) => count(skipped, "dim"), align: "right", drop: 3 },
    { title: "Created", cell: ({ createdAt }) => ago(createdAt, now), drop: 2 },
    {
      title: "Finished",
      cell: ({ finishedAt }) => (finishedAt ? ago(finishedAt, now) : { text: icons.none, style: "dim" }),
      drop: 1,
    },
  ];
}
