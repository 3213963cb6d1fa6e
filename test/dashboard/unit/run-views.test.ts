import { describe, expect, test } from "vitest";
import { attemptTimeline, type TimelineSource } from "../../../dashboard/src/charts/attempt-rows.ts";
import { failureText, groupFrames, groupTitle } from "../../../dashboard/src/failure/frames.ts";
import { issueText } from "../../../dashboard/src/failure/issue.ts";
import type { AttemptView, FailureView, Meta, RunDetail } from "../../../src/dashboard/api/contract.ts";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
const ms = (second: number) => Date.UTC(2026, 0, 1) + second * 1000;

function attempt(
  number: number,
  from: number | null,
  to: number | null,
  outcome: AttemptView["outcome"],
): AttemptView {
  return {
    attempt: number,
    outcome,
    worker: null,
    startedAt: from === null ? null : at(from),
    finishedAt: to === null ? null : at(to),
    error: null,
  };
}

const segmentsOf = (run: TimelineSource, now: number) =>
  attemptTimeline(run, ms(now)).rows.map((row) =>
    row.segments.map(({ kind, from, to }) => `${kind} ${(from - ms(0)) / 1000}-${(to - ms(0)) / 1000}`),
  );

describe("the timeline of a run", () => {
  test("one attempt: the wait begins when the run was due", () => {
    const run: TimelineSource = {
      createdAt: at(0),
      runAt: at(3600),
      state: "completed",
      attempts: [attempt(1, 3602, 3605, "completed")],
    };
    expect(segmentsOf(run, 9999)).toEqual([["wait 3600-3602", "run 3602-3605"]]);
    expect(attemptTimeline(run, ms(9999))).toMatchObject({ from: ms(3600), to: ms(3605) });
  });

  test("a backoff lasts until the next attempt", () => {
    const run: TimelineSource = {
      createdAt: at(0),
      runAt: at(40),
      state: "failed",
      attempts: [attempt(1, 1, 11, "retried"), attempt(2, 40, 50, "failed")],
    };
    expect(segmentsOf(run, 9999)).toEqual([["wait 0-1", "run 1-11", "backoff 11-40"], ["run 40-50"]]);
  });

  test("a running attempt lasts until now", () => {
    const run: TimelineSource = {
      createdAt: at(0),
      runAt: at(0),
      state: "running",
      attempts: [attempt(1, 2, null, "running")],
    };
    expect(segmentsOf(run, 30)).toEqual([["wait 0-2", "run 2-30"]]);
  });

  test("a run that waits for its next attempt ends with its backoff, and with the wait after it", () => {
    const run: TimelineSource = {
      createdAt: at(0),
      runAt: at(20),
      state: "scheduled",
      attempts: [attempt(1, 1, 11, "retried")],
    };
    expect(segmentsOf(run, 15)).toEqual([["wait 0-1", "run 1-11", "backoff 11-20"]]);
    expect(segmentsOf(run, 25)).toEqual([["wait 0-1", "run 1-11", "backoff 11-20", "wait 20-25"]]);
  });

  test("an attempt whose start or end is unknown has no run", () => {
    const run: TimelineSource = {
      createdAt: at(0),
      runAt: at(0),
      state: "failed",
      attempts: [attempt(1, null, 5, "crashed"), attempt(2, 8, null, "crashed")],
    };
    expect(segmentsOf(run, 30)).toEqual([["wait 0-5", "backoff 5-8"], []]);
  });

  test("a run that never started has no rows, and times that exist", () => {
    const run: TimelineSource = { createdAt: at(0), runAt: at(0), state: "ready", attempts: [] };
    expect(attemptTimeline(run, ms(5))).toEqual({ from: ms(0), to: ms(0) + 1, rows: [] });
  });
});

