import type { RunsFilter } from "../../../operate/run-query.ts";
import type { Punctual } from "../../../punctual.ts";
import type { RunInfo } from "../../../run/info.ts";
import { shellQuote } from "../../../status/hints.ts";
import { systemClock } from "../../../time.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { redact } from "../../output/redact.ts";
import { grouped } from "../../render/formats.ts";
import type { Page } from "../../render/page.ts";
import { type Column, choose, table } from "../../render/table.ts";
import type { Subject } from "../../views/details.ts";
import { leasesOf, viewsOf } from "../../views/job-state.ts";
import { runColumns } from "../../views/run-columns.ts";
import { scheduleColumns } from "../../views/schedule-columns.ts";
import { jobColumns, queueColumns, workerColumns } from "../../views/status-columns.ts";
import { type Found, fetchRuns } from "../runs/fetch-runs.ts";
import { listed } from "../schedule/schedule-info.ts";
import { failureColumns, groupFailures } from "./failures.ts";

export const kinds = ["runs", "jobs", "queues", "workers", "failures", "schedules"] as const;
export type Kind = (typeof kinds)[number];

export interface Asked {
  where?: string;
  before?: number;
  limit: number;
  columns?: string;
  timezone: string;
}

/** The content of a list. */
export interface Listing {
  lines(page: Page): string[];
  /** Rows of the JSON document. */
  rows: object[];
  more: object;
  /** Notes for the reader. */
  notes: string[];
  /** The run or job of each line; undefined: lines cannot be opened. */
  subjects?: Subject[];
}

/** Most failed runs that are grouped into failures. */
const MOST_GROUPED = 5000;

function listing<Row>(
  rows: readonly Row[],
  asked: Asked,
  columns: (page: Page) => Column<Row>[],
  toJson: (row: Row) => object = (row) => row as object,
  toSubject?: (row: Row) => Subject,
): Listing {
  const shown = rows.slice(0, asked.limit);
  return {
    lines: (page) => table(choose(columns(page), asked.columns), shown, page),
    rows: shown.map(toJson),
    ...(toSubject && { subjects: shown.map(toSubject) }),
    more: {},
    notes:
      shown.length < rows.length
        ? [`${grouped(shown.length)} of ${grouped(rows.length)}: --limit shows more.`]
        : [],
  };
}

/** Fetches and renders each kind of list. */
export const listings: Record<Kind, (jobs: Punctual, asked: Asked) => Promise<Listing>> = {
  async runs(jobs, asked) {
    const now = new Date(systemClock.now());
    const { runs, next, bounded } = await fetchRuns(jobs, filterOf(asked), asked.limit);
    return {
      ...listing(
        runs,
        asked,
        (page) => runColumns(now, page),
        toDocument,
        ({ id }) => ({ run: id }),
      ),
      more: { next, bounded },
      notes: [...boundNote(bounded), ...(next === null ? [] : [nextPage(asked, next)])],
    };
  },

  async failures(jobs, asked) {
    const now = new Date(systemClock.now());
    const { runs, next, bounded } = await fetchRuns(
      jobs,
      { ...filterOf(asked), state: "failed" },
      MOST_GROUPED,
    );
    const groups = listing(
      groupFailures(runs),
      asked,
      (page) => failureColumns(now, page),
      (group) => group,
      ({ example }) => ({ run: example }),
    );
    const capped = next === null ? [] : [`Only the latest ${grouped(runs.length)} failed runs are grouped.`];
    return {
      ...groups,
      more: { bounded, capped: next !== null },
      notes: [...groups.notes, ...boundNote(bounded), ...capped],
    };
  },

  async jobs(jobs, asked) {
    const report = await jobs.status();
    const isRunning = report.running > 0;
    const running: Found["runs"] = isRunning ? (await jobs.runs({ state: "running", limit: 1000 })).runs : [];
    const leases = leasesOf(running, report);
    return listing(
      viewsOf(report),
      asked,
      (page) => jobColumns(leases, report.now, page),
      ({ job, state }) => ({ ...job, state }),
      ({ job }) => ({ job: job.name }),
    );
  },

  async queues(jobs, asked) {
    const report = await jobs.status();
    return listing(report.queues, asked, (page) => queueColumns(report, page));
  },

  async workers(jobs, asked) {
    const report = await jobs.status();
    return listing(report.workers, asked, (page) => workerColumns(report, page));
  },

  async schedules(jobs, asked) {
    const [all, status] = [await jobs.schedules(), await jobs.status()];
    return listing(
      listed(all, status),
      asked,
      (page) => scheduleColumns(status.now, page),
      (schedule) => schedule,
      ({ job }) => ({ job }),
    );
  },
};

/** Throws if `--where` or `--before` is used with another list than runs or failures. */
export function checkKind(kind: Kind, { where, before }: Pick<Asked, "where" | "before">): void {
  if (kind === "runs" || kind === "failures") return;
  const option = where !== undefined ? "--where" : before !== undefined ? "--before" : null;
  if (option)
    throw new Exit(
      exitCodes.usage,
      `${option} works only with runs and failures; "list ${kind}" always lists all. Leave it out.`,
    );
}

export function filterOf({ where, before, timezone }: Asked): RunsFilter {
  return {
    ...(where !== undefined && { where, timezone }),
    ...(before !== undefined && { before }),
  };
}

/** The JSON document of a run, without secrets. */
export function toDocument(run: RunInfo): object {
  return { ...run, args: redact(run.args), result: redact(run.result), progress: redact(run.progress) };
}

function boundNote(bounded: boolean): string[] {
  return bounded
    ? ['Only finished runs of the last 7 days are listed. To go further back: --where "… after:30d"']
    : [];
}

function nextPage({ where, limit }: Asked, next: number): string {
  const words = [
    ...(where === undefined ? [] : ["--where", shellQuote(plain(where))]),
    ...(limit === 50 ? [] : ["--limit", limit]),
  ];
  return `Next page: ${["punctual list", ...words, "--before", next].join(" ")}`;
}
