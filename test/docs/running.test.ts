// Examples that are run, not only compiled.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runScript } from "../api/support/child.ts";
import { root } from "./support/markdown.ts";
import { snippets } from "./support/snippets.ts";

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

test("the function that migrates rows of v2.5 migrates each of them once", async () => {
  const { code } = snippets.find(({ text }) => text.includes("function moveOver("))!;
  const rows = [
    {
      id: 1,
      name: "email",
      queue: "mail",
      priority: 10,
      run_at: "2030-01-01 10:30:00.000000",
      args: '{"to":"ada"}',
    },
    {
      id: 2,
      name: "email",
      queue: "default",
      priority: 100,
      run_at: "2030-01-02 00:00:00.000000",
      args: null,
    },
  ];
  const ended = await runScript(`${code}
    await moveOver(${JSON.stringify(rows)});
    await moveOver(${JSON.stringify(rows)});
    const { runs } = await jobs.runs();
    for (const { queue, priority, runAt, args } of runs.reverse())
      console.log(queue, priority, runAt.toISOString(), JSON.stringify(args));
    await jobs.stop();`);
  expect(ended).toEqual({
    code: 0,
    stdout: 'mail 10 2030-01-01T10:30:00.000Z {"to":"ada"}\ndefault 100 2030-01-02T00:00:00.000Z undefined\n',
    stderr: "",
  });
});
