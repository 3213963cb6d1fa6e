import { type Result, type Row, ratioToBase } from "./contest.ts";
import { median } from "./statistics.ts";

export function format(value: number): string {
  if (value >= 10_000) return (Math.round(value / 100) * 100).toLocaleString("en");
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** Median and spread: "15,800 (14,200 to 16,900)". */
function cell(values: number[] | undefined): string {
  if (!values) return "";
  const middle = format(median(values));
  if (values.length === 1) return middle;
  return `${middle} (${format(Math.min(...values))} to ${format(Math.max(...values))})`;
}

function ratioCell(result: Result, row: Row): string {
  if (row.name === result.base) return "1";
  const value = ratioToBase(result, row);
  return value === undefined ? "" : `${format(value)}×`;
}

function cells(result: Result): string[][] {
  const used = result.metrics.filter(({ name }) => result.rows.some(({ values }) => values[name]));
  const head = ["", ...used.map(({ name, unit }) => `${name}, ${unit}`), "ratio"];
  const body = result.rows.map((row) => [
    row.name,
    ...used.map(({ name }) => cell(row.values[name])),
    ratioCell(result, row),
  ]);
  return [head, ...body];
}

/** For a terminal. */
export function plainTable(result: Result): string {
  const rows = cells(result);
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row
      .map((text, column) => (column === 0 ? text.padEnd(widths[column]!) : text.padStart(widths[column]!)))
      .join("  "),
  );
  return [`\n${result.title}`, ...lines, ...result.verdicts.map(verdictLine)].join("\n");
}

function verdictLine({ text, value, reached }: Result["verdicts"][number]): string {
  return `  ${reached ? "reached" : "MISSED "}  ${text} (${format(value)})`;
}

/** For the documentation. */
export function markdownTable(result: Result): string {
  const [head, ...body] = cells(result);
  const line = (row: string[]) => `| ${row.join(" | ")} |`;
  const ruler = head!.map((_, column) => (column === 0 ? "---" : "---:"));
  return [line(head!), line(ruler), ...body.map(line)].join("\n");
}
