import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { codeIn, pages, read, root } from "./support/markdown.ts";

const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");

/** As GitHub makes them of headings. */
function anchorsOf(page: string): string[] {
  const headings = read(page)
    .replace(/^```[\s\S]*?^```$/gm, "")
    .matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, text]) =>
    text!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function broken(page: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? page : join(dirname(page), path);
  if (!existsSync(join(root, target))) return true;
  return (
    anchor !== undefined && !(statSync(join(root, target)).isFile() && anchorsOf(target).includes(anchor))
  );
}

test.each(pages)("every link in %s leads somewhere", (page) => {
  const links = [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  const local = links.filter((link) => !/^[a-z]+:/.test(link));
  expect(local.filter((link) => broken(page, link))).toEqual([]);
});

test.each(pages)("every file that %s names is there", (page) => {
  const named = codeIn(read(page).replace(/^```[\s\S]*?^```$/gm, "")).filter((code) =>
    /^[\w/-]+\/[\w./-]*\.(ts|mjs|md)$/.test(code),
  );
  expect(named.filter((file) => !["", "src"].some((from) => existsSync(join(root, from, file))))).toEqual([]);
});

test("a broken link is found", () => {
  expect(broken("README.md", "docs/guide/nowhere.md")).toBe(true);
  expect(broken("README.md", "docs/guide/limits.md#nowhere")).toBe(true);
  expect(broken("README.md", "docs/guide/limits.md#what-holds")).toBe(false);
});
