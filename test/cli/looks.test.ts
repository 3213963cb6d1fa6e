import { describe, expect, test } from "vitest";
import { failureColumns, groupFailures } from "../../src/cli/commands/list/failures.ts";
import {
  problemLines,
  type StatusPageOptions,
  statusPicture,
} from "../../src/cli/commands/status/status-page.ts";
import type { Page } from "../../src/cli/render/page.ts";
import { selectColumns, table } from "../../src/cli/render/table.ts";
import { widthOf } from "../../src/cli/render/width.ts";
import { error, type Finding, findingLines, ok, warning } from "../../src/cli/views/finding.ts";
import { jobPage } from "../../src/cli/views/job-page.ts";
import { leasesOf, viewsOf } from "../../src/cli/views/job-state.ts";
import { runColumns } from "../../src/cli/views/run-columns.ts";
import { runHints, runPage } from "../../src/cli/views/run-page.ts";
import { scheduleColumns } from "../../src/cli/views/schedule-columns.ts";
import { healthOf } from "../../src/status/health.ts";
import type { ScheduleInfo } from "../../src/status/report.ts";
import { at, attempts, failed, now, report, run, runs } from "./support/fixed-data.ts";
import { expectGolden } from "./support/golden.ts";
import { pageOf } from "./support/page.ts";

const running = [
  run({
    id: 1,
    name: "rollup-hourly",
    state: "running",
    worker: "pR8sW1cYdN5k",
    startedAt: at(-72),
    lockedUntil: at(48),
  }),
  run({
    id: 2,
    name: "send-invoice",
    state: "running",
    worker: "pR8sW1cYdN5k",
    startedAt: at(-5),
    lockedUntil: at(55),
  }),
  run({
    id: 3,
    name: "send-invoice",
    state: "running",
    worker: "Vt3kQ9aXbL2m",
    startedAt: at(-48),
    lockedUntil: at(12),
  }),
  run({
    id: 4,
    name: "send-invoice",
    state: "running",
    worker: "pR8sW1cYdN5k",
    startedAt: null,
    lockedUntil: at(59),
  }),
];

function status(page: Page, shown: Partial<StatusPageOptions> = {}): string[] {
  const taken = { report, views: viewsOf(report), leases: leasesOf(running, report) };
  const { head, body, foot } = statusPicture(taken, { sort: "name", ...shown }, "sqlite ./jobs.db", page);
  return [...head, ...body, ...foot];
}

const schedules: ScheduleInfo[] = [
  {
    id: 1,
    job: "nightly-export",
    cron: "0 0 14 * * *",
    timezone: "Europe/Berlin",
    args: undefined,
    queue: null,
    lastTick: at(-90_000),
    nextTick: new Date("2026-11-16T13:00:00Z"),
    missed: 2,
    paused: false,
    pause: null,
  },
  {
    id: 2,
    job: "nightly-export",
    cron: "*/30 * 9-17 * * 1-5",
    timezone: "UTC",
    args: { full: true },
    queue: "heavy",
    lastTick: null,
    nextTick: at(120),
    missed: 0,
    paused: false,
    pause: null,
  },
  {
    id: 3,
    job: "digest-emails",
    cron: "0 0 15 * * 1-5",
    timezone: "UTC",
    args: undefined,
    queue: null,
    lastTick: null,
    nextTick: at(60),
    missed: 0,
    paused: true,
    pause: null,
  },
];

const findings: Finding[] = [
  ok("10 jobs of 4 files, 0 with errors"),
  warning("no worker is alive, with 3 runs due", "punctual work"),
  warning(
    'web-2:4411 has given no sign of life for 47 s and holds run 12 of "send-invoice": its lease ends in 13 s, and no worker is alive to take it back',
    "punctual work",
  ),
  warning(
    "punctual_runs_scheduled is missing",
    "create index concurrently punctual_runs_scheduled on punctual_runs (run_at, id) where state = 0",
  ),
  error('The database is at schema 12 (table prefix "punctual_"), which needs code for schema 12 or newer.'),
];

