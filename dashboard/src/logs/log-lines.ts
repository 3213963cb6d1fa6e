import type { LogsResponse } from "../../../src/dashboard/api/contract.ts";

export type LogLine = LogsResponse["lines"][number];

/** Adds lines that were read later. Lines that are already there are not repeated. */
export function appendLines(lines: readonly LogLine[], more: readonly LogLine[]): LogLine[] {
  const last = lines.at(-1)?.position ?? -1;
  return [...lines, ...more.filter((line) => line.position > last)];
}

export interface LogFilter {
  /** Text that message or data must contain, in any case; empty: any. */
  text: string;
  /** Attempt that wrote the line; null: any. */
  attempt: number | null;
}

export function filterLines(lines: readonly LogLine[], { text, attempt }: LogFilter): LogLine[] {
  const wanted = text.trim().toLowerCase();
  return lines.filter(
    (line) =>
      (attempt === null || line.attempt === attempt) &&
      (wanted === "" || `${line.message}\n${line.data ?? ""}`.toLowerCase().includes(wanted)),
  );
}

/** Returns the attempts that wrote lines, in ascending order. */
export function attemptsOf(lines: readonly LogLine[]): number[] {
  return [...new Set(lines.map((line) => line.attempt))].sort((a, b) => a - b);
}

/** Returns lines as text, one per line, to copy. */
export function linesText(lines: readonly LogLine[]): string {
  return lines
    .map(
      ({ at, attempt, message, data }) => `${at} [${attempt}] ${message}${data === null ? "" : ` ${data}`}`,
    )
    .join("\n");
}
