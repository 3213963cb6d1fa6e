import { describe, expect, test } from "vitest";
import { type Ended, project, run } from "./support/punctual.ts";

/** Loads one file; `install` loads files where nothing names the database. */
async function load(text: string, more: Record<string, string> = {}): Promise<Ended> {
  return run(["install"], { cwd: project({ "jobs/report.ts": text, ...more }) });
}

const TSX = "or start with: node --import tsx node_modules/.bin/punctual …";

describe("a file that cannot be loaded is reported with a remedy", () => {
  test.each<[string, string, string, Record<string, string>?]>([
    [
      "an enum",
      "const a = 1;\n\nenum Color { Red }\n",
      `jobs/report.ts:3  enum is not supported when Node strips types. Use a const object, ${TSX}  (ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX)`,
    ],
    [
      "a parameter property",
      "export class A {\n  constructor(private a: number) {}\n}\n",
      "jobs/report.ts:2  A parameter property is not supported when Node strips types.",
    ],
    ["a namespace", "namespace A { export const a = 1 }\n", "jobs/report.ts:1  namespace is not supported"],
    ["a decorator", "const d = () => {};\n@d class A {}\n", "jobs/report.ts:2  A decorator is not supported"],
    ["wrong syntax", "\nconst a: number = = 1;\n", "jobs/report.ts:2  Syntax error: Expression expected."],
    [
      "an import without its ending",
      'import { a } from "./_lib";\n',
      'jobs/report.ts:1  The file imports jobs/_lib, which does not exist; jobs/_lib.ts does. Node needs the exact ending: write "….ts".',
      { "jobs/_lib.ts": "export const a = 1;\n" },
    ],
    [
      "an import of what would be built",
      '\nimport { a } from "./_lib.js";\n',
      "jobs/report.ts:2  The file imports jobs/_lib.js, which does not exist; jobs/_lib.ts does.",
      { "jobs/_lib.ts": "export const a = 1;\n" },
    ],
    [
      "a missing file",
      'import "./_gone.ts";\n',
      "jobs/report.ts:1  The file imports jobs/_gone.ts, which does not exist.",
    ],
    [
      "a missing package",
      'import "left-pad-gone";\n',
      'jobs/report.ts:1  The package "left-pad-gone" is not installed. Run: npm install left-pad-gone',
    ],
    [
      "a type imported as a value",
      'import { A } from "./_lib.ts";\n',
      "jobs/report.ts:1  The requested module './_lib.ts' does not provide an export named 'A'. If A is a type, write: import type { A }.",
      { "jobs/_lib.ts": "export interface A { a: 1 }\n" },
    ],
    [
      "a throw",
      'const a = 1;\nthrow new TypeError("no\\u001b[31m key");\n',
      "jobs/report.ts:2  The file threw while it was loaded: TypeError: no key",
    ],
    ["a throw of nothing", "throw null;\n", "jobs/report.ts  The file threw null while it was loaded."],
    ["require", 'const fs = require("fs");\n', "jobs/report.ts:1  There is no require in an ES module."],
    [
      "__dirname",
      "console.log(__dirname);\n",
      "There is no __dirname in an ES module. Use import.meta.dirname.",
    ],
    [
      "JSON without its type",
      'import a from "./_a.json";\n',
      'Import JSON with its type: import data from "./data.json" with { type: "json" }.',
      { "jobs/_a.json": "{}" },
    ],
    [
      "CommonJS around it",
      "export const a = 1;\n",
      'The file is an ES module in a CommonJS package. Set "type": "module" in package.json, or rename the file to .mts or .mjs.',
      { "package.json": '{ "type": "commonjs" }' },
    ],
    [
      "TypeScript below node_modules",
      'import "typed";\n',
      "Node does not load TypeScript from node_modules.",
      {
        "node_modules/typed/index.ts": "export const a: number = 1;\n",
        "node_modules/typed/package.json": '{ "type": "module", "exports": "./index.ts" }',
      },
    ],
    [
      "an error in what it imports",
      'import "./_lib.ts";\n',
      "✕ jobs/_lib.ts:2  enum is not supported",
      { "jobs/_lib.ts": "\nenum A { B }\n" },
    ],
    [
      "a top-level await that does not end",
      "await new Promise(() => {});\n",
      "jobs/report.ts  The file has not finished loading after 0.2 s: a top-level await does not end.",
      { "punctual.config.ts": 'export default { loadTimeout: "200ms" };\n' },
    ],
    [
      "a name that is taken",
      'import { Job } from "punctual";\n\nJob.schedule("daily", () => {});\n',
      'jobs/report.ts:3  Job "daily" is defined already, in jobs/a.ts:2. Give one of them another name.  (DUPLICATE_JOB)',
      { "jobs/a.ts": 'import { Job } from "punctual";\nJob.schedule("daily", () => {});\n' },
    ],
    [
      "an export whose name is taken",
      "export default function () {}\n",
      'jobs/report.ts  Job "report" is defined already, in jobs/a.ts:2. Give one of them another name.  (DUPLICATE_JOB)',
      { "jobs/a.ts": 'import { Job } from "punctual";\nJob.schedule("report", () => {});\n' },
    ],
  ])("%s", async (_, text, expected, more = {}) => {
    const { code, stderr } = await load(text, more);
    expect(stderr).toContain(expected);
    expect(stderr).not.toContain("    at ");
    expect(code).toBe(0);
  });
});

test("the other files are loaded, and every broken one is listed", async () => {
  const { stderr } = await load("enum A { B }\n", {
    "jobs/a.ts": "throw new Error('first');\n",
    "jobs/z.ts": "console.log('the last one was loaded');\n",
  });
  expect(stderr).toContain("✕ jobs/a.ts:1");
  expect(stderr).toContain("✕ jobs/report.ts:1");
  expect(stderr).toContain("the last one was loaded");
});

test("output of files while they are loaded does not mix with data", async () => {
  const cwd = project({ "jobs/a.ts": "console.log('hello');\nexport {};\n" });
  const { stdout, stderr } = await run(["install", "--json"], { cwd });
  expect(JSON.parse(stdout).v).toBe(1);
  expect(stderr).toContain("hello");
});

test("a file that ends the process is named", async () => {
  const { stderr } = await load("process.exit(3);\n");
  expect(stderr).toContain("jobs/report.ts ended the process while it was loaded.");
});

test("timers and servers of a file do not keep the command alive", async () => {
  const { code } = await load("setInterval(() => {}, 1000);\nexport {};\n");
  expect(code).toBe(0);
});
