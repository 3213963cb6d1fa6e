import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root: string = resolve(import.meta.dirname, "../../..");

/** Every page of the project, as paths from its root. */
export const pages: string[] = globSync(["*.md", "docs/**/*.md"], { cwd: root }).sort();

export function read(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

export interface Table {
  header: string[];
  rows: string[][];
}

/** The tables of a page. A bar within code is written `\|`. */
export function tables(page: string): Table[] {
  const found = read(page).matchAll(/^\|.*\|\n\|[-| :]+\|\n(?:\|.*\|\n)*/gm);
  return [...found].map(([text]) => {
    const [header = [], , ...rows] = text.trimEnd().split("\n").map(cells);
    return { header, rows };
  });
}

function cells(line: string): string[] {
  return line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** Returns the parts of a text that are written as code. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
}
