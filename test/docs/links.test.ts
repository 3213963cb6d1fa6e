import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isBroken, isLocal, linksIn } from "./support/links.ts";
import { codeIn, pages, read, root } from "./support/markdown.ts";

test.each(pages)("every link in %s has a target", (page) => {
  const local = linksIn(read(page)).filter(isLocal);
  expect(local.filter((link) => isBroken(root, page, link))).toEqual([]);
});

test.each(pages)("every file that %s names exists", (page) => {
  const named = codeIn(read(page).replace(/^```[\s\S]*?^```$/gm, "")).filter((code) =>
    /^[\w/-]+\/[\w./-]*\.(ts|mjs|md)$/.test(code),
  );
  expect(named.filter((file) => !["", "src"].some((from) => existsSync(join(root, from, file))))).toEqual([]);
});

test("the check finds a broken link", () => {
  expect(isBroken(root, "README.md", "docs/guide/nowhere.md")).toBe(true);
  expect(isBroken(root, "README.md", "docs/guide/limits.md#nowhere")).toBe(true);
  expect(isBroken(root, "README.md", "../elsewhere.md")).toBe(true);
  expect(isBroken(root, "README.md", "docs/guide/limits.md#what-holds")).toBe(false);
});
