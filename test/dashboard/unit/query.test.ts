import { describe, expect, test } from "vitest";
import { commandFor } from "../../../dashboard/src/query/command.ts";
import { accept, placeAt, suggest } from "../../../dashboard/src/query/completion.ts";
import { faultIn } from "../../../dashboard/src/query/fault.ts";
import {
  namesState,
  quoteValue,
  readTerms,
  stateTerm,
  withEachLeftOut,
  withField,
  withoutState,
  withState,
} from "../../../dashboard/src/query/terms.ts";
import { toTerms } from "../../../src/query/terms.ts";

describe("terms of a query", () => {
  test.each([
    'state:failed,running job:send-* -queue:bulk error:"timed out" 4711',
    'payload."odd name".items.0:x "two words" payload.customerId:4711',
    'key:"a \\" quote" before:2026-11-15T10:00',
  ])("are split as the server splits them: %s", (query) => {
    const sources = readTerms(query).map(({ start, end }) => query.slice(start, end));
    expect(sources).toEqual(toTerms(query).map(({ source }) => source));
  });

  test("keep an open quote as one term", () => {
    expect(readTerms('job:a error:"timed o')).toMatchObject([
      { field: "job", value: "a" },
      { field: "error", value: '"timed o', end: 20 },
    ]);
  });
});

describe("tabs of states", () => {
  test("replace the state of a query and keep the rest", () => {
    expect(withState('job:"a b" state:failed after:24h', "is:late")).toBe('is:late job:"a b" after:24h');
    expect(withoutState("is:retrying -state:failed x")).toBe("-state:failed x");
  });

  test("know which of them the query is", () => {
    expect(stateTerm("job:a state:failed")).toBe("state:failed");
    expect(stateTerm("state:failed is:late")).toBeNull();
    expect(stateTerm("-state:failed")).toBeNull();
    expect(namesState("-state:failed")).toBe(false);
  });
});

test("another bound in time takes the place of the first", () => {
  expect(withField("state:failed after:7d x", "after", "30d")).toBe("state:failed x after:30d");
});

test.each([
  ["emails", "emails"],
  ["billing/charge v2", '"billing/charge v2"'],
  ['a"b\\c', '"a\\"b\\\\c"'],
  ["a*", '"a*"'],
  [">5", '">5"'],
])("a name %s is written as the value %s, which the server reads as that name", (name, value) => {
  expect(quoteValue(name)).toBe(value);
  const [term] = toTerms(`job:${value}`);
  expect(term!.values[0]!.map(({ text }) => text).join("")).toBe(name);
});

describe("completion", () => {
  const labels = (query: string, caret = query.length, looked: string[] = []) =>
    suggest(placeAt(query, caret), looked).map(({ label }) => label);

  test("suggests every field where a term begins", () => {
    expect(labels("")).toContain("payload.…");
    expect(labels("state:failed ")).toContain("job:");
  });

  test("suggests the fields that begin with what is written", () => {
    expect(labels("job:a err")).toEqual(["error:", "errortype:"]);
    expect(labels("-qu")).toEqual(["queue:"]);
  });

  test("suggests values of a list behind its last comma", () => {
    expect(labels("state:failed,ru")).toEqual(["running"]);
    expect(placeAt("state:failed,ru", 15)).toEqual({ field: "state", prefix: "ru", from: 13, to: 15 });
  });

  test("suggests what the server knows, wherever the text occurs in it", () => {
    expect(labels("job:in", 6, ["mail.send-invoice", "geocode"])).toEqual(["mail.send-invoice"]);
  });

  test("does not suggest what is already there", () => {
    expect(labels("is:late")).toEqual([]);
  });

  test("inserts a field without a space and a value with one, before what follows", () => {
    expect(accept("st", placeAt("st", 2), "state:")).toEqual({ query: "state:", caret: 6 });
    const query = "state:fa after:24h";
    expect(accept(query, placeAt(query, 8), "failed")).toEqual({
      query: "state:failed after:24h",
      caret: 13,
    });
  });

  test("replaces one value of a list and keeps the others", () => {
    const query = "state:fa,running x";
    expect(accept(query, placeAt(query, 8), "failed")).toEqual({
      query: "state:failed,running x",
      caret: 12,
    });
  });

  test("replaces a quoted value that is being written", () => {
    const query = 'job:"billing/ch';
    const [suggestion] = suggest(placeAt(query, query.length), ["billing/charge v2"]);
    expect(accept(query, placeAt(query, query.length), suggestion!.insert).query).toBe(
      'job:"billing/charge v2" ',
    );
  });
});

test("the part of a query that a message quotes is found", () => {
  expect(faultIn("a foo:1", 'Unknown field "foo". Did you mean "job"?')).toEqual({ start: 2, end: 5 });
  expect(faultIn("a", "A query has at most 30 terms.")).toBeNull();
});

test("a command line quotes the query for a shell", () => {
  expect(commandFor("retry", { ids: [1, 2] })).toBe("punctual retry 1 2");
  expect(commandFor("retry", { q: "state:failed" })).toBe("punctual retry --where state:failed");
  expect(commandFor("delete", { q: `error:"it's" $(rm)` })).toBe(
    `punctual delete --where 'error:"it'\\''s" $(rm)'`,
  );
});

test("a query can be relaxed by each of its terms", () => {
  expect(withEachLeftOut('state:failed  error:"timed out" 4711')).toEqual([
    { without: "state:failed", rest: 'error:"timed out" 4711' },
    { without: 'error:"timed out"', rest: "state:failed 4711" },
    { without: "4711", rest: 'state:failed error:"timed out"' },
  ]);
});
