import type { FailureGroup, FailureReport } from "../../../operate/failures.ts";
import type { Redaction } from "../../../run/redaction.ts";
import { queryQuote, shellQuote } from "../../../status/hints.ts";
import type { FailureGroup as FailureGroupView } from "../contract.ts";
import { framesOf, toErrorHead } from "./failure.ts";
import { iso, isoOrNull } from "./times.ts";

export function toFailureGroups({ groups, capped }: FailureReport, redaction: Redaction): FailureGroupView[] {
  return groups.map((group) => toFailureGroup(group, capped, redaction));
}

function toFailureGroup(group: FailureGroup, capped: boolean, redaction: Redaction): FailureGroupView {
  const { fingerprint, error, jobs, count, firstSeen, lastSeen, hours, sample, mute } = group;
  // Without a fingerprint, runs are found by their jobs.
  const q =
    fingerprint === null
      ? `state:failed job:${jobs.map(queryQuote).join(",")}`
      : `state:failed fingerprint:${queryQuote(fingerprint)}`;
  return {
    fingerprint: fingerprint ?? "",
    error: error ? toErrorHead(error, redaction) : { name: "Error", message: "" },
    place: framesOf(redaction.text(error?.stack ?? "")).find(({ own }) => own)?.place ?? null,
    jobs,
    count: { value: count, capped },
    first: iso(firstSeen),
    last: iso(lastSeen),
    spark: hours,
    sample,
    q,
    command: `punctual retry --where ${shellQuote(q)}`,
    mute: mute && {
      since: iso(mute.since),
      by: mute.by,
      reason: mute.reason,
      until: isoOrNull(mute.until),
    },
  };
}