describe("the failure of a run", () => {
  const own = { call: "send", place: "/app/jobs/send.ts:41:11", own: true };
  const package1 = { call: "", place: "/app/node_modules/smtp/index.js:1:1", own: false };
  const node = { call: "afterConnect", place: "node:net:1637:16", own: false };

  test("foreign frames that follow each other fold into one line", () => {
    const groups = groupFrames([own, package1, node, own, package1]);
    expect(groups.map((group) => (group.own ? group.frame.call : groupTitle(group.frames)))).toEqual([
      "send",
      "2 frames in node_modules and Node",
      "send",
      "1 frame in node_modules",
    ]);
    expect(groupTitle([node])).toBe("1 frame in Node");
  });

  test("the text to copy has the stack and every cause", () => {
    const cause: FailureView = {
      name: "Error",
      message: "connect ETIMEDOUT",
      code: null,
      frames: [node, { ...package1 }],
      stack: null,
      cause: null,
    };
    const failure: FailureView = {
      name: "SmtpError",
      message: "cannot send",
      code: null,
      frames: [own],
      stack: "SmtpError: cannot send\n    at send (/app/jobs/send.ts:41:11)",
      cause,
    };
    expect(failureText(failure)).toBe(
      [
        "SmtpError: cannot send",
        "    at send (/app/jobs/send.ts:41:11)",
        "caused by: Error: connect ETIMEDOUT",
        "    at afterConnect (node:net:1637:16)",
        "    at /app/node_modules/smtp/index.js:1:1",
      ].join("\n"),
    );
  });
});

describe("a failed run as an issue", () => {
  const failure: FailureView = {
    name: "SmtpError",
    message: "no\nanswer @ana #12",
    code: null,
    frames: [],
    stack: "SmtpError: no\n    at send (mail.ts:1:2)\n```\nevil\u202e",
    cause: null,
  };
  const run = {
    id: 7,
    job: "mail `x` @bob",
    queue: "emails",
    attempt: 3,
    maxAttempts: 3,
    finishedAt: at(5),
    fingerprint: "abc",
    alike: { value: 12, capped: true },
    failure,
    args: { json: '{"to":"[hidden]"}', size: 17, truncated: false },
  } as RunDetail;
  const meta = {
    version: "1.2.3",
    database: { kind: "postgres", version: "17.2", schema: 11 },
    settings: { Node: "v24.1.0", Process: "secret-host:1" },
  } as unknown as Meta;
  const versions = {
    dashboard: "1.2.3",
    workers: [
      { version: "1.2.3", count: 2 },
      { version: null, count: 1 },
    ],
    schema: { found: 11, known: 11 },
    writable: true,
  };

  test("has the error, its stack, the versions and the payload, and nothing of it is Markdown", () => {
    expect(issueText(run, { meta, versions }).split("\n")).toEqual([
      "## ``mail `x` @bob`` failed: `SmtpError: no`",
      "",
      "- Run: 7, attempt 3 of 3",
      "- Queue: `emails`",
      "- Finished: 2026-01-01T00:00:05.000Z",
      "- Same error in other runs: 12 or more (`fingerprint:abc`)",
      "- Punctual: 1.2.3",
      "- Workers: 1.2.3 (2), older (1)",
      "- Node: v24.1.0",
      "- Database: postgres 17.2, schema 11",
      "",
      "### Error",
      "",
      "````",
      "SmtpError: no",
      "    at send (mail.ts:1:2)",
      "```",
      "evil\\u202e",
      "````",
      "",
      "### Payload",
      "",
      "```json",
      '{"to":"[hidden]"}',
      "```",
    ]);
  });

  test("says that a payload was cut, or that there is none", () => {
    const cut = { json: '{"to":"a', size: 99_000, truncated: true };
    const text = issueText({ ...run, args: cut, alike: null }, { meta: null, versions: null });
    expect(text).toMatch(/```\n\{"to":"a\n```\n\nCut: the whole payload has 99000 bytes\.$/);
    expect(text).not.toMatch(/Punctual|Database|Same error/);
    const none = { json: null, size: 0, truncated: false };
    expect(issueText({ ...run, args: none }, { meta: null, versions: null })).toMatch(
      /### Payload\n\nNone\.$/,
    );
  });
});
