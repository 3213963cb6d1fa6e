import { describe, expect, test } from "vitest";
import { LOOK_BACK, type ParseOptions, parseQuery } from "../../src/query/parse.ts";
import type { RunCondition } from "../../src/store/search.ts";

const now = Date.parse("2026-11-16T12:00:00Z");

function parse(text: string, options: Partial<ParseOptions> = {}): RunCondition[] {
  const { where } = parseQuery(text, { now, ...options });
  return where.filter(({ field }) => field !== "finished");
}

const is = (text: string) => ({ is: text });
const like = (...pieces: string[]) => ({ like: pieces });

describe("a query", () => {
  test.each<[string, ...RunCondition[]]>([
    [""],
    ["  \t\n "],
    ["state:failed,running", { field: "state", any: ["failed", "running"] }],
    ["STATE:failed", { field: "state", any: ["failed"] }],
    ["job:send", { field: "job", any: [is("send")] }],
    ["job:send-*", { field: "job", any: [like("send-", "")] }],
    ["job:*a**b*", { field: "job", any: [like("", "a", "b", "")] }],
    ["job:mail:send", { field: "job", any: [is("mail:send")] }],
    ['job:"a b","c,d"', { field: "job", any: [is("a b"), is("c,d")] }],
    ['job:"*"', { field: "job", any: [is("*")] }],
    ['job:"a *"*', { field: "job", any: [like("a *", "")] }],
    ['job:"say \\"hi\\" \\\\ "', { field: "job", any: [is('say "hi" \\ ')] }],
    ['key:""', { field: "key", any: [is("")] }],
    ["queue:emails", { field: "queue", any: [is("emails")] }],
    ["-queue:bulk", { field: "queue", any: [is("bulk")], not: true }],
    [
      "id:4711,12",
      {
        field: "id",
        any: [
          { op: "=", value: 4711 },
          { op: "=", value: 12 },
        ],
      },
    ],
    ["id:>=7", { field: "id", any: [{ op: ">=", value: 7 }] }],
    ['error:"timed out"', { field: "error", any: [like("", "timed out", "")] }],
    ["error:connect*refused", { field: "error", any: [like("", "connect", "refused", "")] }],
    ["errortype:SmtpError", { field: "errortype", any: [is("SmtpError")] }],
    ["payload.customerId:4711", { field: "payload", path: ["customerId"], any: [is("4711")] }],
    ['payload."a b"."c.\\"d".0:x', { field: "payload", path: ["a b", 'c."d', "0"], any: [is("x")] }],
    ['payload.n:">5"', { field: "payload", path: ["n"], any: [is(">5")] }],
    ["tag:billing,urgent", { field: "tag", any: [is("billing"), is("urgent")] }],
    ["key:tenant-1", { field: "key", any: [is("tenant-1")] }],
    ["batch:b", { field: "batch", any: [is("b")] }],
    ["parent:5", { field: "parent", any: [{ op: "=", value: 5 }] }],
    ["worker:web-2", { field: "worker", any: [is("web-2")] }],
    ["schedule:nightly", { field: "schedule", any: [is("nightly")] }],
    ["schedule:12", { field: "schedule", any: [{ id: 12 }] }],
    ['schedule:"12"', { field: "schedule", any: [is("12")] }],
    ["after:24h", { field: "at", from: now - 86_400_000 }],
    ["after:90", { field: "at", from: now - 90_000 }],
    ["before:2026-11-15T10:00", { field: "at", to: Date.parse("2026-11-15T10:00:00Z") }],
    ["before:2026-11-15T10:00+02:00", { field: "at", to: Date.parse("2026-11-15T08:00:00Z") }],
    ["after:2026-11-15", { field: "at", from: Date.parse("2026-11-15T00:00:00Z") }],
    ["took:>5s", { field: "took", any: [{ op: ">", value: 5000 }] }],
    ["took:<=200ms", { field: "took", any: [{ op: "<=", value: 200 }] }],
    ["waited:>1m", { field: "waited", any: [{ op: ">", value: 60_000 }] }],
    ["attempt:>=3", { field: "attempt", any: [{ op: ">=", value: 3 }] }],
    ["attempt:1", { field: "attempt", any: [{ op: "=", value: 1 }] }],
    ["is:late", { field: "aspect", any: ["late"] }],
    ["is:due", { field: "aspect", any: ["due"] }],
    ["is:retrying,cancelling", { field: "aspect", any: ["retrying", "cancelling"] }],
    ["is:running", { field: "state", any: ["running"] }],
    ["is:waiting", { field: "state", any: ["scheduled", "ready"] }],
    ["-is:finished", { field: "state", any: ["completed", "failed", "cancelled", "skipped"], not: true }],
    ["timeout", { field: "text", pieces: ["timeout"] }],
    ["-timeout", { field: "text", pieces: ["timeout"], not: true }],
    ['"no: such, field"', { field: "text", pieces: ["no: such, field"] }],
    ["a,b", { field: "text", pieces: ["a,b"] }],
    ["send*mail", { field: "text", pieces: ["send", "mail"] }],
    ["4711", { field: "text", pieces: ["4711"] }],
    ["-", { field: "text", pieces: ["-"] }],
    ["a b", { field: "text", pieces: ["a"] }, { field: "text", pieces: ["b"] }],
    [
      "state:failed  job:send-* -queue:bulk timeout",
      { field: "state", any: ["failed"] },
      { field: "job", any: [like("send-", "")] },
      { field: "queue", any: [is("bulk")], not: true },
      { field: "text", pieces: ["timeout"] },
    ],
  ])("%j", (text, ...expected) => {
    expect(parse(text)).toEqual(expected);
  });

  test("reads a time without an offset in the given zone", () => {
    expect(parse("after:2026-11-15T10:00", { zone: "Europe/Berlin" })).toEqual([
      { field: "at", from: Date.parse("2026-11-15T09:00:00Z") },
    ]);
    expect(() => parse("after:2026-11-15T10:00", { zone: "Mars/Base" })).toThrow("Mars/Base");
  });

  test.each([
    "",
    "state:failed",
    "job:send-*",
    "job:a,b*",
    "-job:send",
    "queue:emails",
    "before:24h",
    "id:>5",
    "timeout",
    "-is:late",
    "-after:24h",
  ])("%j is restricted to seven days", (text) => {
    const { where, bounded } = parseQuery(text, { now });
    expect(bounded).toBe(true);
    expect(where.at(-1)).toEqual({ field: "finished", from: now - LOOK_BACK });
  });

  test.each([
    "after:1y",
    "id:5",
    "id:5,6",
    "job:send",
    "job:a,b state:failed",
    "state:ready",
    "is:waiting",
    "is:late",
  ])("%j sets its own bound", (text) => {
    if (text === "after:1y") return expect(() => parse(text)).toThrow("after:24h");
    expect(parseQuery(text, { now }).bounded).toBe(false);
  });
});