const views: Record<string, (page: Page) => string[]> = {
  doctor: (page) => findings.flatMap((finding) => findingLines(finding, page)),
  check: (page) => {
    const silent = [{ ...SILENT, leasedUntil: at(13), trace: { ...SILENT.trace, seenAt: at(-47) } }];
    const stalled = { ...report, workers: [], silent };
    return problemLines(healthOf(stalled), page.proseWidth);
  },
  status,
  queues: (page) => status(page, { queues: true, workers: true }),
  runs: (page) => table(selectColumns(runColumns(now, page), undefined), runs, page),
  columns: (page) => table(selectColumns(runColumns(now, page), "id,tags,args,Waited,parent"), runs, page),
  failures: (page) => {
    const groups = groupFailures([
      failed,
      run({
        id: 7,
        name: "other",
        state: "failed",
        error: failed.error,
        fingerprint: failed.fingerprint,
        finishedAt: at(-86_400),
      }),
    ]);
    return table(selectColumns(failureColumns(now, page), undefined), groups, page);
  },
  schedules: (page) => table(selectColumns(scheduleColumns(now, page), undefined), schedules, page),
  run: (page) => {
    const shown = {
      run: failed,
      why: "It has ended: failed. connect ETIMEDOUT 10.0.0.1:25 and then a long sentence that goes on behind the edge of the screen.",
      attempts,
      logLines: 1234,
      lostResult: null,
      report,
      now,
    };
    return [...runPage(shown, { raw: false, cwd: "/srv/app" }, page), "", ...runHints(shown, false)];
  },
  job: (page) => {
    const view = viewsOf(report).find(({ job }) => job.name === "nightly-export")!;
    const counts = {
      completed: 1204,
      retried: 12,
      failed: 3,
      skipped: 0,
      cancelled: 0,
      snoozed: 0,
      released: 0,
    };
    const day = { at: now, counts, waited: { p50: 3, p95: 21 }, took: { p50: 1240, p95: 4100 } };
    const shown = {
      ...{ view, queue: report.queues[2]!, schedules: schedules.slice(0, 2), runs, day, now },
      ...{ failed: null, retrying: null },
    };
    return jobPage(shown, page);
  },
};

const SILENT = {
  id: "w9",
  trace: { host: "web-2", pid: 4411 },
  runs: 2,
  jobs: ["send-invoice"],
  last: { id: 12, name: "send-invoice" },
};

/** Lines that are left whole, so that they can be copied or searched: commands and the messages of errors. */
const WHOLE = /→ |SmtpError|^ +at /;

test.each(["doctor", "check", "run"])("without a terminal, sentences of %s wrap at 80 columns", (name) => {
  const lines = views[name]!(pageOf(null));
  expect(lines.filter((line) => widthOf(line) > 80 && !WHOLE.test(line))).toEqual([]);
  expectGolden(`${name}-piped`, lines);
});

describe.each(Object.keys(views))("%s", (name) => {
  test.each([80, 200])("at %i columns", (width) => {
    const lines = views[name]!(pageOf(width));
    for (const line of lines) if (!/^ +→ /.test(line)) expect(widthOf(line)).toBeLessThanOrEqual(width);
    expectGolden(`${name}-${width}`, lines);
  });

  test("without a terminal nothing is cut", () => {
    expect(views[name]!(pageOf(null)).join("\n")).not.toContain("…");
  });

  test("has no control characters", () => {
    for (const width of [40, 80, 200, null]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them
      expect(views[name]!(pageOf(width)).join("")).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202a-\u202e]/);
    }
  });

  test("uses ASCII if the terminal cannot display Unicode", () => {
    const own = views[name]!(pageOf(80, { letters: true }))
      .join("")
      .replaceAll(/[ぁ-んァ-ヶ一-龠レポート作成éー]/gu, "");
    expect(own).toMatch(/^[ -~]*$/);
  });
});

test("columns are dropped in this order: Priority, Seen, Queue, Cron, Leased", () => {
  const columns = ["Priority", "Seen", "Queue", "Cron", "Leased"];
  let left = columns;
  for (let width = 200; width >= 60; width--) {
    const titles = status(pageOf(width))[2]!;
    const there = columns.filter((title) => titles.includes(title));
    expect(left.slice(left.length - there.length)).toEqual(there);
    expect(left.length - there.length).toBeLessThanOrEqual(1);
    left = there;
  }
  expect(left).toEqual([]);
});

test("--raw hides nothing", () => {
  const shown = { run: failed, why: "", attempts, logLines: 0, lostResult: null, report, now };
  const page = pageOf(80);
  expect(runPage(shown, { raw: false, cwd: "/" }, page).join()).not.toContain("hunter2");
  expect(runPage(shown, { raw: true, cwd: "/" }, page).join()).toContain("hunter2");
});

test("an unknown column is refused, with a similar name", () => {
  expect(() => selectColumns(runColumns(now, pageOf(80)), "id,eror")).toThrow(
    /no column "eror"\. Did you mean "error"\?/,
  );
});
