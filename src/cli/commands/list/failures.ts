import type { RunInfo } from "../../../run/info.ts";
import { ago, grouped } from "../../render/formats.ts";
import type { Page } from "../../render/page.ts";
import type { Column } from "../../render/table.ts";

/** Failed runs with the same error. */
export interface FailureLine {
  fingerprint: string | null;
  count: number;
  jobs: string[];
  error: string;
  firstSeen: Date | null;
  lastSeen: Date | null;
  /** Id of the latest run. */
  example: number;
}

/** Groups failed runs, given newest first, by error; the most frequent error comes first. */
export function groupFailures(runs: Iterable<RunInfo>): FailureLine[] {
  const groups = new Map<string, FailureLine>();
  for (const { id, name, error, fingerprint, finishedAt } of runs) {
    const text = error ? `${error.name}: ${error.message}` : "";
    const group = groups.get(fingerprint ?? text);
    if (group) {
      group.count++;
      group.firstSeen = finishedAt;
      if (!group.jobs.includes(name)) group.jobs.push(name);
      continue;
    }
    groups.set(fingerprint ?? text, {
      fingerprint,
      count: 1,
      jobs: [name],
      error: text,
      firstSeen: finishedAt,
      lastSeen: finishedAt,
      example: id,
    });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || b.example - a.example);
}

export function failureColumns(now: Date, page: Page): Column<FailureLine>[] {
  const when = (at: Date | null) => (at ? ago(at, now) : page.icons.none);
  return [
    { title: "Count", cell: ({ count }) => grouped(count), align: "right" },
    {
      title: "Job",
      cell: ({ jobs: [first, ...others] }) => (others.length > 0 ? `${first} +${others.length}` : first!),
      min: 14,
    },
    { title: "Last Seen", cell: ({ lastSeen }) => when(lastSeen) },
    { title: "First Seen", cell: ({ firstSeen }) => when(firstSeen), drop: 2 },
    { title: "Example", cell: ({ example }) => example, align: "right" },
    { title: "Fingerprint", cell: ({ fingerprint }) => fingerprint ?? "", hidden: true },
    { title: "Error", cell: ({ error }) => ({ text: error, style: "red" }), min: 16 },
  ];
}
