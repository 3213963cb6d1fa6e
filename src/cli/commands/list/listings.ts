import type { RunsFilter } from "../../../operate/run-query.ts";
import type { Punctual } from "../../../punctual.ts";
import type { RunInfo } from "../../../run/info.ts";
import { redact } from "../../../run/redact.ts";
import { shellQuote } from "../../../status/hints.ts";
import { systemClock } from "../../../time.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { grouped } from "../../render/formats.ts";
import type { Page } from "../../render/page.ts";
import { type Column, selectColumns, table } from "../../render/table.ts";
import { actionColumns } from "../../views/action-columns.ts";
import { batchColumns } from "../../views/batch-columns.ts";
import type { Subject } from "../../views/details.ts";
import { leasesOf, viewsOf } from "../../views/job-state.ts";
import { muteColumns } from "../../views/mute-columns.ts";
import { rateColumns } from "../../views/rate-columns.ts";
import { runColumns } from "../../views/run-columns.ts";
import { scheduleColumns } from "../../views/schedule-columns.ts";
import { jobColumns, queueColumns, workerColumns } from "../../views/status-columns.ts";
import { fetchRuns, type RunResults } from "../runs/fetch-runs.ts";
import { scheduleViews } from "../schedule/schedule-info.ts";
import { failureColumns, groupFailures } from "./failures.ts";

export const listKinds = [
  "runs",
  "jobs",
  "queues",
  "workers",
  "failures",
  "mutes",
  "schedules",
  "batches",
  "rates",
  "actions",
] as const;
export type ListKind = (typeof listKinds)[number];

