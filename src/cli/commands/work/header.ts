import type { Punctual } from "../../../punctual.ts";
import { version } from "../../../version.ts";
import type { WeightedQueues } from "../../../worker/options.ts";
import type { Cli } from "../../cli.ts";
import { plain } from "../../output/output.ts";
import { counted } from "../../render/formats.ts";
import { iconsFor } from "../../render/icons.ts";
import { widthOf } from "../../render/width.ts";
import { queueSelectionText } from "../../views/status-columns.ts";

export interface HeaderFacts {
  workers: number;
  parallel: number;
  serving: WeightedQueues;
  schedules: boolean;
  /** Address of the probe; null: none. */
  probe: string | null;
  /** Address of the dashboard; null: none. */
  dashboard: string | null;
}

/** Returns the lines that `work` prints first: versions, database, jobs, queues, slots and how to stop. */
export async function header(cli: Cli, jobs: Punctual, facts: HeaderFacts): Promise<string[]> {
  const { to } = await jobs.install({ dryRun: true });
  const database = await cli.database();
  const definitions = jobs.definitions();
  const schedules = definitions.reduce((sum, definition) => sum + definition.schedules().length, 0);
  const first = [
    `punctual ${version()}`,
    `node ${process.versions.node}`,
    database === null ? "" : `${database} (schema ${to})`,
    `${counted(definitions.length, "job")}, ${counted(schedules, "schedule")}${facts.schedules ? "" : " (not ticked here)"}`,
    queuesText(facts.serving),
  ];
  const slots =
    facts.workers === 0
      ? counted(facts.parallel, "slot")
      : `${counted(facts.workers, "worker")} ${iconsFor().times} ${facts.parallel} = ${counted(facts.workers * facts.parallel, "slot")}`;
  const second = [
    slots,
    facts.probe === null ? "" : `probe ${facts.probe}`,
    `pid ${process.pid}`,
    "Ctrl-C to drain",
  ];
  const width = cli.output.errorWidth ?? Number.POSITIVE_INFINITY;
  const { dot } = iconsFor();
  const found = [first, second].flatMap((parts) =>
    lines(parts.filter((part) => part !== "").map(plain), dot, width),
  );
  // On a line of its own, however wide the terminal is: people copy it.
  return facts.dashboard === null ? found : [...found, `dashboard ${facts.dashboard}`];
}

/** `all queues`, `queues emails, reports*2`, `all queues but bulk` */
function queuesText(serving: WeightedQueues): string {
  const text = queueSelectionText(serving);
  return serving.queues === null ? text.replace("all", "all queues") : `queues ${text}`;
}

/** Joins the parts into lines of at most `width` columns. */
function lines(parts: string[], dot: string, width: number): string[] {
  const found: string[] = [];
  for (const part of parts) {
    const longer = found.length === 0 ? part : `${found.at(-1)} ${dot} ${part}`;
    if (found.length === 0 || widthOf(longer) > width) found.push(part);
    else found[found.length - 1] = longer;
  }
  return found;
}
