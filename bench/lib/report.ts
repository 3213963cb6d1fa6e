import type { Result } from "./contest.ts";

export interface Report {
  date: string;
  machine: string;
  /** Names and versions. */
  software: string[];
  rounds: number;
  results: Result[];
}

export function writeReport(_: Report): void {}