export interface ListQuery {
  where?: string;
  before?: number;
  limit: number;
  columns?: string;
  timezone: string;
  /** Only batches that have not finished. */
  unfinished?: boolean;
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

/** Most entries of the audit trail that one call reads. */
const MOST_ACTIONS = 1000;

/** Most batches that one call reads. */
const MOST_BATCHES = 1000;

/** Most rates that one call reads. */
const MOST_RATES = 1000;

interface ListView<Row> {
  columns(page: Page): Column<Row>[];
  /** Default: the row itself. */
  toJson?(row: Row): object;
  /** Undefined: lines cannot be opened. */
  toSubject?(row: Row): Subject;
}

function listing<Row>(
  rows: readonly Row[],
  query: ListQuery,
  { columns, toJson = (row) => row as object, toSubject }: ListView<Row>,
): Listing {
  const shown = rows.slice(0, query.limit);
  return {
    lines: (page) => table(selectColumns(columns(page), query.columns), shown, page),
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
export const listings: Record<ListKind, (jobs: Punctual, query: ListQuery) => Promise<Listing>> = {
  async runs(jobs, query) {
    const now = new Date(systemClock.now());
    const { runs, next, bounded } = await fetchRuns(jobs, filterOf(query), query.limit);
    return {
      ...listing(runs, query, {
        columns: (page) => runColumns(now, page, runs),
        toJson: toDocument,
        toSubject: ({ id }) => ({ run: id }),
      }),
      more: { next, bounded },
      notes: [...boundNote(bounded), ...(next === null ? [] : [nextPage(query, next)])],
    };
  },

  async failures(jobs, query) {
    const now = new Date(systemClock.now());
    const { runs, next, bounded } = await fetchRuns(
      jobs,
      { ...filterOf(query), state: "failed" },
      MOST_GROUPED,
    );
    const groups = listing(groupFailures(runs), query, {
      columns: (page) => failureColumns(now, page),
      toSubject: ({ example }) => ({ run: example }),
    });
    const capped = next === null ? [] : [`Only the latest ${grouped(runs.length)} failed runs are grouped.`];
    return {
      ...groups,
      more: { bounded, capped: next !== null },
      notes: [...groups.notes, ...boundNote(bounded), ...capped],
    };
  },

  async mutes(jobs, query) {
    const now = new Date(systemClock.now());
    const { groups } = await jobs.failures({ limit: 500 });
    const known = new Map(groups.map((group) => [group.fingerprint, group]));
    const rows = (await jobs.mutes()).map((mute) => {
      const { jobs: names = [], count = 0, error = null } = known.get(mute.fingerprint) ?? {};
      return { ...mute, count, jobs: names, error: error && `${error.name}: ${error.message}` };
    });
    return listing(rows, query, { columns: (page) => muteColumns(now, page) });
  },

  async rates(jobs, query) {
    const now = new Date(systemClock.now());
    const rates = await jobs.rates({ limit: Math.min(MOST_RATES, query.limit + 1) });
    return listing(rates, query, { columns: (page) => rateColumns(now, page) });
  },

  async jobs(jobs, query) {
    const report = await jobs.status();
    const isRunning = report.running > 0;
    const running: RunResults["runs"] = isRunning
      ? (await jobs.runs({ state: "running", limit: 1000 })).runs
      : [];
    const leases = leasesOf(running, report);
    return listing(viewsOf(report), query, {
      columns: (page) => jobColumns(leases, report.now, page),
      toJson: ({ job, state }) => ({ ...job, state }),
      toSubject: ({ job }) => ({ job: job.name }),
    });
  },

  async queues(jobs, query) {
    const report = await jobs.status();
    return listing(report.queues, query, { columns: (page) => queueColumns(report, page) });
  },

  async workers(jobs, query) {
    const report = await jobs.status();
    return listing(report.workers, query, { columns: (page) => workerColumns(report, page) });
  },

  async actions(jobs, query) {
    const now = new Date(systemClock.now());
    const limit = Math.min(query.limit, MOST_ACTIONS);
    const { entries, next } = await jobs.audit({
      limit,
      ...(query.before !== undefined && { before: query.before }),
    });
    return {
      ...listing(entries, query, {
        columns: (page) => actionColumns(now, page),
        toJson: (entry) => ({ ...entry, details: redact(entry.details) }),
      }),
      more: { next },
      notes: next === null ? [] : [`Next page: punctual list actions --before ${next}`],
    };
  },

  async batches(jobs, query) {
    const now = new Date(systemClock.now());
    const { unfinished = false, before } = query;
    const limit = Math.min(query.limit, MOST_BATCHES);
    const page = await jobs.batches({ limit, unfinished, ...(before !== undefined && { before }) });
    const { batches, next } = page;
    return {
      ...listing(batches, query, {
        columns: (page) => batchColumns(now, page),
        toSubject: ({ id }) => ({ batch: id }),
      }),
      more: { next },
      notes: next === null ? [] : [`Next page: punctual batches --before ${next}`],
    };
  },

  async schedules(jobs, query) {
    const [all, status] = [await jobs.schedules(), await jobs.status()];
    return listing(scheduleViews(all, status), query, {
      columns: (page) => scheduleColumns(status.now, page),
      toSubject: ({ job }) => ({ job }),
    });
  },
};

/** Throws if `--where` or `--before` is used with a list that does not take it. */
export function checkListOptions(
  kind: ListKind,
  { where, before }: Pick<ListQuery, "where" | "before">,
): void {
  if (kind === "runs" || kind === "failures") return;
  const isPaged = kind === "actions" || kind === "batches";
  const option = where !== undefined ? "--where" : before !== undefined && !isPaged ? "--before" : null;
  if (option)
    throw new Exit(
      exitCodes.usage,
      `${option} works only with runs and failures; "list ${kind}" always lists all. Leave it out.`,
    );
}

export function filterOf({ where, before, timezone }: ListQuery): RunsFilter {
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

function nextPage({ where, limit }: ListQuery, next: number): string {
  const words = [
    ...(where === undefined ? [] : ["--where", shellQuote(plain(where))]),
    ...(limit === 50 ? [] : ["--limit", limit]),
  ];
  return `Next page: ${["punctual list", ...words, "--before", next].join(" ")}`;
}
