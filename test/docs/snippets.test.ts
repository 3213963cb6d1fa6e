import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./support/markdown.ts";
import { type Snippet, snippets } from "./support/snippets.ts";

function typeCheck(snippets: Pick<Snippet, "page" | "line" | "code">[]): string {
  const folder = mkdtempSync(join(tmpdir(), "punctual-snippets-"));
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
    for (const { page, line, code } of snippets) {
      writeFileSync(join(folder, `${page.replaceAll("/", "-")}-line-${line}.mts`), code);
    }
    const compilerOptions = {
      noUnusedLocals: false,
      noUnusedParameters: false,
      isolatedDeclarations: false,
      declaration: false,
      paths: {
        punctual: [join(root, "src/index.ts")],
        "punctual/dashboard": [join(root, "src/dashboard/index.ts")],
        "punctual/cli": [join(root, "src/cli/index.ts")],
        "punctual/testing": [join(root, "src/testing/index.ts")],
        "punctual/cron": [join(root, "src/schedule/cron.ts")],
      },
    };
    const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.mts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("every code block in the README and the guide compiles", () => {
  expect(snippets.length).toBeGreaterThan(20);
  expect(typeCheck(snippets)).toBe("");
});

test("the check finds a wrong block", () => {
  const wrong = 'import { Punctual } from "punctual";\nnew Punctual("sqlite::memory:").dispatched();\n';
  expect(typeCheck([{ page: "wrong.md", line: 1, code: wrong }])).toContain("dispatched");
});
