// Examples that are run, not only compiled.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runScript } from "../api/child.ts";
import { root } from "./markdown.ts";
import { snippets } from "./snippets.ts";

const PAGES = ["docs/guide/testing.md", "docs/guide/tuning.md"];
const chosen = snippets.filter(({ page }) => PAGES.includes(page));
const isVitest = (text: string) => text.includes('from "vitest"');

test.each(chosen.filter(({ text }) => !isVitest(text)))("$page, line $line", async ({ code }) => {
  const { code: exit, stdout, stderr } = await runScript(code);
  const said = stderr.replace("punctual: no database given: using sqlite:./punctual.db\n", "");
  expect(said + (exit === 0 ? "" : stdout)).toBe("");
  expect(exit).toBe(0);
});

test("the example for Vitest is the one that runs here", () => {
  const example = readFileSync(join(root, "test/docs/vitest-example.test.ts"), "utf8");
  const asPublished = example
    .replace("../../src/index.ts", "punctual")
    .replace("../../src/testing/index.ts", "punctual/testing");
  expect(chosen.map(({ text }) => text).filter(isVitest)).toEqual([asPublished]);
});
