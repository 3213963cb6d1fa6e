import { describe, expect, test } from "vitest";
import { match, pathTo, withBase, withoutBase } from "../../../dashboard/src/router/path.ts";

describe.each(["/", "/a/b/"])("mounted at %s", (base) => {
  test.each(["/", "/runs/42", "/jobs/a%2Fb"])("%s is found again behind the base", (path) => {
    expect(withoutBase(base, withBase(base, path))).toBe(path);
  });

  test("a query stays", () => {
    expect(withBase(base, "/runs?q=state:failed")).toBe(`${base}runs?q=state:failed`);
  });
});

test("the mount path without its last slash is the first page, another path is none", () => {
  expect(withoutBase("/a/b/", "/a/b")).toBe("/");
  expect(withoutBase("/a/b/", "/a/bc")).toBeNull();
});

const NAMES = [
  "mail",
  "billing/charge v2.0 & more",
  "50%",
  "ä?#",
  ".",
  "..",
  "...",
  "~.",
  "~~..",
  "~",
  "%2e",
  "./..",
];

test.each(NAMES)("the name %s survives an address", (name) => {
  const { pathname } = new URL(pathTo("/jobs/:name", { name }), "http://localhost");
  expect(match("/jobs/:name", pathname)).toEqual({ name });
});

test("a pattern matches whole segments only", () => {
  expect(match("/runs", "/runs/")).toEqual({});
  expect(match("/runs", "/runs/1")).toBeNull();
  expect(match("/runs/:id", "/jobs/1")).toBeNull();
  expect(match("/jobs/:name", "/jobs/%zz")).toEqual({ name: "%zz" });
});

test("a query in an address is readable, and a browser reads it back", () => {
  const q = 'state:failed,running job:send-* error:"a&b=c+d" 100%';
  const path = pathTo("/runs", {}, { q, before: null });
  expect(path).toMatch(/^\/runs\?q=state:failed,running\+job:send-\*/);
  expect(new URL(path, "http://localhost").searchParams.get("q")).toBe(q);
  expect(new URL(path, "http://localhost").searchParams.has("before")).toBe(false);
});
