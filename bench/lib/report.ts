import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/run-tool.ts";
import { barChart, type Chart } from "./chart.ts";
import type { Result } from "./contest.ts";
import { median } from "./statistics.ts";
import { format, markdownTable } from "./table.ts";

export interface Report {
  date: string;
  machine: string;
  /** Names and versions. */
  software: string[];
  rounds: number;
  results: Result[];
}

const page = join(root, "docs/performance.md");
const charts = join(root, "docs/performance");

const BEGIN = "<!-- begin of the figures: npm run bench -- --write -->";
const END = "<!-- end of the figures -->";

/** A bar that is longer than this many times the base would flatten all others. */
const LONGEST = 8;

/** Contests of which a picture says more than the table. */
const DRAWN = ["latency-postgres", "limited", "drain-postgres", "drain-postgres-long", "memory"];

/** Replaces the figures in docs/performance.md and all charts. The prose around the figures is written by hand. */
export function writeReport(report: Report): void {
  const text = readFileSync(page, "utf8");
  const [before, rest] = text.split(BEGIN) as [string, string?];
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`docs/performance.md lacks the lines "${BEGIN}" and "${END}".`);
  writeFileSync(page, `${before}${BEGIN}\n\n${figures(report)}\n\n${END}${after}`);
  rmSync(charts, { recursive: true, force: true });
  mkdirSync(charts, { recursive: true });
  for (const result of report.results.filter(({ id }) => DRAWN.includes(id))) {
    writeFileSync(join(charts, `${result.id}.svg`), barChart(chartOf(result)));
  }
}

export function figures({ date, machine, software, rounds, results }: Report): string {
  const facts = `Measured on ${date}: ${machine}, ${software.join(", ")}. Median of ${rounds} rounds, and their spread.`;
  return [wrap(facts), "### Goals", goalTable(results), ...results.map(section)].join("\n\n");
}

function goalTable(results: Result[]): string {
  const rows = results.flatMap(({ title, verdicts }) =>
    verdicts.map(({ text, value, reached }) => {
      const unit = text.includes("×") ? "×" : "";
      return `| ${title} | ${text} | ${format(value)}${unit} | ${reached ? "reached" : "**missed**"} |`;
    }),
  );
  return ["| | goal | measured | |", "|---|---|---:|---|", ...rows].join("\n");
}

function section(result: Result): string {
  const picture = DRAWN.includes(result.id) ? [`![${result.title}](performance/${result.id}.svg)`] : [];
  return [`### ${result.title}`, ...picture, markdownTable(result)].join("\n\n");
}

function chartOf({ title, metrics, base, rows }: Result): Chart {
  const [{ name: metric, unit }] = metrics as [Result["metrics"][number]];
  const bars = rows
    .filter(({ values }) => values[metric])
    .map(({ name, values }) => ({
      name,
      value: median(values[metric]!),
      low: Math.min(...values[metric]!),
      high: Math.max(...values[metric]!),
      own: /^punctual/i.test(name),
    }));
  const reference = bars.find(({ name }) => name === base)?.value ?? Infinity;
  const isRate = unit.endsWith("/s");
  return {
    title,
    unit: `${metric} in ${unit}`,
    bars: bars.filter(({ value }) => isRate || value <= LONGEST * reference),
  };
}

/** Breaks a paragraph at 120 characters. */
function wrap(text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1)!;
    if (last.length + word.length + 1 > 120) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines.join("\n");
}