describe("an invalid query is refused, with the reason", () => {
  test.each<[string, ...string[]]>([
    ["stat:failed", 'no field "stat"', 'Did you mean "state"?', "Known: state, job, queue"],
    ["name:send", 'no field "name"', 'Did you mean "job"?'],
    ["args.id:5", 'no field "args.id"', 'Did you mean "payload.…"?'],
    ["payload:5", 'no field "payload"', 'Did you mean "payload.…"?'],
    ["job.x:5", 'no field "job.x"', 'Did you mean "payload.…"?'],
    ["http://x", 'no field "http"', "put it in quotes"],
    ["constructor:1", 'no field "constructor"'],
    ["state:faild", 'no state "faild"', 'Did you mean "failed"?', "Known: scheduled, ready"],
    ["state:retrying", 'no state "retrying"', 'Did you mean "is:retrying"?'],
    ["state:succeeded", 'Did you mean "completed"?'],
    ["state:toString", 'no state "toString"'],
    ["is:lat", 'no word behind "is:" "lat"', 'Did you mean "late"?'],
    ["is:failed", 'Did you mean "state:failed"?'],
    ["is:late,running", "Search for each kind separately"],
    ["job:", 'Expected a value in "job:"'],
    ["job:a,", 'Expected a value in "job:a,"'],
    ['job:"a', "is not closed"],
    ["id:x", '"id:3" or "id:>=3"', 'got "id:x"'],
    ["id:1.5", 'got "id:1.5"'],
    ["id:9999999999999999", 'got "id:9999999999999999"'],
    ["attempt:>", 'got "attempt:>"'],
    ["took:5s", '"took:>5s"', 'got "took:5s"'],
    ["took:>soon", 'got "took:>soon"'],
    ["after:soon", '"after:24h"', 'got "after:soon"'],
    ["after:1h,2h", "takes one value, got 2"],
    ["tag:b*", "a whole tag"],
    ["payload.n:>5", "compares text only"],
    ["job:a\0", "cannot contain NUL"],
    ["payload.\ud800:1", "a lone surrogate"],
    ["a ".repeat(31), "at most 30 terms"],
    ["a".repeat(2001), "at most 2000 characters"],
    [`payload${".a".repeat(11)}:1`, "at most 10 steps"],
    [`payload${".0".repeat(5)}:1`, "at most 4 numbers"],
    [`job:a${",a".repeat(100)}`, "at most 100 values"],
  ])("%j", (text, ...parts) => {
    let thrown: unknown;
    try {
      parse(text);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: "INVALID_QUERY" });
    for (const part of parts) expect((thrown as Error).message).toContain(part);
  });

  test("anything but text", () => {
    expect(() => parseQuery(5 as unknown as string, { now })).toThrow("got 5");
  });
});
