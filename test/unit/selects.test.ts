import { describe, expect, test } from "vitest";
import { parseQuery } from "../../src/query/parse.ts";
import { selectsRuns } from "../../src/query/selects.ts";
import { finishedStates, type RunState } from "../../src/run/states.ts";

const now = Date.parse("2026-11-16T12:00:00Z");

function selects(text: string, states: readonly RunState[] = finishedStates): boolean {
  return selectsRuns(parseQuery(text, { now }).where, { states, now });
}

describe("a query selects runs", () => {
  test.each([
    "state:failed",
    "is:waiting",
    "-state:completed",
    "job:mail",
    "job:mail,send-*",
    'job:"*"',
    "queue:*mail*",
    "key:*",
    "error:*",
    "tag:billing",
    "schedule:*",
    "parent:>0",
    "payload.n:*",
    "is:late",
    "timeout",
    "id:7",
    "id:>1",
    "id:>5,<5",
    "attempt:>=1",
    "took:>5s",
    "after:24h",
    "before:1h",
    "job:* state:failed",
  ])("%s", (text) => {
    expect(selects(text)).toBe(true);
  });
});

describe("a query matches all", () => {
  test.each([
    "",
    "job:*",
    "job:mail,*",
    "queue:** job:*",
    "*",
    '""',
    "state:completed,failed,cancelled,skipped",
    "is:finished",
    "is:waiting,running,finished",
    "-state:running",
    "-is:waiting",
    "-job:misspelt",
    "-queue:bulk -tag:none",
    "-is:late",
    "-timeout",
    "id:>0",
    "id:>=1",
    "id:>5,<=5",
    "id:<3,3,4,>4",
    "attempt:>=0",
    "took:>=0s",
    "waited:>=0s",
    "before:2030-01-01",
    "before:0s",
    "after:1960-01-01",
  ])("%s", (text) => {
    expect(selects(text)).toBe(false);
  });

  test("of other states than the ones that an action is for", () => {
    const unfinished: RunState[] = ["scheduled", "ready", "running"];
    expect(selects("state:scheduled,ready,running", unfinished)).toBe(false);
    expect(selects("-is:finished", unfinished)).toBe(false);
    expect(selects("is:waiting", unfinished)).toBe(true);
    expect(selects("is:finished", unfinished)).toBe(true);
  });
});
