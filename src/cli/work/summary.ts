import { type Outcome, outcomeRules } from "../../run/states.ts";
import { plain } from "../output.ts";
import { counted } from "../render/numbers.ts";
import type { Tally, Trouble } from "./tally.ts";

const ORDER = [...(Object.keys(outcomeRules) as Outcome[]), "lost"] as const;
const SHOWN_TROUBLES = 3;

/** `ran 14 runs in 1.2 s: 13 completed, 1 retried (send-invoice: connect ETIMEDOUT, again in 8 s)` */
export function summary(tally: Tally, ms: number): string {
  if (tally.ran === 0 && tally.counts.released === 0) return "ran nothing: nothing is due";
  return `ran ${counted(tally.ran, "run")} in ${seconds(ms)}: ${outcomes(tally)}`;
}

/** `13 completed, 1 failed (send-invoice: connect ETIMEDOUT)` */
export function outcomes({ counts, troubles }: Tally): string {
  const parts = ORDER.filter((outcome) => counts[outcome] > 0).map((outcome) => {
    const because =
      outcome === "retried"
        ? told(troubles.filter(({ again }) => again !== null))
        : outcome === "failed"
          ? told(troubles.filter(({ again }) => again === null))
          : "";
    return `${counts[outcome]} ${outcome}${because}`;
  });
  return parts.length > 0 ? parts.join(", ") : "none completed";
}

function told(troubles: Trouble[]): string {
  if (troubles.length === 0) return "";
  const shown = troubles.slice(0, SHOWN_TROUBLES).map(({ job, error, again }) => {
    const reason = plain(error.split("\n")[0] ?? "").replace(/\.$/, "");
    return `${plain(job)}: ${reason}${again === null ? "" : `, again ${when(again)}`}`;
  });
  const rest = troubles.length - shown.length;
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
