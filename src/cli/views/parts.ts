import { plain } from "../output/output.ts";
import { redact } from "../output/redact.ts";
import type { Page } from "../render/page.ts";
import { stamp } from "../render/times.ts";
import { cut, pad } from "../render/width.ts";

/** Building blocks of `show`. */
export type Fact = [label: string, value: string | null];

/** `  Queue       emails`: those that there are, under each other. */
export function facts(all: Fact[], page: Page): string[] {
  const there = all.filter((fact): fact is [string, string] => fact[1] !== null && fact[1] !== "");
  const width = Math.max(...there.map(([label]) => label.length));
  return there.map(([label, value]) => {
    const room = page.width === null ? Number.POSITIVE_INFINITY : Math.max(1, page.width - width - 4);
    return `  ${page.paint("dim", pad(label, width))}  ${cut(plain(value), room, page.icons.ellipsis)}`;
  });
}

/** A heading, and what stands under it; nothing at all if that is empty. */
export function block(title: string, lines: string[], page: Page): string[] {
  return lines.length === 0 ? [] : ["", page.paint("bold", title), ...lines];
}

export function indented(lines: string[]): string[] {
  return lines.map((line) => (line === "" ? "" : `  ${line}`));
}

/** JSON over several lines. What is secret is hidden, what is long is cut, unless it was asked for as it is. */
export function jsonLines(value: unknown, isRaw: boolean, page: Page): string[] {
  if (value === undefined) return [];
  const text = JSON.stringify(isRaw ? value : redact(value), null, 2);
  const width = isRaw || page.width === null ? Number.POSITIVE_INFINITY : page.width - 2;
  return indented(text.split("\n").map((line) => cut(plain(line), width, page.icons.ellipsis)));
}

/** Whether anything of it was hidden. */
export function hides(value: unknown): boolean {
  return JSON.stringify(redact(value)) !== JSON.stringify(value);
}

export function at(date: Date | null, page: Page): string | null {
  return date && stamp(date, page.zone);
}
