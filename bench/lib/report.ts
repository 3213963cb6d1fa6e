import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/run-tool.ts";
import { barChart, type Chart } from "./chart.ts";
import type { Result } from "./contest.ts";
import { median } from "./statistics.ts";
import { format, markdownTable } from "./table.ts";

/** One contest as it was measured, a line of docs/performance/figures.jsonl. */
export interface Figures {
  date: string;
  machine: string;
  /** Names and versions. */
  software: string[];
  rounds: number;
  result: Result;
}

const page = join(root, "docs/performance.md");
const folder = join(root, "docs/performance");
const stored = join(folder, "figures.jsonl");

const BEGIN = "<!-- begin of the figures: npm run bench -- --write -->";
const END = "<!-- end of the figures -->";

/** A bar that is longer than this many times the base would flatten all others. */
const LONGEST = 8;

/** Contests of which a picture says more than the table. */
const DRAWN = ["latency-postgres", "limited", "drain-postgres", "drain-postgres-long", "memory"];

/**
 * Stores the figures of these contests, and writes docs/performance.md and its charts from all that are stored:
 * subjects may be measured one by one. The prose around the figures is written by hand.
 */
export function writeReport(measured: Figures[]): void {
  mkdirSync(folder, { recursive: true });
  const all = merge(readStored(), measured);
  writeFileSync(stored, all.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const [before, rest] = readFileSync(page, "utf8").split(BEGIN) as [string, string?];
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`docs/performance.md lacks the lines "${BEGIN}" and "${END}".`);
  writeFileSync(page, `${before}${BEGIN}\n\n${figures(all)}\n\n${END}${after}`);
  for (const { result } of all.filter(({ result }) => DRAWN.includes(result.id))) {
    writeFileSync(join(folder, `${result.id}.svg`), barChart(chartOf(result)));
  }
}

function readStored(): Figures[] {
  if (!existsSync(stored)) return [];
  const lines = readFileSync(stored, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Figures);
}

/** New figures take the place of stored ones of the same contest. */
function merge(old: Figures[], measured: Figures[]): Figures[] {
  const byId = new Map([...old, ...measured].map((line) => [line.result.id, line]));
  return [...byId.values()].toSorted((a, b) => a.result.id.localeCompare(b.result.id));
}

function figures(all: Figures[]): string {
  const unique = (values: string[]) => [...new Set(values)].join(", ");
  const dates = unique(all.map(({ date }) => date).toSorted());
  const machines = unique(all.map(({ machine }) => machine));
  const software = unique(all.flatMap(({ software }) => software));
  const results = all.map(({ result }) => result);
  return [
    wrap(`Measured on ${dates}: ${machines}; ${software}. Medians of the rounds, with their spread.`),
    "### Goals",
    goalTable(results),
    ...all.map(section),
  ].join("\n\n");
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

function section({ result, rounds }: Figures): string {
  const picture = DRAWN.includes(result.id) ? [`![${result.title}](performance/${result.id}.svg)`] : [];
  const note = rounds === 1 ? ["One round."] : [];
  return [`### ${result.title}`, ...picture, markdownTable(result), ...note].join("\n\n");
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
