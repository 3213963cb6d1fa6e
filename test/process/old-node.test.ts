import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Child, startChild } from "../support/start-child.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
let built: string;

beforeAll(() => {
  built = mkdtempSync(join(tmpdir(), "punctual-built-"));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", join(built, "dist")], {
    cwd: root,
  });
  writeFileSync(join(built, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(built, "uses.js"), 'import { Punctual } from "./dist/index.js";\nnew Punctual();\n');
  writeFileSync(join(built, "calls.js"), 'await import("./dist/cli/main.js");\n');
  // Simulates the version of an older Node, if the machine has none.
  for (const script of ["uses", "calls"]) {
    writeFileSync(
      join(built, `pretend-${script}.js`),
      `Object.defineProperty(process.versions, "node", { value: "20.19.0" });
       await import("./${script}.js");\n`,
    );
  }
});

afterAll(() => rmSync(built, { recursive: true }));

/** The machine's own Node, if it is too old. */
function oldNode(): string | undefined {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => !folder.includes("node_modules"))
    .map((folder) => join(folder, "node"))
    .find((node) => {
      if (!existsSync(node)) return false;
      const [major, minor] = execFileSync(node, ["-p", "process.versions.node"], { encoding: "utf8" })
        .split(".")
        .map(Number);
      return major! < 22 || (major === 22 && minor! < 18);
    });
}

function onOldNode(script: string): Child {
  const node = oldNode();
  return node
    ? startChild(join(built, `${script}.js`), [], { node })
    : startChild(join(built, `pretend-${script}.js`), []);
}

test("an older Node prints one sentence about the version it needs, and no syntax error", async () => {
  const child = onOldNode("uses");
  expect(await child.exit()).toEqual({ code: 1, signal: null });
  expect(child.stderr).toMatch(
    /^PunctualError: Punctual needs Node 22\.18 or newer, this is \d+\.\d+\.\d+\. Update Node\.$/m,
  );
  expect(child.stderr).toContain("code: 'NODE_TOO_OLD'");
  expect(child.stderr).not.toContain("SyntaxError");
});

test("the command line prints only that sentence", async () => {
  const child = onOldNode("calls");
  expect(await child.exit()).toEqual({ code: 1, signal: null });
  expect(child.stderr).toMatch(
    /^punctual: Punctual needs Node 22\.18 or newer, this is \d+\.\d+\.\d+\. Update Node\. \(NODE_TOO_OLD\)\n$/,
  );
});

test("a Node that is new enough imports the package without a message", async () => {
  writeFileSync(join(built, "imports.js"), 'import { Punctual } from "./dist/index.js";\nvoid Punctual;\n');
  const child = startChild(join(built, "imports.js"), []);
  expect(await child.exit()).toEqual({ code: 0, signal: null });
  expect(child.stderr).toBe("");
});
