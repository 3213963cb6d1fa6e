import { describe, expect, test } from "vitest";
import { attemptTimeline, type TimelineSource } from "../../../dashboard/src/charts/attempt-rows.ts";
import { failureText, groupFrames, groupTitle } from "../../../dashboard/src/failure/frames.ts";
import type { AttemptView, FailureView } from "../../../src/dashboard/api/contract.ts";

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
