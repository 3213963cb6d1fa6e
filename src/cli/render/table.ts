import { didYouMean } from "../input/names.ts";
import { Exit, exitCodes } from "../output/exit-codes.ts";
import { plain, type Style } from "../output/output.ts";
import type { Page } from "./page.ts";
import { cut, pad, widthOf } from "./width.ts";

/** Content of a cell. The table removes control characters from its text. */
export type TableCell = string | number | null | { text: string; style: Style };

export interface Column<Row> {
  title: string;
  cell(row: Row): TableCell;
  align?: "left" | "right";
  /** Columns with this set are dropped if lines are too long, the lowest number first. */
  drop?: number;
  /** If lines are still too long, cells may be cut down to this width. */
  min?: number;
  /** Spaces after the column. Default: 2. */
  gap?: number;
  /** Printed only if `--columns` names it. */
  hidden?: boolean;
}

interface ColumnLayout {
  title: string;
  cells: { text: string; style: Style | null }[];
  align: "left" | "right";
  drop: number;
  width: number;
  min: number;
  gap: number;
}

/** Returns a line of titles and one line for each row; no line is wider than the page. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], page: Page): string[] {
  const layouts = fitColumns(
    columns.map((column) => draw(column, rows)),
    page.width,
  );
  const titles = layouts.map(({ title }) => ({ text: title, style: "dim" as Style }));
  const lines = [lineOf(layouts, titles, page)];
  for (let row = 0; row < rows.length; row++) {
    lines.push(
      lineOf(
        layouts,
        layouts.map(({ cells }) => cells[row]!),
        page,
      ),
    );
  }
  return lines;
}

function draw<Row>(column: Column<Row>, rows: readonly Row[]): ColumnLayout {
  const cells = rows.map((row) => {
    const cell = column.cell(row);
    if (typeof cell === "object" && cell !== null)
      return { text: plain(cell.text).trim(), style: cell.style };
    return { text: plain(String(cell ?? "")).trim(), style: null };
  });
  let width = widthOf(column.title);
  for (const { text } of cells) width = Math.max(width, widthOf(text));
  const { title, align = "left", drop = Number.POSITIVE_INFINITY, gap = 2 } = column;
  const min = column.min === undefined ? width : Math.min(width, Math.max(column.min, widthOf(title)));
  return { title, cells, align, drop, width, min, gap };
}

/** Fits the columns into the width: drops columns first, then narrows those that have a minimum. */
function fitColumns(all: ColumnLayout[], width: number | null): ColumnLayout[] {
  if (width === null) return all;
  let kept = all;
  while (total(kept) > width) {
    const next = Math.min(...kept.map(({ drop }) => drop));
    if (next === Number.POSITIVE_INFINITY) break;
    kept = kept.filter(({ drop }) => drop !== next);
  }
  let spare = Math.max(0, width - total(kept));
  return kept.map((column) => {
    const more = Math.min(spare, column.width - column.min);
    spare -= more;
    return { ...column, width: column.min + more };
  });
}

function total(columns: ColumnLayout[]): number {
  return columns.reduce((sum, { min, gap }, index) => sum + min + (index < columns.length - 1 ? gap : 0), 0);
}

function lineOf(columns: ColumnLayout[], cells: { text: string; style: Style | null }[], page: Page): string {
  const width = page.width ?? Number.POSITIVE_INFINITY;
  const written = cells.findLastIndex(({ text }) => text !== "");
  let line = "";
  let used = 0;
  for (let index = 0; index <= written; index++) {
    const column = columns[index]!;
    const { text, style } = cells[index]!;
    const room = Math.max(0, Math.min(column.width, width - used));
    const short = cut(text, room, page.icons.ellipsis);
    const filled = index === written && column.align === "left" ? short : pad(short, room, column.align);
    // Spaces are not painted: styles such as underline would be visible on them.
    const painted =
      style === null || short === "" ? filled : filled.replace(short, () => page.paint(style, short));
    line += painted;
    used += widthOf(filled);
    const gap = index === written ? 0 : Math.min(column.gap, width - used);
    line += " ".repeat(gap);
    used += gap;
  }
  return line;
}

/** Returns the columns of `--columns a,b` in that order; without the option, all that are not hidden. */
export function selectColumns<Row>(
  columns: readonly Column<Row>[],
  names: string | undefined,
): Column<Row>[] {
  if (names === undefined) return columns.filter(({ hidden }) => !hidden);
  const known = columns.filter(({ title }) => title !== "");
  const picked = names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
    .map((name) => {
      const found = known.find((column) => keyOf(column) === name.toLowerCase().replace(/[\s_-]/g, ""));
      if (!found) throw unknownColumn(name, known.map(keyOf));
      const { drop: _, ...kept } = found;
      return kept;
    });
  if (picked.length > 0) return picked;
  throw new Exit(exitCodes.usage, `--columns expected names of columns: ${known.map(keyOf).join(", ")}.`);
}

function keyOf({ title }: { title: string }): string {
  return title.toLowerCase().replaceAll(" ", "");
}

function unknownColumn(name: string, known: string[]): Exit {
  return new Exit(
    exitCodes.usage,
    `There is no column "${name}".${didYouMean(name, known)} Expected ${known.join(", ")}.`,
  );
}
