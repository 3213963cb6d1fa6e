import type { Entry } from "../../support/journal.ts";
import { triesIn } from "./checker.ts";

/** Milliseconds from the death of a child until its runs were ready, and until the first and last began elsewhere. */
export interface Recovery {
  ready: number;
  first: number;
  last: number;
}

/** For each child that was killed in the middle of runs, and that had a supervisor to see it. */
export function recoveries(entries: readonly Entry[]): Recovery[] {
  const all = triesIn(entries);
  const ended = entries.filter(({ what }) => what === "kill supervisor").map(({ at }) => at);
  return entries.flatMap(({ what, at, ids }): Recovery[] => {
    if (what !== "kill") return [];
    const after = (wanted: string, run: number) =>
      entries.find((entry) => entry.what === wanted && entry.run === run && entry.at > at)?.at ?? Infinity;
    const lost = all.filter(
      (one) => one.pid === ids![0] && !one.hasEnded && after("start", one.run) < Infinity,
    );
    const ready = lost.map(({ run }) => after("run.reaped", run) - at);
    const again = lost.map(({ run }) => after("start", run) - at);
    const last = Math.max(...again);
    const isSeen = !ended.some((moment) => moment > at && moment < at + last);
    return lost.length > 0 && isSeen ? [{ ready: Math.max(...ready), first: Math.min(...again), last }] : [];
  });
}

export function summary(values: readonly number[]): { median: number; p95: number; max: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number) => Math.round(sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN);
  return { median: at(0.5), p95: at(0.95), max: at(1) };
}
