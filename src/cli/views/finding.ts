import type { Cli } from "../cli.ts";
import { plain } from "../output/output.ts";
import { type Page, pageOf } from "../render/page.ts";
import { widthOf, wrap } from "../render/width.ts";

/** Result of one check of `doctor` or `verify`. */
export interface Finding {
  level: "ok" | "warning" | "error";
  text: string;
  /** The fix: a command, a statement or a sentence. */
  cure?: string;
  /** The action of `--fix`. */
  fix?: string;
  /** The exit code of an error. Default: unhealthy. */
  exit?: number;
  /** Lines printed with -v. */
  details?: string[];
}

export const ok = (text: string, details: string[] = []): Finding => ({ level: "ok", text, details });

export const warning = (text: string, cure?: string): Finding => ({
  level: "warning",
  text,
  ...(cure !== undefined && { cure }),
});

export const error = (text: string, cure?: string, exit?: number): Finding => ({
  level: "error",
  text,
  ...(cure !== undefined && { cure }),
  ...(exit !== undefined && { exit }),
});

export const fixable = (finding: Finding, fix: string): Finding => ({ ...finding, fix });

const STYLES = { ok: "green", warning: "yellow", error: "red" } as const;
const SIGNS = { ok: "ok", warning: "warning", error: "failed" } as const;

/** Returns a finding with its sign, and its fix on the same line or below. */
export function findingLines({ level, text, cure }: Finding, { proseWidth, icons, paint }: Page): string[] {
  const icon = icons[SIGNS[level]];
  const sign = paint(STYLES[level], icon);
  const indent = " ".repeat(widthOf(icon) + 1);
  const room = proseWidth - indent.length;
  const remedy = cure === undefined ? "" : `${icons.arrow} ${plain(cure)}`;
  const line = remedy === "" ? plain(text) : `${plain(text)}  ${remedy}`;
  if (widthOf(line) <= room) return [`${sign} ${line}`];
  const [first, ...rest] = wrap(text, room);
  // A command is not wrapped, so that it can be copied.
  const more = remedy === "" ? rest : [...rest, remedy];
  return [`${sign} ${first}`, ...more.map((one) => `${indent}${one}`)];
}

export function printFinding(cli: Cli, finding: Finding): void {
  const details = (cli.globals.verbose ?? 0) > 0 ? (finding.details ?? []) : [];
  for (const line of findingLines(finding, pageOf(cli))) cli.output.print(line);
  for (const line of details) cli.output.print(`    ${plain(line)}`);
}
