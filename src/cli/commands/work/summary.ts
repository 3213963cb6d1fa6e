import type { Punctual } from "../../../punctual.ts";
import { type Outcome, outcomeRules } from "../../../run/states.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { counted } from "../../render/formats.ts";
import type { FailedAttempt, OutcomeCounts } from "./outcome-counts.ts";

/** Outcomes in the order of the summary. */
const ORDER = [...(Object.keys(outcomeRules) as Outcome[]), "lost"] as const;
/** Most reasons of failed attempts, and most runs without an outcome, that a summary names. */
const MOST_SHOWN = 3;
const MOST_UNWRITTEN = 10;

/**
 * `ran 14 runs in 1.2 s: 13 completed, 1 retried (send-invoice: connect ETIMEDOUT, again in 8 s)`. `left`: runs that
 * are due and could not start; null: not counted, because the worker was stopped.
 */
export function summary(outcomeCounts: OutcomeCounts, ms: number, left: number | null): string {
  if (
    outcomeCounts.ran === 0 &&
    outcomeCounts.counts.released === 0 &&
    outcomeCounts.unwritten.length === 0
  ) {
    if (left === null) return "ran nothing: it was stopped";
    if (left === 0) return "ran nothing: nothing is due";
    return `ran nothing: ${counted(left, "due run")} could not start. To see why: punctual doctor, punctual show <id>`;
  }
  return `ran ${counted(outcomeCounts.ran, "run")} in ${seconds(ms)}: ${outcomes(outcomeCounts)}`;
}

/** `13 completed, 1 failed (send-invoice: connect ETIMEDOUT)` */
export function outcomes({ counts, failedAttempts, unwritten }: OutcomeCounts): string {
  const reasons: Partial<Record<(typeof ORDER)[number], string>> = {
    retried: reasonsOf(failedAttempts.filter(({ again }) => again !== null)),
    failed: reasonsOf(failedAttempts.filter(({ again }) => again === null)),
  };
  const parts = ORDER.filter((outcome) => counts[outcome] > 0).map(
    (outcome) => `${counts[outcome]} ${outcome}${reasons[outcome] ?? ""}`,
  );
  if (unwritten.length > 0) parts.push(`${unwritten.length} not written`);
  return parts.length > 0 ? parts.join(", ") : "none completed";
}

function reasonsOf(failedAttempts: FailedAttempt[]): string {
  if (failedAttempts.length === 0) return "";
  const shown = failedAttempts.slice(0, MOST_SHOWN).map(({ job, error, again }) => {
    const reason = plain(error.split("\n")[0] ?? "").replace(/\.$/, "");
    return `${plain(job)}: ${reason}${again === null ? "" : `, again ${when(again)}`}`;
  });
  const rest = failedAttempts.length - shown.length;
  return ` (${shown.join("; ")}${rest > 0 ? `; and ${rest} more` : ""})`;
}

function when(ms: number): string {
  return ms < 100 ? "at once" : `in ${seconds(ms)}`;
}

/** `8 s`, `1.2 s`, `2 min` */
export function seconds(ms: number): string {
  if (ms >= 120_000) return `${Math.round(ms / 60_000)} min`;
  return `${ms >= 10_000 ? Math.round(ms / 1000) : Math.round(ms / 100) / 10} s`;
}

/** Returns the error of a worker that could not write outcomes to its database; null: all were written. */
export function unwrittenExit({ unwritten }: OutcomeCounts, jobs: Punctual): Exit | null {
  if (unwritten.length === 0) return null;
  const leases = new Map(jobs.definitions().map(({ name, settings }) => [name, settings.lease]));
  const longest = Math.max(...unwritten.map(({ job }) => leases.get(job) ?? 0));
  const shown = unwritten.slice(0, MOST_UNWRITTEN).map(({ id, job }) => `run ${id} of "${plain(job)}"`);
  const rest = unwritten.length - shown.length;
  const named = `${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
  const [outcome, again] =
    unwritten.length === 1
      ? ["The outcome of 1 run was", "It runs again when its lease ends"]
      : [`The outcomes of ${unwritten.length} runs were`, "They run again when their leases end"];
  return new Exit(
    exitCodes.database,
    `${outcome} not written, because the database did not answer: ${named}. ${again}${longest > 0 ? `, in at most ${seconds(longest)}` : ""}.`,
  );
}
