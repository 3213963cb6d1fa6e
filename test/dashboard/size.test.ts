import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPage } from "../../scripts/build-page.ts";

/** Bytes, gzipped. */
const BUDGET = { ".js": 60 * 1024, ".css": 12 * 1024 };

const folder = mkdtempSync(join(tmpdir(), "punctual-page-"));
beforeAll(() => buildPage(folder));
afterAll(() => rmSync(folder, { recursive: true }));

const assets = () => readdirSync(join(folder, "assets")).map((name) => join(folder, "assets", name));

test.each([".js", ".css"] as const)("the page keeps its budget of %s", (type) => {
  const files = assets().filter((file) => extname(file) === type);
  const size = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).byteLength, 0);
  expect(size).toBeGreaterThan(0);
  expect(size).toBeLessThanOrEqual(BUDGET[type]);
});

test("the HTML has nothing inline that its content security policy forbids", () => {
  const html = readFileSync(join(folder, "index.html"), "utf8");
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<base/i);
  for (const [, attributes, content] of html.matchAll(/<script([^>]*)>([^<]*)<\/script>/g))
    expect(attributes!.includes("src=") || content!.trim() === "").toBe(true);
});

test("the page asks no other host for anything", () => {
  // Names of XML namespaces are addresses that no browser loads.
  const known = /^https?:\/\/(?:www\.w3\.org\/|localhost|127\.0\.0\.1)/;
  for (const file of [...assets(), join(folder, "index.html")]) {
    const found = readFileSync(file, "utf8").match(/https?:\/\/[\w.-]+[\w/.-]*/g) ?? [];
    expect(found.filter((address) => !known.test(address))).toEqual([]);
  }
});
