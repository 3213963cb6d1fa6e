import { redact } from "../../run/redact.ts";
import { plain } from "../output/output.ts";
import { stamp } from "../render/formats.ts";
import type { Page } from "../render/page.ts";
import { cut, pad } from "../render/width.ts";

/** A labelled value on a page of `show`; null and the empty text are left out. */
export type Fact = [label: string, value: string | null];

/** Returns one line for each fact that has a value: `  Queue       emails`. */
export function facts(all: Fact[], page: Page): string[] {
  const there = all.filter((fact): fact is [string, string] => fact[1] !== null && fact[1] !== "");
  const width = Math.max(...there.map(([label]) => label.length));
  return there.map(([label, value]) => {
    const room = page.width === null ? Number.POSITIVE_INFINITY : Math.max(1, page.width - width - 4);
    return `  ${page.paint("dim", pad(label, width))}  ${cut(plain(value), room, page.icons.ellipsis)}`;
  });
}

/** Returns a heading and its lines; empty if there are no lines. */
export function block(title: string, lines: string[], page: Page): string[] {
  return lines.length === 0 ? [] : ["", page.paint("bold", title), ...lines];
}

export function indented(lines: string[]): string[] {
  return lines.map((line) => (line === "" ? "" : `  ${line}`));
}

/** Returns indented JSON. Unless `isRaw`, secrets are hidden and long lines are cut. */
export function jsonLines(value: unknown, isRaw: boolean, page: Page): string[] {
  if (value === undefined) return [];
  const text = JSON.stringify(isRaw ? value : redact(value), null, 2);
  const width = isRaw || page.width === null ? Number.POSITIVE_INFINITY : page.width - 2;
  return indented(text.split("\n").map((line) => cut(plain(line), width, page.icons.ellipsis)));
}

/** Whether redact() hides a part of the value. */
export function hides(value: unknown): boolean {
  return JSON.stringify(redact(value)) !== JSON.stringify(value);
}

export function at(date: Date | null, page: Page): string | null {
  return date && stamp(date, page.zone);
}
