import type { CampaignReport } from "./campaign.ts";

/** Violations of each kind that a summary lists. */
const LISTED = 10;

/** Longest line of a violation: a process may have written a stack. */
const WIDTH = 400;

/** Returns what matters of a campaign in few lines. */
export function summarise(report: CampaignReport): string {
  const { target, seed, seconds, violations, faults, accepted, executions } = report;
  const counts = Object.entries(faults).map(([kind, count]) => `${kind} ${count}`);
  const lines = [
    `campaign on ${target}: ${violations.length} violations; seed ${seed}, ${seconds} s, ${accepted} runs accepted, ${executions} executions`,
    ...shorten(violations),
    `faults: ${counts.join(", ")}`,
  ];
  if (report.journal !== null) lines.push(`journal: ${report.journal}`);
  return lines.join("\n");
}

/** The first violations of each kind. Those of one kind differ in numbers only. */
function shorten(violations: string[]): string[] {
  const kinds = Map.groupBy(violations, (text) => text.replaceAll(/\d+/g, "#"));
  return [...kinds.values()].flatMap((all) => {
    const lines = all.slice(0, LISTED).map((text) => `  ${text.replaceAll(/\s+/g, " ").slice(0, WIDTH)}`);
    return all.length > LISTED ? [...lines, `  … and ${all.length - LISTED} more of this kind`] : lines;
  });
}
