import type { PunctualConfig } from "../../../config.ts";
import { checkRate } from "../../../job/rates.ts";
import type { Punctual } from "../../../punctual.ts";
import { rateText } from "../../../status/rates.ts";
import type { StatusReport } from "../../../status/report.ts";
import { type Finding, warning } from "../../views/finding.ts";

type Rate = NonNullable<StatusReport["queues"][number]["rate"]>;

/** Warns about rates of jobs and queues that the code or the config here defines differently from the database. */
export function compareRates(
  jobs: Punctual,
  status: StatusReport,
  config: PunctualConfig,
  cure: string,
): Finding[] {
  const findings: Finding[] = [];
  const compare = (subject: string, source: string, here: Rate | null, stored: Rate | null) => {
    if (isSame(here, stored)) return;
    const text = `${subject} may start ${wordsOf(here)} according to ${source}, but ${wordsOf(stored)} according to the database`;
    findings.push(warning(text, cure));
  };
  const stored = new Map(status.jobs.map((job) => [job.name, job]));
  for (const { name, settings } of jobs.definitions()) {
    const job = stored.get(name);
    if (!job || job.seenAt === null) continue;
    const { rates: here } = settings;
    compare(`job "${name}"`, "the code here", here?.job ?? null, job.rates?.job ?? null);
    compare(`job "${name}"`, "the code here", perKey(here?.key), perKey(job.rates?.key));
  }
  for (const [name, { rate }] of Object.entries(config.queues ?? {})) {
    const queue = status.queues.find((one) => one.name === name);
    if (!queue || rate === undefined) continue;
    const here = rate && checkRate(rate, `rate of the queue "${name}"`);
    compare(`queue "${name}"`, "the config", here, queue.rate);
  }
  return findings;
}

/** A rate of each key; the words say so. */
type KeyRate = Rate & { isPerKey: true };

function perKey(rate: Rate | null | undefined): KeyRate | null {
  return rate ? { ...rate, isPerKey: true } : null;
}

function isSame(one: Rate | null, other: Rate | null): boolean {
  if (one === null || other === null) return one === other;
  return one.limit === other.limit && one.per === other.per && one.burst === other.burst;
}

function wordsOf(rate: Rate | KeyRate | null): string {
  if (rate === null) return "any number in any time";
  return `${rateText(rate)}${"isPerKey" in rate ? " for each key" : ""}`;
}
